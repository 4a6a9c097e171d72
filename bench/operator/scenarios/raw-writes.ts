import { quantile } from "../../statistics.ts";
import { KubeWriter, type KubeObject } from "../kube-writer.ts";
import type { Samples } from "../samples.ts";
import type { Stage } from "../stage.ts";

const IN_FLIGHT = [1, 16, 64];

/**
 * B0: creates Secrets with a plain client, with different numbers of requests in flight. Returns the highest rate per second, which
 * bounds what any operator can write here.
 */
export async function measureRawWrites(stage: Stage, samples: Samples, resources: number): Promise<number> {
  const rates: number[] = [];
  for (const inFlight of IN_FLIGHT) {
    const namespace = await stage.plane.createNamespace("raw");
    using writer = new KubeWriter(stage.plane.access, inFlight);
    const latencies: number[] = [];
    const waiting = Array.from({ length: resources }, (_, index) => secretOf(index));
    const work = async (): Promise<void> => {
      for (let secret = waiting.pop(); secret !== undefined; secret = waiting.pop()) {
        const from = performance.now();
        await writer.create(namespace, [secret]);
        latencies.push(performance.now() - from);
      }
    };
    const from = performance.now();
    await Promise.all(Array.from({ length: inFlight }, work));
    const rate = (resources * 1_000) / (performance.now() - from);
    rates.push(rate);
    latencies.sort((a, b) => a - b);
    samples.add(
      { scenario: "b0", subject: "plain client", resources, connections: 0 },
      { [`Secrets/s, ${inFlight} in flight`]: rate, [`p99 of a write, ${inFlight} in flight, ms`]: quantile(latencies, 0.99) },
    );
  }
  return Math.max(...rates);
}

const secretOf = (index: number): KubeObject => ({
  kind: "Secret",
  apiVersion: "v1",
  metadata: { name: `raw-${index}` },
  stringData: { value: `raw ${index}\n`.padEnd(200, "x") },
});
