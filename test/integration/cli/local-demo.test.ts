import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const main = join(import.meta.dirname, "../../../scripts/demo/main.ts");

test("the demo without a cluster runs through, shows no value and leaves nothing", async () => {
  const directory = await mkdtemp(join(tmpdir(), "local-demo-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const env = { ...process.env, TMPDIR: directory, NO_COLOR: "1" };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, "--local"], {
    env,
  });
  expect(stderr).toBe("");
  expect(stdout).toContain("shop/bd is not in the list of shop@example.com");
  expect(stdout).toContain("values/shop-db/DB_PASSWORD: 32 bytes");
  const digests = [...stdout.matchAll(/^ {2}app: connected with \*{3}, sha256 ([0-9a-f]{8})$/gmu)];
  expect(new Set(digests.map(([, digest]) => digest)).size).toBe(2);
  // The values have 32 of these characters.
  expect(stdout).not.toMatch(/(?<![\w-])[\w-]{32}(?![\w-])/u);
  expect(await readdir(directory)).toEqual([]);
});
