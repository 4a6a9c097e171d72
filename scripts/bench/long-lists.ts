import { createServer } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { systemClock, yieldToEventLoop } from "../../src/lib/clock.ts";
import { UndiciTransport } from "../../src/operator/vault-client/http/undici-transport.ts";
import { readListAside } from "../../src/operator/vault-client/mirror/list-reader.ts";
import { ListSnapshot } from "../../src/operator/vault-client/mirror/list-snapshot.ts";
import { changeBetween } from "../../src/operator/vault-client/mirror/snapshot-change.ts";
import { saveResult } from "./result-file.ts";
import { table } from "./table.ts";

const MIB = 1024 * 1024;

const entry = (index: number): string =>
  JSON.stringify({
    key_name: `secret-${index}`,
    key_version: 3,
    owner: "ann@example.com",
    shared: false,
    created_at: 1_790_000_000_000,
    metadata: {
      description: "x".repeat(300),
      classification: "internal",
      environment_type: "production",
    },
  });

/** Serves a list of this size from a thread, whose work does not count. */
function serveList(mib: number): void {
  const count = Math.floor((mib * MIB - 1024) / (entry(1_000_000).length + 1));
  const body = Buffer.from(
    `{"secrets":[${Array.from({ length: count }, (_, index) => entry(index)).join()}]}`,
  );
  const server = createServer((_, response) => response.end(body));
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of a thread, not a window
    parentPort?.postMessage(typeof address === "object" ? address?.port : undefined);
  });
}

/**
 * Measures the CPU time of the main thread in each turn of its event loop, in ms: other programs do
 * not count.
 */
class Turns implements Disposable {
  longest = 0;
  #before = process.threadCpuUsage();
  #timer = setImmediate(() => this.#turn());

  #turn(): void {
    const { user, system } = process.threadCpuUsage(this.#before);
    this.longest = Math.max(this.longest, (user + system) / 1_000);
    this.#before = process.threadCpuUsage();
    this.#timer = setImmediate(() => this.#turn());
  }

  [Symbol.dispose](): void {
    clearImmediate(this.#timer);
  }
}

async function measure(mib: number, references: number) {
  const server = new Worker(new URL(import.meta.url), { workerData: { mib } });
  const port = await new Promise<number>((resolve) => server.once("message", resolve));
  const policy = { allowHttp: true, allowedHosts: undefined };
  await using transport = new UndiciTransport({
    url: `http://127.0.0.1:${port}`,
    clock: systemClock,
    ca: undefined,
    policy,
  });
  const tracked = new Set(Array.from({ length: references }, (_, index) => `secret-${index}`));
  let snapshot: ListSnapshot | undefined;
  const list = async (): Promise<number> => {
    const { signal } = new AbortController();
    const { body } = await transport.request({
      operation: "list_no_dup",
      body: {},
      maxBytes: 64 * MIB,
      deadlineMs: 120_000,
      signal,
    });
    const records = await readListAside("list_no_dup", { body, tracked, maxBytes: 64 * MIB }, "");
    await yieldToEventLoop();
    const before = snapshot;
    const progress = { lists: 1, at: 0, previousAt: -Infinity };
    const origin = {
      listedAt: 0,
      listedAtMonotonic: 0,
      progress: { secret: progress, file: progress },
    };
    snapshot = new ListSnapshot(origin, records, undefined, before);
    changeBetween(before, snapshot);
    return records.count;
  };
  let count = await list();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  using turns = new Turns();
  for (let round = 0; round < 3; round += 1) count = await list();
  delay.disable();
  await server.terminate();
  return { mib, count, references, longestTurnMs: turns.longest, longestDelayMs: delay.max / 1e6 };
}

if (!isMainThread) serveList((workerData as { mib: number }).mib);
else {
  const { values } = parseArgs({ options: { help: { type: "boolean" } } });
  if (values.help === true) {
    process.stdout
      .write(`Measure for how long a long list blocks the operator's event loop, from the socket to the mirror.

npm run bench -- lists
`);
    process.exit(0);
  }
  const results = [];
  for (const [mib, references] of [
    [1, 1_000],
    [8, 1_000],
    [64, 100],
    [64, 10_000],
  ] as const) {
    results.push(await measure(mib, references));
  }
  process.stdout.write(
    table([
      ["MiB", "entries", "references", "longest turn, CPU ms", "event loop delay, max ms"],
      ...results.map(({ mib, count, references, longestTurnMs, longestDelayMs }) =>
        [mib, count, references, longestTurnMs.toFixed(1), longestDelayMs.toFixed(1)].map(String),
      ),
    ]),
  );
  await saveResult("lists", {}, results);
}
