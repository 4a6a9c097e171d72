import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { stopSignal } from "./stop-signal.ts";

const module = JSON.stringify(join(import.meta.dirname, "stop-signal.ts"));
/** Never ends by itself, and prints when it may be stopped and when it was. */
const program = `
  import { stopSignal } from ${module};
  stopSignal().signal.addEventListener("abort", () => process.stdout.write("stopping"));
  setInterval(() => undefined, 1_000);
  process.stdout.write("started");
`;

test.each(["SIGTERM", "SIGINT"] as const)(
  "the first %s aborts the signal, and a second one ends the process with 1",
  async (name) => {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const exited = once(child, "exit");
    const output = child.stdout.setEncoding("utf8");
    expect(await once(output, "data")).toEqual(["started"]);
    child.kill(name);
    expect(await once(output, "data")).toEqual(["stopping"]);
    child.kill(name);
    expect(await exited).toEqual([1, null]);
  },
);

test.each(["SIGTERM", "SIGINT"] as const)("%s ends the process after the signal", (name) => {
  const before = process.listeners(name);
  {
    using _ = stopSignal();
    expect(process.listenerCount(name)).toBe(before.length + 1);
  }
  expect(process.listeners(name)).toEqual(before);
});
