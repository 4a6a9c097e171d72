import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { TestDirectory } from "../test-directory.ts";
import { GitRepository } from "./git-repository.ts";

const directory = new TestDirectory();

const run = promisify(execFile);

test("a clone has the files of the last commit, and no others", async () => {
  await using repository = await GitRepository.create();
  await repository.commit("first", { "app/a.yaml": "a: 1\n", "app/b.yaml": "b: 1\n" });
  const head = await repository.commit("second", { "app/b.yaml": "b: 2\n" });

  const files = directory.join("copy");
  await run("git", ["clone", "--quiet", repository.url, files]);
  expect(await readdir(`${files}/app`)).toEqual(["b.yaml"]);
  expect(await readFile(`${files}/app/b.yaml`, "utf8")).toBe("b: 2\n");
  expect((await run("git", ["-C", files, "rev-parse", "HEAD"])).stdout.trim()).toBe(head);
});
