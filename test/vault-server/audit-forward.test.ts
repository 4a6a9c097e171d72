import { readFile, rename } from "node:fs/promises";
import { beforeEach, expect, test } from "vitest";
import type { ForwardTarget } from "../../src/vault/server/audit/forward-target.ts";
import { certificate } from "../lab/certificates.ts";
import { SyslogCollector, udpCollector } from "../lab/syslog-collector.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";

const ann = "ann@example.com";
const directory = new TestDirectory();
let file: string;
beforeEach(() => {
  file = directory.join("audit.jsonl");
});

const loopback = (kind: "tcp" | "tls" | "udp", port: number): ForwardTarget => ({
  kind,
  host: "127.0.0.1",
  port,
});
const start = (forward: ForwardTarget): Promise<TestVault> =>
  TestVault.start({ auditLog: { file, forward } });
const written = async (): Promise<string[]> => (await readFile(file, "utf8")).trimEnd().split("\n");
const dropped = (vault: TestVault, reason: string): Promise<number> =>
  vault.metric(`vaultsync_vault_audit_forward_dropped_lines_total{reason="${reason}"}`);

/** Stores and reads a secret, whose name is not ASCII. */
async function useVault(vault: TestVault): Promise<void> {
  const caller = await vault.client(ann);
  expect(
    (await caller.call("protect", { key_name: "straße 🔑", key_value: "concealed" })).outcome(),
  ).toBe("200");
  expect((await caller.call("expose", { key_name: "straße 🔑" })).outcome()).toBe("200");
}

test("a syslog server gets every line of the audit log over TCP, as the file has it and in order", async () => {
  await using collector = await SyslogCollector.tcp();
  {
    await using vault = await start(loopback("tcp", collector.port));
    await useVault(vault);
    await expect
      .poll(() => vault.metric("vaultsync_vault_audit_forwarded_lines_total"))
      .toBeGreaterThan(5);
  }
  await expect.poll(() => collector.lines.at(-1)).toContain('"event":"stopped"');
  expect(collector.lines).toEqual(await written());
  expect(collector.connections).toBe(1);
  const header = /^<110>1 (\S+) [!-~]{1,255} vaultsync-vault [0-9]+ audit - \{/u;
  for (const message of collector.messages) {
    const [, time] = header.exec(message) ?? [];
    expect(message).toContain(`"time":"${time}"`);
  }
  expect(collector.messages.join("\n")).not.toContain("concealed");
});

test("a syslog server gets a datagram for each line over UDP", async () => {
  using collector = await udpCollector();
  await using vault = await start(loopback("udp", collector.port));
  await useVault(vault);
  const lines = await written();
  await expect
    .poll(() => collector.messages.map((message) => message.slice(message.indexOf("{"))))
    .toEqual(lines);
});

test("a line that is longer than a datagram is counted and not sent over UDP", async () => {
  using collector = await udpCollector();
  await using vault = await start(loopback("udp", collector.port));
  const caller = await vault.client(ann);
  const names = Array.from(
    { length: 200 },
    (_, n) => `${String(n).padStart(3, "0")}${"\u{e000}".repeat(100)}`,
  );
  for (const name of names) await caller.call("protect", { key_name: name, key_value: "x" });
  expect((await caller.call("delete", { key_name: names })).outcome()).toBe("200");
  await expect.poll(() => dropped(vault, "too_long")).toBe(1);
  expect(Math.max(...(await written()).map((line) => Buffer.byteLength(line)))).toBeGreaterThan(
    65_507,
  );
});

test("lines wait for a syslog server that is down, and no request does", async () => {
  const gone = await SyslogCollector.tcp();
  const { port } = gone;
  await gone[Symbol.asyncDispose]();
  await using vault = await start(loopback("tcp", port));
  await useVault(vault);
  await using collector = await SyslogCollector.tcp({ port });
  const lines = await written();
  await expect.poll(() => collector.lines, { timeout: 20_000 }).toEqual(lines);
  expect(await dropped(vault, "queue_full")).toBe(0);
});

test("a syslog server that restarts gets the lines that follow over a new connection", async () => {
  const first = await SyslogCollector.tcp();
  const { port } = first;
  await using vault = await start(loopback("tcp", port));
  await expect.poll(() => first.lines.length).toBeGreaterThan(0);
  await first[Symbol.asyncDispose]();
  await using second = await SyslogCollector.tcp({ port });
  await useVault(vault);
  await expect
    .poll(() => second.lines.at(-1), { timeout: 20_000 })
    .toContain('"operation":"expose"');
});

test("a syslog server with an untrusted certificate gets nothing, and requests succeed", async () => {
  const { cert, keyPem: key } = certificate("127.0.0.1", {
    issuer: certificate("Unknown CA"),
    hosts: ["127.0.0.1"],
  });
  await using collector = await SyslogCollector.tls({ cert, key });
  await using vault = await start(loopback("tls", collector.port));
  await useVault(vault);
  await expect.poll(() => collector.connections).toBeGreaterThan(0);
  expect(collector.messages).toEqual([]);
  expect(await vault.metric("vaultsync_vault_audit_forwarded_lines_total")).toBe(0);
});

test("a line that is not in the file is not forwarded: the file stays the record", async () => {
  await using collector = await SyslogCollector.tcp();
  await using vault = await start(loopback("tcp", collector.port));
  const caller = await vault.client(ann);
  await rename(file, `${file}.1`);
  expect((await caller.call("protect", { key_name: "unrecorded", key_value: "x" })).outcome()).toBe(
    "503 unavailable",
  );
  expect(collector.lines.filter((line) => line.includes("unrecorded"))).toEqual([]);
});
