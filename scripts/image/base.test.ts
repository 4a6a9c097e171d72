import { mkdir, writeFile } from "node:fs/promises";
import { delimiter } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { TestDirectory } from "../../test/lab/test-directory.ts";
import { silentProgress } from "../../test/lab/control-plane/progress.ts";
import { provideBase } from "./base.ts";

const directory = new TestDirectory();
afterEach(() => vi.unstubAllEnvs());

/** Puts a `docker` first on the path that has these images and cannot pull any. */
async function dockerWith(...images: string[]): Promise<void> {
  await mkdir(directory.join("bin"));
  const known = images.map((image) => `  "image inspect ${image}") exit 0 ;;`).join("\n");
  const script = `#!/bin/sh\ncase "$*" in\n${known}\nesac\necho "no network" >&2\nexit 1\n`;
  await writeFile(directory.join("bin/docker"), script, { mode: 0o755 });
  vi.stubEnv("PATH", `${directory.join("bin")}${delimiter}${process.env["PATH"]}`);
}

test("provideBase returns the image of the Dockerfile when Docker has it", async () => {
  await dockerWith("node:26.10.0-slim");
  expect(await provideBase(undefined, silentProgress)).toBe("node:26.10.0-slim");
});

test("provideBase returns a given image when Docker has it", async () => {
  await dockerWith("node:26.10.0-slim", "ours:1");
  expect(await provideBase("ours:1", silentProgress)).toBe("ours:1");
});

test("provideBase replaces no given image that cannot be pulled", async () => {
  await dockerWith("node:26.10.0-slim");
  await expect(provideBase("ours:1", silentProgress)).rejects.toThrow(
    "--base: ours:1 cannot be pulled (docker pull: no network)",
  );
});
