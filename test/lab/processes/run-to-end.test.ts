import { expect, test } from "vitest";
import { runToEnd } from "./run-to-end.ts";

test("a program reads its input, and its output and exit code are returned", async () => {
  const script = 'cat; echo "$WORD" >&2; exit 3';
  const options = { input: "one\n", env: { WORD: "two" } };
  expect(await runToEnd("sh", ["-c", script], options)).toEqual({
    stdout: "one\n",
    stderr: "two\n",
    code: 3,
  });
});

test("a program that hangs is killed in time, also when another process has its output", async () => {
  const run = runToEnd("sh", ["-c", "sleep 20 & wait"], { timeoutMs: 200 });
  await expect(run).rejects.toThrow("sh -c sleep 20 & wait did not end within 0.2 s");
});

test("a program that does not exist is an error", async () => {
  await expect(runToEnd("/no/such/program", [])).rejects.toThrow("ENOENT");
});
