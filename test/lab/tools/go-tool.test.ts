import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { goTool, goToolNames, packages } from "./go-tool.ts";

const run = promisify(execFile);
const modules = join(import.meta.dirname, "go");

test("each program has a module, which names its package", async () => {
  expect((await readdir(modules)).toSorted()).toEqual(goToolNames.toSorted());
  for (const [name, path] of Object.entries(packages)) {
    expect(await readFile(join(modules, name, "go.mod"), "utf8")).toContain(`\ntool ${path}\n`);
  }
});

test("goTool returns a program that runs", async () => {
  const kubeconform = await goTool("kubeconform");
  expect((await run(kubeconform, ["-h"])).stdout).toContain("Usage");
  expect(await goTool("kubeconform")).toBe(kubeconform);
});
