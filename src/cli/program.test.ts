import { expect, test } from "vitest";
import { runInProcess } from "../../test/support/processes/run-in-process.ts";

test.each([["operator"], ["status"], ["vault"], ["vault", "user"]])(
  "%s with an unknown option is wrong usage",
  async (...command) => {
    expect(await runInProcess([...command, "--no-such-option"])).toMatchObject({ code: 2, stdout: "" });
  },
);
