import { mkdtempDisposable, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { defaultLimits, defaultPasswordCost } from "../../src/vault/server/limits.ts";
import { VirtualClock } from "../../test/lab/clock/virtual-clock.ts";
import { TestVault } from "../../test/lab/vault/test-vault.ts";
import {
  scopeString,
  sendRequest,
  type VaultClient,
  type VaultResponse,
} from "../../test/lab/vault/vault-client.ts";
import { attacks } from "./attack/attacks.ts";
import { table } from "./table.ts";

const { values } = parseArgs({ options: { help: { type: "boolean" } } });
if (values.help === true) {
  process.stdout
    .write(`Send the requests of the findings of docs/design/security.md to a server in this process, and print the figures of today.

npm run bench -- findings
`);
  process.exit(0);
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const rows: string[][] = [["finding", "measured", "now"]];
const print = (finding: number, measured: string, now: string): void =>
  void rows.push([String(finding), measured, now]);

/** Returns the CPU time of this thread, in milliseconds, and the result. */
async function timed<T>(work: () => Promise<T>): Promise<[ms: string, result: T]> {
  const start = process.threadCpuUsage();
  const result = await work();
  const { user, system } = process.threadCpuUsage(start);
  return [`${((user + system) / 1000).toFixed(0)} ms of CPU`, result];
}

const kib = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;

await using directory = await mkdtempDisposable(join(tmpdir(), "vaultsync-findings-"));
const auditLog = { file: join(directory.path, "audit.jsonl") };
await using vault = await TestVault.start({
  data: ":memory:",
  auditLog,
  limits: defaultLimits,
  emails: ["ann@example.com", "bob@example.com"],
});
const ann = await vault.client("ann@example.com");
const bob = await vault.client("bob@example.com");
const shotsOf = async (finding: number) =>
  attacks.find((attack) => attack.finding === finding)!.prepare(ann, 0);
/**
 * Sends a request and returns its outcome; the server may close the connection before it has read a
 * large body.
 */
async function send(
  path: string,
  body: string | Buffer,
  headers = {},
): Promise<Pick<VaultResponse, "outcome" | "bytes">> {
  const all = { "content-type": "application/json", ...headers };
  return sendRequest(vault.url + path, { headers: all, body }).catch(() => ({
    outcome: () => "connection closed",
    bytes: Buffer.alloc(0),
  }));
}

{
  const [first] = await shotsOf(1);
  const { path, body } = first!();
  const authorization = ann.token;
  const [ms, response] = await timed(() =>
    send(operationPath.list_no_dup, body, { authorization }),
  );
  print(1, "a string before many colons, 2 MiB, with a token", `${response.outcome()} after ${ms}`);
  const stranger = (await send(path, body)).outcome();
  print(1, "the same without a token", stranger);
}
{
  const [, small] = await shotsOf(2);
  const before = (await stat(auditLog.file)).size;
  const { path, body } = small!();
  const response = await send(path, body);
  print(
    2,
    "audit log of a request with wide names, 14 KiB",
    `${response.outcome()}, ${(await stat(auditLog.file)).size - before} bytes`,
  );
  const filled = (await stat(auditLog.file)).size;
  for (const _ of upTo(1000)) await send(path, body);
  print(2, "audit log of 1,000 further ones", kib((await stat(auditLog.file)).size - filled));
}
{
  const [large] = await shotsOf(3);
  const { path, body } = large!();
  const [ms, response] = await timed(() => send(path, body, { authorization: ann.token }));
  print(
    3,
    "120,000 invalid names, with a token",
    `${response.outcome()}, ${kib(response.bytes.length)}, ${ms}`,
  );
}
{
  await ann.call("protect", { key_name: "compressed", key_value: "x".repeat(4000) });
  const response = await ann.call(
    "expose",
    { key_name: "compressed" },
    { "accept-encoding": "gzip" },
  );
  print(
    5,
    "content-encoding of a value of 4,000 bytes",
    response.headers["content-encoding"] ?? "none",
  );
}
{
  const shares = await shotsOf(7);
  const share = async (shot: (typeof shares)[number]): Promise<string> => {
    const { path, body, headers } = shot();
    const [ms, response] = await timed(() => send(path, body, headers));
    return `${response.outcome()} after ${ms}`;
  };
  print(7, "share with 200 recipients", await share(shares[0]!));
  print(7, "unshare with 200 recipients", await share(shares[1]!));
  print(7, "share with 10,000 recipients", await share(shares[2]!));
  print(10, "emails of these shares", String(await vault.metric("vaultsync_vault_emails_waiting")));
}
{
  await ann.call("protect", { key_name: "metadata", key_value: "v" });
  const metadata = { large: "x".repeat(1e6) };
  const response = await ann.call("update_key_metadata", {
    key_name: "metadata",
    key_version: 1,
    metadata,
  });
  print(8, "metadata of 1 MB", response.outcome());
}
{
  const long = scopeString({ secret_name: upTo(200).map((n) => `n${n}`.padEnd(9000, "x")) });
  print(11, "a scope of 1.8 MB", (await vault.logIn("bob@example.com", { scope: long })).outcome());
  const tags = upTo(50)
    .map((n) => `W/"${n}-a"`)
    .join();
  const [ms, response] = await timed(() => bob.call("list_no_dup", {}, { "if-none-match": tags }));
  print(11, "a list with 50 entity tags", `${response.outcome()} after ${ms}`);
}
{
  await using slow = await TestVault.start({ data: ":memory:", passwordCost: defaultPasswordCost });
  const many = upTo(520).map(() => slow.logIn("ann@example.com"));
  await Promise.race(many);
  let served = 0;
  for (const each of many) void each.then(({ status }) => (served += status === 200 ? 1 : 0));
  const before = served;
  const other = await slow.logIn("bob@example.com");
  print(
    15,
    "logins served before that of another user, of 520 of one account",
    `${served - before}, then ${other.outcome()}`,
  );
  const rejected = (await Promise.all(many)).filter(({ status }) => status === 429).length;
  print(15, "of those 520 rejected", String(rejected));
}
{
  await using limited = await TestVault.start({
    data: ":memory:",
    limits: defaultLimits,
    clock: new VirtualClock(),
  });
  const tokens: VaultClient[] = [];
  for (const _ of upTo(8)) tokens.push(await limited.client("ann@example.com"));
  let admitted = 0;
  for (const n of upTo(2000))
    if ((await tokens[n % 8]!.call("list_file")).status === 200) admitted += 1;
  print(16, "2,000 requests of one account with 8 tokens at one time: admitted", String(admitted));
}
print(
  19,
  "/metrics on the public listener",
  (await sendRequest(`${vault.url}/metrics`, { method: "GET" })).outcome(),
);
process.stdout.write(table(rows));
