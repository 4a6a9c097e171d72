import { parseArgs } from "node:util";
import { storeKinds } from "../../test/lab/vault/store-location.ts";
import { measure, type Case, type Sample, measureArrivals } from "./measure.ts";
import { printTable, summary } from "./report.ts";
import { saveResult } from "./result-file.ts";
import type { BenchServer, BenchClient } from "./vault/bench-server.ts";
import { startOpenBao } from "./vault/openbao-server.ts";
import { startVaultsync } from "./vault/vaultsync-server.ts";

/** Ten requests in their order: one unchanged list, one write, and values. */
const requestAt: readonly ((client: BenchClient) => Promise<void>)[] = Array.from(
  { length: 10 },
  (_, index) => {
    if (index === 0) return (client) => client.poll();
    return index === 5 ? (client) => client.write() : (client) => client.read();
  },
);

/**
 * Returns the case of mixed requests, in turn on whatever clients run it. It is its own baseline.
 */
function mixedCase(server: BenchServer, name: string): Case {
  let next = 0;
  return {
    name,
    baseline: name,
    concurrency: server.clients.length,
    run: (worker) => {
      const request = requestAt[next++ % requestAt.length]!;
      return request(server.clients[worker]!);
    },
    cpuSeconds: () => server.cpuSeconds(),
  };
}

const { values } = parseArgs({
  options: {
    store: { type: "string", default: storeKinds.join() },
    peer: { type: "string" },
    clients: { type: "string", default: "32" },
    listed: { type: "string", default: "1000" },
    loads: { type: "string", default: "25,50,75" },
    seconds: { type: "string", default: "10" },
    repeats: { type: "string", default: "5" },
    output: { type: "string", default: "mixed" },
    help: { type: "boolean" },
  },
});
const stores = storeKinds.filter((kind) => values.store.split(",").includes(kind));
const loads = values.loads.split(",").map(Number);
if (values.help === true || stores.length === 0 || !loads.every((load) => load > 0)) {
  process.stdout
    .write(`Measure the latency of mixed requests that arrive at fixed rates: 80 % values, 10 % unchanged lists, 10 % writes.

npm run bench -- mixed [--store sqlite,postgres] [--peer PROGRAM] [--clients 32] [--listed 1000] [--loads 25,50,75] [--seconds 10]
    [--repeats 5] [--output mixed]

  --store    kinds of database, separated by commas (default both)
  --peer     program of another secrets server, to measure the same requests on it in turn: OpenBao (bao)
  --clients  number of clients; a request waits until one is free (default 32)
  --listed   number of secrets in a list (default 1000)
  --loads    rates in percent of the highest rate, which is measured before them in each repeat (default 25,50,75)
  --seconds  duration of each rate in each repeat (default 10)
  --repeats  number of repeats after a warm-up (default 5)
  --output   name of the result in scripts/bench/results (default mixed)
`);
  process.exit(values.help === true ? 0 : 2);
}
const settings = {
  clients: Number(values.clients),
  listed: Number(values.listed),
  loads,
  seconds: Number(values.seconds),
  repeats: Number(values.repeats),
};

await using owned = new AsyncDisposableStack();
const servers: BenchServer[] = [];
for (const store of stores) servers.push(owned.use(await startVaultsync(store, settings)));
if (values.peer !== undefined) servers.push(owned.use(await startOpenBao(values.peer, settings)));

/** A server's case at its highest rate, and the same at each load. */
const rows = servers.map((server) => {
  const highest = mixedCase(server, `${server.label}, highest`);
  const shares = loads.map((load): Case => ({ ...highest, name: `${server.label}, ${load} %` }));
  return { highest, shares };
});
const samples = new Map<string, Sample[]>();
const keep = ({ name }: Case, sample: Sample): void =>
  void samples.set(name, [...(samples.get(name) ?? []), sample]);
const ms = settings.seconds * 1000;
for (let repeat = 0; repeat <= settings.repeats; repeat += 1) {
  for (const { highest, shares } of rows) {
    const limit = await measure(highest, ms);
    if (repeat > 0) keep(highest, limit);
    for (const [index, share] of shares.entries()) {
      const sample = await measureArrivals(
        share,
        (limit.throughput * (loads[index] ?? 0)) / 100,
        ms,
      );
      if (repeat > 0) keep(share, sample);
    }
  }
  process.stderr.write(repeat === 0 ? "warmed up\n" : `repeat ${repeat} of ${settings.repeats}\n`);
}
const result = rows.flatMap(({ highest, shares }) =>
  [highest, ...shares].map((each) =>
    summary(each, samples.get(each.name) ?? [], samples.get(each.baseline) ?? []),
  ),
);
printTable(result);
await saveResult(
  values.output,
  { ...settings, servers: servers.map(({ label }) => label) },
  result,
);
