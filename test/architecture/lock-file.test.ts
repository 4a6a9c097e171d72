import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";

const root = join(import.meta.dirname, "..", "..");
const LockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({ integrity: z.string().optional(), resolved: z.string().optional() }),
  ),
});

/** npm drops checksums when it changes a lock file next to installed packages. */
test("every package of the lock file has a checksum, and none has an address", async () => {
  const { packages } = LockFile.parse(
    JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")),
  );
  const { "": _project, ...dependencies } = packages;
  const without = Object.keys(dependencies).filter(
    (name) => !dependencies[name]?.integrity?.startsWith("sha512-"),
  );
  expect(without).toEqual([]);
  expect(
    Object.keys(dependencies).filter((name) => dependencies[name]?.resolved !== undefined),
  ).toEqual([]);
  expect(Object.keys(dependencies).length).toBeGreaterThan(100);
});
