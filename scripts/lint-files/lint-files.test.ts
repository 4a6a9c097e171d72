import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { WrongChecksumError } from "../../test/lab/tools/python-tool.ts";
import { lintFiles, type Linter } from "./lint-files.ts";

const node = (name: string, program: string): Linter => ({
  name,
  find: () => Promise.resolve(process.execPath),
  args: ["--eval", program],
});
const run = (program: string, args: readonly string[]) =>
  spawnSync(program, args, { encoding: "utf8" });

test("lintFiles reports the output of each linter that fails, and continues", async () => {
  const failing = node(
    "first",
    'console.log("a finding"); console.error("a warning"); process.exitCode = 3;',
  );
  expect(await lintFiles([failing, node("second", "")], run)).toEqual([
    { kind: "reported", text: "a finding\na warning\nfirst: failed" },
    { kind: "clean", text: "second: clean" },
  ]);
});

test("lintFiles fails when a linter is killed", async () => {
  const [outcome] = await lintFiles([node("first", 'process.kill(process.pid, "SIGKILL")')], run);
  expect(outcome?.kind).toBe("reported");
});

test("lintFiles names a linter that is not available", async () => {
  const missing: Linter = {
    name: "zizmor",
    find: () => Promise.reject(new Error("no pip")),
    args: [],
  };
  expect(await lintFiles([missing], run)).toEqual([
    { kind: "unavailable", text: "zizmor: not run: no pip" },
  ]);
});

test("a linter with another checksum is a failure", async () => {
  const replaced: Linter = {
    name: "zizmor",
    find: () => Promise.reject(new WrongChecksumError("another package")),
    args: [],
  };
  expect(await lintFiles([replaced], run)).toEqual([
    { kind: "reported", text: "zizmor: not run: another package" },
  ]);
});
