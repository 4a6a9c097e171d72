import type { Case } from "../measure.ts";
import type { BenchClient, BenchServer } from "./bench-server.ts";

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
export function mixedCase(server: BenchServer, name: string): Case {
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
