import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import {
  appendFile,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  unlink,
  writeFile,
} from "node:fs/promises";
import { beforeEach, expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { TestDirectory } from "../../../../test/lab/test-directory.ts";
import { silentLogger } from "../../../lib/logger.ts";
import type { AuditFields } from "./audit-line.ts";
import { AuditLog, type AuditLogOptions } from "./audit-log.ts";
import { rotatedSegments } from "./audit-file.ts";
import { verifyAuditLog } from "./verify-audit-log.ts";

const directory = new TestDirectory();
let file: string;
let clock: VirtualClock;
beforeEach(() => {
  file = directory.join("audit.jsonl");
  clock = new VirtualClock();
});

const opened = (more: Partial<AuditLogOptions> = {}): Promise<AuditLog> =>
  AuditLog.open({ file, clock, logger: silentLogger, ...more });

async function lines(path = file): Promise<AuditFields[]> {
  const text = await readFile(path, "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}
const said = async (path = file): Promise<unknown[]> =>
  (await lines(path)).map(({ event, n }) => event ?? n);

/** Verifies all segments and returns the kind of damage. */
async function damage(): Promise<string | undefined> {
  return (await verifyAuditLog([...(await rotatedSegments(file)), file])).damage?.kind;
}

const refused = { code: "unavailable", retryAfter: 1 };

test("numbers and chains lines in an owner-only file, and continues after a restart", async () => {
  {
    await using log = await opened();
    await log.append({ n: "a" });
    await log.append({ n: "b" });
  }
  {
    await using log = await opened();
    await log.append({ n: "c" });
  }
  expect(await said()).toEqual(["opened", "a", "b", "stopped", "started", "c", "stopped"]);
  expect((await lines()).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect((await lines())[1]).toMatchObject({
    log: expect.stringMatching(/^[0-9a-f]{16}$/u),
    time: expect.stringMatching(/Z$/u),
  });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await damage()).toBeUndefined();
});

test("keeps the order of arrival when lines share a write", async () => {
  for (const linesPerSync of [1, 7, 1000]) {
    await rm(file, { force: true });
    await using log = await opened({ linesPerSync });
    await Promise.all(Array.from({ length: 100 }, (_, n) => log.append({ n })));
    expect(await said()).toEqual(["opened", ...Array.from({ length: 100 }, (_, n) => n)]);
    expect(await damage()).toBeUndefined();
  }
});

test("append resolves after the line is on the disk", async () => {
  await using log = await opened();
  for (let n = 0; n < 20; n += 1) {
    await log.append({ n });
    expect((await said()).at(-1)).toBe(n);
  }
});

test("a name with any character stays within its line", async () => {
  await using log = await opened();
  const names = [
    "a\nb",
    'x","hash":"',
    "\r\u2028\u2029\u0085\u001b[2J",
    "\ud800",
    "\u202egnp.exe",
    "𝔘𝔫𝔦",
    '\n{"seq":3}\n',
  ];
  for (const name of names) await log.append({ name });
  const text = await readFile(file, "utf8");
  expect(text.split("\n")).toHaveLength(names.length + 2);
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  expect(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202e]/u.test(text)).toBe(false);
  expect((await lines()).slice(1).map(({ name }) => name)).toEqual(names);
  expect(await damage()).toBeUndefined();
});

test.each([1, 30, 200])(
  "a last line of which %i bytes are missing is cut off at the start, and the log says so",
  async (missing) => {
    {
      await using log = await opened();
      await log.append({ n: "kept" });
      await log.append({ n: "torn".repeat(50) });
    }
    // As a kill leaves it: without the line that a graceful stop adds, and within the one before.
    const text = await readFile(file, "utf8");
    const whole = text.split("\n").slice(0, 3).join("\n").length + 1;
    await truncate(file, whole - missing);
    expect(await damage()).toBe("torn");
    const rest = (await readFile(file, "utf8")).split("\n").at(-1) ?? "";
    {
      await using log = await opened();
      await log.append({ n: "next" });
    }
    expect(await said()).toEqual(["opened", "kept", "started", "next", "stopped"]);
    expect((await lines())[2]?.cut).toMatchObject({ bytes: rest.length, text: rest });
    expect(await damage()).toBeUndefined();
  },
);

test("truncates a torn first line and leaves a foreign file unchanged", async () => {
  await writeFile(file, '{"seq":1,"lo');
  await (await opened())[Symbol.asyncDispose]();
  expect(await said()).toEqual(["opened", "stopped"]);
  const other = directory.join("other");
  for (const content of ["precious\n", '{"a":1}\n', "SQLite format 3\0"]) {
    await writeFile(other, content);
    await expect(opened({ file: other })).rejects.toThrow("is not an audit log");
    expect(await readFile(other, "utf8")).toBe(content);
  }
});

test("locks the file for one writer and releases the lock when the process dies", async () => {
  const first = await opened();
  await expect(opened()).rejects.toThrow("in use by another process");
  await first[Symbol.asyncDispose]();
  await (await opened())[Symbol.asyncDispose]();
  expect(await damage()).toBeUndefined();
});

test("rotates a file at its maximum size and continues the chain in a new one", async () => {
  const options = { maxBytes: 4000 };
  {
    await using log = await opened(options);
    for (let n = 0; n < 40; n += 1) await log.append({ n });
  }
  {
    await using log = await opened(options);
    for (let n = 40; n < 60; n += 1) await log.append({ n });
  }
  const parts = await rotatedSegments(file);
  expect(parts.length).toBeGreaterThan(2);
  const all = [...parts, file];
  const firsts = await Promise.all(all.map(async (part) => (await lines(part))[0]));
  expect(parts).toEqual(firsts.slice(0, -1).map((line) => `${file}.${String(line?.seq)}`));
  for (const part of all) expect((await stat(part)).size).toBeLessThanOrEqual(4000);
  const numbers = (await Promise.all(all.map((part) => said(part))))
    .flat()
    .filter((entry) => typeof entry === "number");
  expect(numbers).toEqual(Array.from({ length: 60 }, (_, n) => n));
  const report = await verifyAuditLog(all.toReversed());
  expect(report).toMatchObject({ damage: undefined, parts: all });
  // A crash between the two steps of it: only parts are there.
  await rename(file, `${file}.${String(firsts.at(-1)?.seq)}`);
  await (await opened(options))[Symbol.asyncDispose]();
  expect(await damage()).toBeUndefined();
  await unlink(all[1]!);
  expect(await damage()).toBe("missing");
});

test("rejects lines after the file was removed, then continues in a new file", async () => {
  await using log = await opened();
  await log.append({ n: 1 });
  await unlink(file);
  await expect(log.append({ n: 2 })).rejects.toMatchObject(refused);
  await expect(log.append({ n: 3 })).rejects.toMatchObject(refused);
  await expect(log.check()).rejects.toMatchObject(refused);
  expect(existsSync(file)).toBe(false);
  await clock.advance(1000);
  await log.check();
  await log.append({ n: 4 });
  expect(await said()).toEqual(["recovered", 4]);
  expect((await lines())[0]).toMatchObject({ reason: "ENOENT", refused: 2 });
  expect(await damage()).toBe("missing");
});

test("continues the chain when the file was moved away", async () => {
  await using log = await opened();
  await log.append({ n: 1 });
  await rename(file, `${file}.1`);
  await writeFile(file, "");
  await expect(log.append({ n: 2 })).rejects.toMatchObject(refused);
  await clock.advance(1000);
  await log.append({ n: 3 });
  expect(await damage()).toBeUndefined();
});

test("notices bytes appended or truncated by another program before the next line", async () => {
  await using log = await opened();
  await log.append({ n: 1 });
  await appendFile(file, "forged\n");
  await expect(log.append({ n: 2 })).rejects.toMatchObject(refused);
  await clock.advance(1000);
  await log.append({ n: 3 });
  expect(await said()).toEqual(["opened", 1, "recovered", 3]);
  expect((await lines())[2]).toMatchObject({ reason: "changed", cut: { text: "forged\n" } });
  expect(await damage()).toBeUndefined();
  await truncate(file, 0);
  await expect(log.append({ n: 4 })).rejects.toMatchObject(refused);
  await clock.advance(1000);
  await log.append({ n: 5 });
  expect(await damage()).toBe("missing");
});

/** Limits the size of files of this process: further writes fail as on a full disk. */
function limitFiles(bytes: number | "unlimited"): void {
  execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${bytes}:`]);
}

test.skipIf(process.platform !== "linux")(
  "rejects every line on a full disk without tearing one, and recovers with free space",
  async () => {
    await using log = await opened();
    await log.append({ n: 0 });
    limitFiles((await stat(file)).size + 500);
    try {
      await log.append({ n: 1, pad: "x".repeat(100) });
      // They share a write, of which the first part fits.
      const outcomes = await Promise.allSettled(
        Array.from({ length: 199 }, (_, n) => log.append({ n: n + 2, pad: "x".repeat(100) })),
      );
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toEqual([]);
      await expect(log.append({ n: 201 })).rejects.toMatchObject(refused);
      await clock.advance(1000);
      await expect(log.append({ pad: "x".repeat(60_000) })).rejects.toMatchObject(refused);
      expect(log.writable).toBe(false);
    } finally {
      limitFiles("unlimited");
    }
    await clock.advance(1000);
    await log.append({ n: 202 });
    expect(await said()).toEqual(["opened", 0, 1, "recovered", 202]);
    expect((await lines()).at(-2)).toMatchObject({ reason: "EFBIG", refused: 201 });
    expect(await damage()).toBeUndefined();
  },
);
