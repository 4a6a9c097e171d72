import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { VaultServerProcess } from "../../test/lab/real/processes/vault-server-process.ts";
import { storeKinds, StoreLocation } from "../../test/lab/vault/store-location.ts";
import { sendRequest, VaultClient } from "../../test/lab/vault/vault-client.ts";
import { saveResult } from "./result-file.ts";
import { quantile } from "./statistics.ts";
import { table } from "./table.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    clients: { type: "string", default: "10000" },
    help: { type: "boolean" },
  },
});
const kind = storeKinds.find((each) => each === values.store);
if (values.help === true || kind === undefined) {
  process.stdout
    .write(`Let many lists wait for a change (prefer: wait=55), and measure the server's memory, CPU and wake-up latency.

npm run bench -- waiting [--store sqlite|postgres] [--clients 10000]
`);
  process.exit(values.help === true ? 0 : 2);
}

const WAITING_PER_ACCOUNT = 50;
const SETTLE_MS = 5_000;
const IDLE_MS = 15_000;
const ROUNDS = 50;
const CLOCK_TICKS_PER_SECOND = 100;

interface Waiter {
  readonly socket: Socket;
  /** Resolves at the next response. */
  next: PromiseWithResolvers<number>;
}

/**
 * Sends the waiting request of an account on a connection; each network has its own loopback
 * address.
 */
async function open(url: string, index: number): Promise<Waiter> {
  const socket = connect({
    port: Number(new URL(url).port),
    host: "127.0.0.1",
    localAddress: `127.0.0.${1 + (index % 8)}`,
  });
  await once(socket, "connect");
  const waiter: Waiter = { socket, next: Promise.withResolvers() };
  socket.on("data", () => waiter.next.resolve(performance.now()));
  socket.on("error", (error) => waiter.next.reject(error));
  return waiter;
}

function send({ socket }: Waiter, client: VaultClient, etag: string): void {
  const body = JSON.stringify({ email: client.email });
  socket.write(
    `POST ${operationPath.list_no_dup} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: ${client.token}\r\n` +
      `if-none-match: ${etag}\r\nprefer: wait=55\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+([0-9]+)/u.exec(status)?.[1] ?? 0) / 1024;
}

async function cpuSeconds(pid: number): Promise<number> {
  const [user = 0, system = 0] =
    (await readFile(`/proc/${pid}/stat`, "utf8"))
      .split(") ")[1]
      ?.split(" ")
      .slice(11, 13)
      .map(Number) ?? [];
  return (user + system) / CLOCK_TICKS_PER_SECOND;
}

await using place = await StoreLocation.create(kind);
const count = Number(values.clients);
const accounts = Array.from(
  { length: Math.ceil(count / WAITING_PER_ACCOUNT) },
  (_, index) => `user${index}@example.com`,
);
await place.addAccounts(accounts);
await using server = await VaultServerProcess.start(place.args);
const { pid, url } = server;
const clients: VaultClient[] = [];
for (const email of accounts) {
  const client = await VaultClient.connect(url, email, email, { keepAlive: true });
  await client.call("protect", { key_name: "a", key_value: "v" });
  clients.push(client);
}
const tagOf = async (client: VaultClient): Promise<string> =>
  (await client.call("list_no_dup")).headers.etag ?? "";
const waiting = async (): Promise<number> => {
  const text = (
    await sendRequest(`${server.metricsUrl}/metrics`, { method: "GET" })
  ).bytes.toString();
  return Number(/^vaultsync_vault_waiting_lists ([0-9]+)/mu.exec(text)?.[1] ?? 0);
};
const before = await residentMib(pid);
const waiters: Waiter[] = [];
for (let index = 0; index < count; index += 1) waiters.push(await open(url, index));
await sleep(1000);
const connected = await residentMib(pid);
const ownerOf = (index: number): VaultClient => clients[index % clients.length]!;
const tags = await Promise.all(clients.map(tagOf));
const started = performance.now();
for (const [index, waiter] of waiters.entries())
  send(waiter, ownerOf(index), tags[index % clients.length]!);
while ((await waiting()) < count) await sleep(50);
const startMs = performance.now() - started;
// The first reads of the last lists.
await sleep(SETTLE_MS);
const resident = await residentMib(pid);
const cpu = await cpuSeconds(pid);
await sleep(IDLE_MS);
const idleCpu = ((await cpuSeconds(pid)) - cpu) / (IDLE_MS / 1000);

const latencies: number[] = [];
const writes: number[] = [];
for (let round = 0; round < ROUNDS && performance.now() - started < 54_000; round += 1) {
  const account = round % clients.length;
  const woken = waiters.filter((_, index) => index % clients.length === account);
  for (const waiter of woken) waiter.next = Promise.withResolvers();
  const from = performance.now();
  const written = ownerOf(account)
    .call("protect", { key_name: "a", key_value: "v" })
    .then(() => writes.push(performance.now() - from));
  for (const waiter of woken) latencies.push((await waiter.next.promise) - from);
  await written;
}
latencies.sort((a, b) => a - b);
writes.sort((a, b) => a - b);
const ms = (numbers: readonly number[], share: number): string =>
  (quantile(numbers, share) ?? 0).toFixed(1);
const result = {
  clients: count,
  residentMib: { before, connected, waiting: resident },
  kibPerWaitingList: ((resident - connected) * 1024) / count,
  kibPerConnection: ((resident - before) * 1024) / count,
  startMs,
  idleCpu,
  wakeMs: { p50: ms(latencies, 0.5), p99: ms(latencies, 0.99) },
  writeMs: { p50: ms(writes, 0.5), p99: ms(writes, 0.99) },
};
process.stdout.write(
  table([
    ["", kind],
    ["waiting lists", String(count)],
    ["memory before, MiB", before.toFixed(0)],
    ["memory with connections, MiB", connected.toFixed(0)],
    ["memory with waiting lists, MiB", resident.toFixed(0)],
    [
      "memory per waiting list without and with its connection, KiB",
      `${result.kibPerWaitingList.toFixed(1)} / ${result.kibPerConnection.toFixed(1)}`,
    ],
    ["time until all wait, s", (startMs / 1000).toFixed(1)],
    ["CPU while they wait, % of a core", (idleCpu * 100).toFixed(1)],
    ["write that wakes 100 lists, p50 / p99 ms", `${result.writeMs.p50} / ${result.writeMs.p99}`],
    ["its arrival at each, p50 / p99 ms", `${result.wakeMs.p50} / ${result.wakeMs.p99}`],
  ]),
);
await saveResult(`waiting-${kind}`, { store: kind }, result);
for (const { socket } of waiters) socket.destroy();
