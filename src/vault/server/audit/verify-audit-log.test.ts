import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../../lib/clock.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { NO_HASH, sealLine, type AuditFields, type ChainHead } from "./audit-line.ts";
import { AuditLog } from "./audit-log.ts";
import { verifyAuditLog, type AuditDamage } from "./verify-audit-log.ts";

let directory: string;
let file: string;
let lines: string[];
let anchor: ChainHead;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "vaultsync-test-"));
  file = join(directory, "audit.jsonl");
  {
    await using log = await AuditLog.open({ file, clock: systemClock, logger: silentLogger });
    for (let n = 2; n < 10; n += 1)
      await log.append({ operation: "expose", about: { key_name: `secret-${n}` } });
    anchor = log.head;
  }
  lines = (await readFile(file, "utf8")).trimEnd().split("\n");
});
afterEach(() => rm(directory, { recursive: true }));

/**
 * Returns the damage of a file of these lines; with `anchored`, the database has recorded the end
 * of the log.
 */
async function damageOf(
  altered: readonly string[],
  { anchored = false, end = "\n" } = {},
): Promise<AuditDamage | undefined> {
  await writeFile(file, altered.join("\n") + end);
  const options = { anchorOf: async (log: string) => (log === anchor.log ? anchor : undefined) };
  return (await verifyAuditLog([file], anchored ? options : {})).damage;
}

/**
 * Returns the entries with valid hashes after a change from one entry on, as an attacker who knows
 * the format would write them.
 */
function resealed(from: number, change: (fields: AuditFields) => AuditFields): string[] {
  const kept = lines.slice(0, from);
  let head: ChainHead = { log: anchor.log, seq: 0, hash: NO_HASH };
  if (from > 0) head = { ...head, seq: from, hash: JSON.parse(kept.at(-1) ?? "").hash };
  for (const line of lines.slice(from)) {
    const { seq: _seq, log: _log, time, prev: _prev, hash: _hash, ...fields } = JSON.parse(line);
    const sealed = sealLine(head, time, change(fields));
    kept.push(sealed.text);
    head = sealed.head;
  }
  return kept;
}

test("an unchanged log is intact, with and without an anchor", async () => {
  expect(await damageOf(lines)).toBeUndefined();
  expect(await damageOf(lines, { anchored: true })).toBeUndefined();
});

test("finds the line of any altered byte", async () => {
  const original = Buffer.from(`${lines.slice(0, 3).join("\n")}\n`);
  const unnoticed: number[] = [];
  for (let at = 0; at < original.length; at += 1) {
    const altered = Buffer.from(original);
    altered[at] = altered[at] === 0x41 ? 0x42 : 0x41;
    await writeFile(file, altered);
    const line = original.subarray(0, at).filter((byte) => byte === 0x0a).length + 1;
    const { damage } = await verifyAuditLog([file]);
    if (damage?.line !== line) unnoticed.push(at);
  }
  expect(unnoticed).toEqual([]);
});

describe("tampering", () => {
  const cases: [string, () => string[], AuditDamage["kind"], number][] = [
    [
      "altered an entry",
      () =>
        lines.with(4, lines[4]!.replace("secret-6", "secret-X").replace("secret-5", "secret-X")),
      "altered",
      5,
    ],
    ["took one away", () => lines.toSpliced(4, 1), "missing", 5],
    ["took the first away", () => lines.slice(1), "missing", 1],
    ["took several away", () => lines.toSpliced(2, 5), "missing", 3],
    ["swapped two", () => lines.with(4, lines[5]!).with(5, lines[4]!), "reordered", 5],
    ["moved one to the end", () => [...lines.toSpliced(4, 1), lines[4]!], "reordered", 5],
    ["repeated one", () => lines.toSpliced(5, 0, lines[4]!), "reordered", 6],
    ["put in a line that is none", () => lines.toSpliced(5, 0, '{"seq":6}'), "altered", 6],
    ["put in an empty line", () => lines.toSpliced(5, 0, ""), "altered", 6],
    [
      "resealed one entry only",
      () => [...resealed(4, (fields) => ({ ...fields, status: 1 })).slice(0, 5), ...lines.slice(5)],
      "rewritten",
      6,
    ],
    ["emptied it", () => [""], "altered", 1],
  ];
  test.each(cases)("%s", async (_what, alter, kind, line) => {
    expect(await damageOf(alter())).toMatchObject({ kind, line, file });
  });
});

test("names the missing entries", async () => {
  expect((await damageOf(lines.toSpliced(2, 5)))?.message).toBe("entries 3 to 7 are missing");
  expect((await damageOf(lines.toSpliced(2, 1)))?.message).toBe("entry 3 is missing");
});

test("finds a truncated end with an anchor only", async () => {
  const cut = lines.slice(0, 6);
  expect(await damageOf(cut)).toBeUndefined();
  expect(await damageOf(cut, { anchored: true })).toMatchObject({
    kind: "truncated",
    message: "the log ends with entry 6, but the database recorded entry 9",
  });
});

test("finds a rewritten chain with an anchor only", async () => {
  for (const from of [0, 4, 8]) {
    const rewritten = resealed(from, (fields) => ({ ...fields, who: "eve@example.com" }));
    expect(await damageOf(rewritten)).toBeUndefined();
    expect(await damageOf(rewritten, { anchored: true })).toMatchObject({
      kind: "rewritten",
      line: 9,
    });
  }
});

test("reports a log that the database does not know as foreign", async () => {
  anchor = { ...anchor, log: "another" };
  expect(await damageOf(lines, { anchored: true })).toMatchObject({ kind: "foreign" });
});

test("accepts a well-formed forged last line until the anchor differs", async () => {
  const last = JSON.parse(lines.at(-1) ?? "");
  const forged = sealLine({ log: last.log, seq: last.seq, hash: last.hash }, last.time, {
    who: "ann@example.com",
  }).text;
  expect(await damageOf([...lines, forged])).toBeUndefined();
  anchor = { ...anchor, seq: last.seq + 1 };
  expect(await damageOf([...lines, forged], { anchored: true })).toMatchObject({
    kind: "rewritten",
    line: lines.length + 1,
  });
});

test("reports a line without a newline as torn, and a recorded loss as damage", async () => {
  expect(
    await damageOf([...lines.slice(0, -1), lines.at(-1)!.slice(0, 50)], { end: "" }),
  ).toMatchObject({
    kind: "torn",
    line: 10,
  });
  const last = JSON.parse(lines.at(-1) ?? "");
  const admitted = sealLine({ log: last.log, seq: last.seq, hash: last.hash }, last.time, {
    event: "lost",
    known: 40,
  }).text;
  expect(await damageOf([...lines, admitted])).toMatchObject({
    kind: "lost",
    message: expect.stringContaining("entries up to 40"),
  });
});

test("accepts missing oldest segments with partial only", async () => {
  await writeFile(file, `${lines.slice(3).join("\n")}\n`);
  expect((await verifyAuditLog([file], { partial: true })).damage).toBeUndefined();
  expect((await verifyAuditLog([file])).damage).toMatchObject({
    kind: "missing",
    message: expect.stringContaining("entries 1 to 3"),
  });
});

test("rejects segments of two logs", async () => {
  const other = join(directory, "other.jsonl");
  await (
    await AuditLog.open({ file: other, clock: systemClock, logger: silentLogger })
  )[Symbol.asyncDispose]();
  expect((await verifyAuditLog([file, other])).damage).toMatchObject({ kind: "foreign" });
});
