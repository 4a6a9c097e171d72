import { readdir, readFile, writeFile } from "node:fs/promises";
import { beforeEach, expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { TestDirectory } from "../../../../test/lab/test-directory.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { rotatedSegments } from "./audit-file.ts";
import { AuditLog, type AuditLogOptions } from "./audit-log.ts";
import { boundedByVolume } from "./audit-retention.ts";
import { verifyAuditLog, type AuditReport } from "./verify-audit-log.ts";

const DAY_MS = 86_400_000;
const directory = new TestDirectory();
let file: string;
let clock: VirtualClock;
beforeEach(() => {
  file = directory.join("audit.jsonl");
  clock = new VirtualClock();
});

const opened = (more: Partial<AuditLogOptions>): Promise<AuditLog> =>
  AuditLog.open({ file, clock, logger: silentLogger, ...more });
const verify = async (): Promise<AuditReport> =>
  verifyAuditLog([...(await rotatedSegments(file)), file]);

/** Writes one entry a day. */
async function writeDays(log: AuditLog, days: number): Promise<void> {
  for (let day = 0; day < days; day += 1) {
    await log.append({ day });
    await clock.advance(DAY_MS);
  }
}

test("with a retention the log has a segment a day, and old ones are removed", async () => {
  await using log = await opened({ retention: { days: 3 } });
  await writeDays(log, 10);
  expect((await rotatedSegments(file)).length).toBe(9);
  await log.removeOld();
  expect((await rotatedSegments(file)).length).toBe(2);
  await log.removeOld();
  expect((await rotatedSegments(file)).length).toBe(2);
});

test("without a retention nothing is removed, and age does not rotate", async () => {
  await using log = await opened({ maxBytes: 1000 });
  await writeDays(log, 10);
  const before = await readdir(directory.path);
  await log.removeOld();
  expect(await readdir(directory.path)).toEqual(before);
});

test("the oldest segments beyond the total size are removed", async () => {
  await using log = await opened({ maxBytes: 1000, retention: { bytes: 3000 } });
  for (let entry = 0; entry < 50; entry += 1) await log.append({ entry });
  await log.removeOld();
  const files = [...(await rotatedSegments(file)), file];
  const sizes = await Promise.all(files.map(async (path) => (await readFile(path)).length));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  expect(total).toBeLessThanOrEqual(3500);
  expect(total).toBeGreaterThan(2000);
});

test("the log is intact from its oldest segment, without --partial", async () => {
  await using log = await opened({ retention: { days: 3 } });
  await writeDays(log, 10);
  await log.removeOld();
  const { damage, first } = await verify();
  expect(damage).toBeUndefined();
  expect(first?.seq).toEqual(expect.any(Number));
  expect(first?.seq).toBeGreaterThan(1);
});

test("segments that retention did not remove are missing", async () => {
  await using log = await opened({ retention: { days: 3 } });
  await writeDays(log, 10);
  await log.removeOld();
  const [, ...others] = await rotatedSegments(file);
  expect((await verifyAuditLog([...others, file])).damage).toMatchObject({
    kind: "missing",
    line: 1,
  });
  // A record that names another entry explains nothing.
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace('"event":"removed"', '"event":"r"'));
  expect((await verify()).damage?.kind).toBe("altered");
});

test("a damaged segment and those after it are kept", async () => {
  await using log = await opened({ retention: { days: 3 } });
  await writeDays(log, 10);
  const [oldest = ""] = await rotatedSegments(file);
  await writeFile(oldest, "damaged");
  await log.removeOld();
  expect((await rotatedSegments(file)).length).toBe(9);
});

test("by default a log has half of its volume, and a segment a quarter of that", () => {
  expect(boundedByVolume({ maxBytes: 1_000_000_000 }, 4_000_000_000)).toEqual({
    retention: { bytes: 2_000_000_000 },
    maxBytes: 500_000_000,
  });
  expect(
    boundedByVolume({ maxBytes: 1_000_000, retention: { days: 3 } }, 4_000_000_000).maxBytes,
  ).toBe(1_000_000);
  expect(
    boundedByVolume({ maxBytes: 1_000_000, retention: { bytes: 1_000_000 } }, 0).maxBytes,
  ).toBe(250_000);
  expect(boundedByVolume({ maxBytes: 1_000_000, retention: { bytes: Infinity } }, 0).maxBytes).toBe(
    1_000_000,
  );
});
