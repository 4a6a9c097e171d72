import { appendFile, readFile, rm, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, test } from "vitest";
import {
  NO_HASH,
  openLine,
  sealLine,
  type ChainHead,
} from "../../src/vault/server/audit/audit-line.ts";
import { recordAnchor } from "../../src/vault/server/audit/anchor.ts";
import { KeyFile } from "../../src/vault/server/crypto/key-file.ts";
import { KeyRing } from "../../src/vault/server/crypto/key-ring.ts";
import { openStore } from "../../src/vault/server/store/open-store.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";

const directory = new TestDirectory();
let count = 0;
let data: string;
let log: string;
let keyFile: string;
beforeEach(async () => {
  count += 1;
  data = directory.join(`vault-${count}.db`);
  log = `${data}-audit.jsonl`;
  keyFile = directory.join(`key-${count}`);
  await runInProcess(["vault", "key", "generate", keyFile]);
});

const start = (): Promise<TestVault> =>
  TestVault.start({
    data,
    auditLog: { file: log },
    masterKey: new KeyRing(new KeyFile(keyFile)),
    emails: [`u${count}@example.com`],
  });
const verify = (...args: string[]) =>
  runInProcess(["vault", "audit", "verify", log, "--data", data, ...args]);
const withKeyAlone = () =>
  runInProcess(["vault", "audit", "verify", log, "--master-key-file", keyFile]);
const withKey = () => verify("--master-key-file", keyFile);

/** Serves some requests that leave lines, and stops. */
async function serve(): Promise<void> {
  await using vault = await start();
  const caller = await vault.client(`u${count}@example.com`);
  for (const key_name of ["a", "b"]) await caller.call("protect", { key_name, key_value: "x" });
}

/** Starts and stops a server without its user. The user exists. */
async function startAgain(): Promise<void> {
  await using _vault = await TestVault.start({
    data,
    auditLog: { file: log },
    masterKey: new KeyRing(new KeyFile(keyFile)),
    emails: [`again-${count}-${Math.random()}@example.com`],
  });
}

/**
 * Does what a writer of volume and database can: removes a line, recomputes the chain, adds lines,
 * and records its end, as `anchor` writes it. The lines have no MACs, as in an earlier release, or
 * keep theirs.
 */
async function removeLine(
  anchor: (end: string, recorded: string) => string,
  { keepMacs = false, added = 0 } = {},
): Promise<void> {
  const lines = (await readFile(log, "utf8")).trimEnd().split("\n");
  const opened = lines.flatMap((line) => openLine(Buffer.from(line)) ?? []);
  expect(opened).toHaveLength(lines.length);
  let head: ChainHead = { log: opened[0]?.log ?? "", seq: 0, hash: NO_HASH };
  const kept = opened.filter(({ seq }) => seq !== 3);
  const chain = kept.map(
    ({
      time,
      fields: { seq: _seq, log: _log, time: _time, prev: _prev, hash: _hash, mac, ...fields },
    }) => {
      const line = sealLine(head, time, fields, keepMacs ? () => String(mac) : undefined);
      ({ head } = line);
      return `${line.text}\n`;
    },
  );
  for (let n = 0; n < added; n += 1) {
    const line = sealLine(head, new Date().toISOString(), { event: "stopped" });
    ({ head } = line);
    chain.push(`${line.text}\n`);
  }
  await writeFile(log, chain.join(""));
  const database = new DatabaseSync(data);
  try {
    const name = `audit_log.${head.log}`;
    const recorded = String(
      database.prepare("SELECT value FROM settings WHERE name = ?").get(name)?.["value"],
    );
    database
      .prepare("UPDATE settings SET value = ? WHERE name = ?")
      .run(anchor(`${head.seq} ${head.hash}`, recorded), name);
  } finally {
    database.close();
  }
}

test("a recorded end that no server wrote is found, also by the next start", async () => {
  await serve();
  expect(await withKey()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^intact\n/u) });
  await removeLine((end, recorded) => `${end} ${recorded.split(" ")[2] ?? ""}`.trim());
  expect(await withKey()).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("is not authentic"),
  });
  await startAgain();
  expect(await verify()).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("DAMAGED (lost)"),
  });
});

test("a start leaves a line when the recorded end is missing or has no MAC", async () => {
  for (const anchor of [(end: string) => end, () => ""]) {
    await serve();
    await removeLine(anchor);
    expect(await withKey()).toMatchObject({ code: 1 });
    await startAgain();
    const verified = await withKey();
    expect([verified.code, verified.stdout]).toEqual([
      1,
      expect.stringContaining("have no MAC, and the database did not know them"),
    ]);
    expect(await verify()).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("the database did not know the log"),
    });
    count += 100;
    data = directory.join(`vault-${count}.db`);
    log = `${data}-audit.jsonl`;
  }
});

test("lines without a MAC beyond the recorded end are damage, also when all MACs were removed", async () => {
  await serve();
  await removeLine((_end, recorded) => recorded, { added: 2 });
  await startAgain();
  expect(await withKey()).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("DAMAGED (lost)"),
  });
});

test("a log of an earlier release without MACs is continued from its recorded end", async () => {
  await serve();
  await removeLine((_end, recorded) => recorded);
  const end = openLine(
    Buffer.from((await readFile(log, "utf8")).trimEnd().split("\n").at(-1) ?? ""),
  )!;
  {
    await using store = await openStore(data);
    const keys = new KeyRing(new KeyFile(keyFile));
    await store.write((transaction) => recordAnchor(keys, transaction, end));
  }
  await startAgain();
  expect(await withKey()).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      new RegExp(`^intact\n[^]*note {5}entries up to ${end.seq}, .* have no MAC`, "u"),
    ),
  });
});

test("verify names the log that the database knew when all files of it were removed", async () => {
  await serve();
  const { log: name } = openLine(
    Buffer.from((await readFile(log, "utf8")).split("\n", 1).join("")),
  )!;
  await rm(log);
  await startAgain();
  expect(await withKey()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(
      `note     the database also knows ${name}: the log of another server, or a removed one`,
    ),
  });
});

test("a name in the database adds no line to the result of verify", async () => {
  await serve();
  const database = new DatabaseSync(data);
  database.exec(
    "UPDATE settings SET value = value || ' x' || char(10) || 'head' || char(27) || '[2K' WHERE name = 'audit_logs'",
  );
  database.close();
  const { code, stdout } = await withKey();
  expect([code, stdout.match(/^head/gmu)]).toEqual([0, ["head"]]);
  expect(stdout).toContain("also knows x\ufffdhead\ufffd[2K:");
});

test("after a rotation of the master key the recorded end is that of the new key", async () => {
  await serve();
  const rotated = await runInProcess([
    "vault",
    "rotate-key",
    "--data",
    data,
    "--master-key-file",
    keyFile,
  ]);
  expect(rotated.code).toBe(0);
  expect(await withKey()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^intact\n/u) });
  await startAgain();
  expect((await withKey()).stdout).not.toContain("note");
});

test("a removed line is found by the MACs of later ones, whatever the database records", async () => {
  await serve();
  await removeLine(() => "", { keepMacs: true });
  const found = {
    code: 1,
    stdout: expect.stringMatching(
      /^DAMAGED \(rewritten\).*no server with the master key has written it/u,
    ),
  };
  expect([await withKey(), await withKeyAlone()]).toMatchObject([found, found]);
  await startAgain();
  expect(await withKey()).toMatchObject(found);
  expect(await verify()).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("DAMAGED (lost)"),
  });
});

test("lines without a MAC after others are damage, and the chain stays readable without the key", async () => {
  await serve();
  const last = openLine(
    Buffer.from((await readFile(log, "utf8")).trimEnd().split("\n").at(-1) ?? ""),
  )!;
  const forged = sealLine(last, last.time, { event: "stopped" });
  await appendFile(log, `${forged.text}\n`);
  expect(await verify()).toMatchObject({ code: 0 });
  expect(await withKey()).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("has no MAC, unlike those before"),
  });
  await startAgain();
  expect(await withKey()).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("has no MAC, unlike those before"),
  });
});

test("a log is verified with the keys of its last line, and continued under the current key", async () => {
  await serve();
  const other = directory.join(`other-${count}`);
  await runInProcess(["vault", "key", "generate", other]);
  const verified = await runInProcess([
    "vault",
    "audit",
    "verify",
    log,
    "--master-key-file",
    other,
  ]);
  expect([verified.code, verified.stdout]).toEqual([
    1,
    expect.stringContaining("which is not among the given ones"),
  ]);
  const rotated = await runInProcess([
    "vault",
    "rotate-key",
    "--data",
    data,
    "--master-key-file",
    keyFile,
  ]);
  expect(rotated.code).toBe(0);
  await startAgain();
  expect(await withKey()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^intact\n/u) });
});
