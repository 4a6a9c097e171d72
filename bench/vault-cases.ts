import type { Case } from "./measure.ts";
import type { BenchClient, BenchServer } from "./vault/bench-server.ts";
import type { VaultsyncServer } from "./vault/vaultsync-server.ts";

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
export function vaultCases(own: VaultsyncServer, peer: BenchServer | undefined): Case[] {
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
