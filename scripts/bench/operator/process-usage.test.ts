import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { TestDirectory } from "../../../test/lab/test-directory.ts";
import { transferredBytes } from "./process-usage.ts";

const directory = new TestDirectory();

test("transferredBytes counts what a process reads and writes", async () => {
  const before = await transferredBytes(process.pid);
  await writeFile(directory.join("file"), Buffer.alloc(100_000));
  const { read, written } = await transferredBytes(process.pid);
  expect(written - before.written).toBeGreaterThanOrEqual(100_000);
  expect(read).toBeGreaterThan(0);
});
