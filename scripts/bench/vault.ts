import { parseArgs } from "node:util";
import { storeKinds } from "../../test/lab/vault/store-location.ts";
import { measureAll, printTable } from "./report.ts";
import { saveResult } from "./result-file.ts";
import { startOpenBao } from "./vault/openbao-server.ts";
import { startVaultsync, type VaultsyncServer } from "./vault/vaultsync-server.ts";
import type { Case } from "./measure.ts";
import type { BenchClient, BenchServer } from "./vault/bench-server.ts";

type Request = (client: BenchClient) => Promise<void>;

const caseOf = (server: BenchServer, name: string, baseline: string, request: Request): Case => ({
  name,
  baseline,
  concurrency: server.clients.length,
  run: (worker) => request(server.clients[worker]!),
  cpuSeconds: () => server.cpuSeconds(),
});

const alone = (measured: Case): Case => ({ ...measured, concurrency: 1 });

/**
 * Returns the cases to measure on a server, each followed by the same one on its peer, if that has
 * it.
 */
function vaultCases(own: VaultsyncServer, peer: BenchServer | undefined): Case[] {
  const both = (name: string, baseline: string, request: Request): Case[] => [
    caseOf(own, name, baseline, request),
    ...(peer === undefined ? [] : [caseOf(peer, `${peer.label}: ${name}`, name, request)]),
  ];
  const { listHuge } = own;
  return [
    ...both("healthz", "healthz", (client) => client.health()),
    ...both("expose", "healthz", (client) => client.read()),
    { name: "raw commits", baseline: "raw commits", ...own.rawCommits },
    ...both("protect", "raw commits", (client) => client.write()),
    caseOf(own, "list 10,000, unchanged", "healthz", (client) => client.poll()),
    ...both("list 10,000, one client", "healthz", (client) => client.list()).map(alone),
    ...both("list 10,000", "healthz", (client) => client.list()),
    ...(listHuge === undefined
      ? []
      : [alone(caseOf(own, "list 100,000, one client", "healthz", listHuge))]),
  ];
}

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    peer: { type: "string" },
    clients: { type: "string", default: "16" },
    seconds: { type: "string", default: "2" },
    repeats: { type: "string", default: "5" },
    quick: { type: "boolean", default: false },
    output: { type: "string" },
    help: { type: "boolean" },
  },
});
const store = storeKinds.find((kind) => kind === values.store);
if (values.help === true || store === undefined) {
  process.stdout.write(`Measure the throughput and latency of a vault server in its own process.

npm run bench -- vault [--store sqlite|postgres] [--peer PROGRAM] [--clients 16] [--seconds 2] [--repeats 5] [--quick]
    [--output vault-sqlite]

  --store    kind of database (default sqlite)
  --peer     program of another secrets server, to measure the same requests on it in turn: OpenBao (bao)
  --clients  number of concurrent clients (default 16)
  --seconds  duration of each case in each repeat (default 2)
  --repeats  number of repeats of all cases after a warm-up (default 5)
  --quick    smoke test: 0.3 s per case, two repeats, no list of 100,000; writes a result only with --output
  --output   name of the result in scripts/bench/results (default vault-STORE, with --peer vault-STORE-peer)
`);
  process.exit(values.help === true ? 0 : 2);
}
const { quick, peer } = values;
const clients = Number(values.clients);
const seconds = quick ? 0.3 : Number(values.seconds);
const repeats = quick ? 2 : Number(values.repeats);
const content = { clients, listed: 10_000 };

await using other = peer === undefined ? undefined : await startOpenBao(peer, content);
await using own = await startVaultsync(store, { ...content, hasHugeList: !quick });
const result = await measureAll(vaultCases(own, other), { seconds, repeats });
printTable(result);
const name = peer === undefined ? `vault-${store}` : `vault-${store}-peer`;
const output = values.output ?? (quick ? undefined : name);
if (output !== undefined)
  await saveResult(output, { store, clients, seconds, repeats, peer: other?.label }, result);
