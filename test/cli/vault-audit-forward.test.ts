import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { afterEach, expect, test } from "vitest";
import { certificate } from "../lab/certificates.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { readyLine, VaultServerProcess } from "../lab/real/processes/vault-server-process.ts";
import { SyslogCollector } from "../lab/syslog-collector.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { VaultClient } from "../lab/vault/vault-client.ts";

const directory = new TestDirectory();
const ann = "ann@example.com";
const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
  running.clear();
});

const auditLog = (): string => directory.join("audit.jsonl");
const serveDev = (target: string): string[] => [
  "--dev",
  "--dev-users",
  ann,
  "--audit-log",
  auditLog(),
  "--audit-forward",
  target,
];

/**
 * Starts a server with a pipe as its standard output. The pipe is read up to the first line only,
 * and then not or by `lines`.
 */
async function serveToPipe() {
  const args = [
    "src/main.ts",
    "vault",
    "serve",
    "--listen",
    "127.0.0.1:0",
    "--metrics-listen",
    "none",
    ...serveDev("stdout"),
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
  running.add(child);
  let text = "";
  while (!text.includes("\n")) {
    await once(child.stdout, "readable");
    text += child.stdout.read() ?? "";
  }
  const [first = "", ...rest] = text.split("\n");
  const { url, users = [] } = readyLine.parse(JSON.parse(first));
  const caller = await VaultClient.connect(url, ann, users[0]?.password);
  return { child, caller, start: rest.join("\n") };
}

test("--audit-forward stdout prints the line of readiness first, then the lines of the audit log", async () => {
  const { child, caller, start } = await serveToPipe();
  await caller.call("protect", { key_name: "a", key_value: "x" });
  let text = start;
  child.stdout.on("data", (bytes: Buffer) => {
    text += bytes.toString();
  });
  child.kill("SIGTERM");
  const [code] = await once(child, "close");
  expect(code).toBe(0);
  expect(text).toBe(await readFile(auditLog(), "utf8"));
});

test("a reader of standard output that stops reading, or is gone, delays no request", async () => {
  const { child, caller } = await serveToPipe();
  const use = async (requests: number): Promise<void> => {
    for (let n = 0; n < requests; n += 10) {
      // Each character takes six bytes of a line.
      const names = Array.from({ length: 10 }, (_, one) => `${n + one}${"\u{e000}".repeat(240)}`);
      const written = await Promise.all(
        names.map((name) => caller.call("protect", { key_name: name, key_value: "x" })),
      );
      expect(new Set(written.map((response) => response.outcome()))).toEqual(new Set(["200"]));
    }
  };
  await use(150);
  expect((await readFile(auditLog())).length).toBeGreaterThan(300_000);
  child.stdout.destroy();
  await use(20);
  child.kill("SIGTERM");
  expect((await once(child, "exit"))[0]).toBe(0);
});

test("--audit-forward syslog+tls sends to a server whose certificate Node.js trusts", async () => {
  const authority = certificate("Test CA");
  const { cert, keyPem: key } = certificate("127.0.0.1", {
    issuer: authority,
    hosts: ["127.0.0.1"],
  });
  await using collector = await SyslogCollector.tls({ cert, key });
  await writeFile(directory.join("ca.pem"), authority.cert);
  await using server = await VaultServerProcess.start(
    serveDev(`syslog+tls://127.0.0.1:${collector.port}`),
    {
      env: { NODE_EXTRA_CA_CERTS: directory.join("ca.pem") },
    },
  );
  await server.client(ann);
  await expect
    .poll(() => collector.lines.join("\n"))
    .toContain('"operation":"generate_access_token"');
});

test.each([
  ["an unknown form", ["--dev", "--audit-forward", "syslog://host"], "syslog+tls://HOST:PORT"],
  ["no audit log", ["--dev", "--audit-forward", "stdout"], "--audit-log FILE"],
  [
    "a disabled audit log",
    ["--data", "v.db", "--audit-log", "none", "--audit-forward", "stdout"],
    "--audit-log FILE",
  ],
])("--audit-forward is rejected with a remedy: %s", async (_what, args, advice) => {
  const result = await runInProcess(["vault", "serve", ...args]);
  expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(advice) });
});
