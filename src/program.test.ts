import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { runInProcess } from "../test/lab/real/processes/run-in-process.ts";
import { program } from "./program.ts";

test.each([["operator"], ["status"], ["vault"], ["vault", "user"]])(
  "%s with an unknown option is wrong usage",
  async (...command) => {
    expect(await runInProcess([...command, "--no-such-option"])).toMatchObject({
      code: 2,
      stdout: "",
    });
  },
);

test("--version prints the version of the package", async () => {
  const manifest: { readonly version: string } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(await runInProcess(["--version"])).toEqual({
    code: 0,
    stdout: `${manifest.version}\n`,
    stderr: "",
  });
});

const pathsOf = (command: Command): string[][] => [
  [],
  ...command.commands.flatMap((inner) => pathsOf(inner).map((path) => [inner.name(), ...path])),
];

test("the help of every command fits into 80 columns", async () => {
  const paths = pathsOf(program());
  expect(paths.length).toBeGreaterThan(30);
  const wide: string[] = [];
  for (const path of paths) {
    const { stdout } = await runInProcess([...path, "--help"]);
    wide.push(
      ...stdout
        .split("\n")
        .flatMap((line) => (line.length > 80 ? [`${path.join(" ")}: ${line}`] : [])),
    );
  }
  expect(wide).toEqual([]);
});
