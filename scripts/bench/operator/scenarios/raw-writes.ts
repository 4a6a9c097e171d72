import { quantile } from "../../statistics.ts";
import { KubeWriter, type KubeObject } from "../kube-writer.ts";
import { groupCpuSeconds } from "../process-usage.ts";
import type { Samples } from "../samples.ts";
import type { Stage } from "../stage.ts";

const IN_FLIGHT = [1, 16, 64];

/**
 * Keeps so many calls in flight until all are done, and returns how long that took and each call,
 * in milliseconds.
 */
export async function timed(
  inFlight: number,
  count: number,
  call: (index: number) => Promise<unknown>,
): Promise<{ readonly ms: number; readonly latencies: readonly number[] }> {
  const latencies: number[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) {
      const from = performance.now();
      await call(next++);
      latencies.push(performance.now() - from);
    }
  };
  const from = performance.now();
  await Promise.all(Array.from({ length: inFlight }, work));
  return { ms: performance.now() - from, latencies: latencies.toSorted((a, b) => a - b) };
}

/**
 * B0: creates Secrets with a plain client, with different numbers of requests in flight. Returns
 * the highest rate per second: no operator can write faster here.
 */
export async function measureRawWrites(
  stage: Stage,
  samples: Samples,
  resources: number,
): Promise<number> {
  const place = { scenario: "b0", subject: "plain client", resources, connections: 0 };
  const { processGroup } = stage.plane;
  const rates: number[] = [];
  for (const inFlight of IN_FLIGHT) {
    const namespace = await stage.plane.createNamespace("raw");
    using writer = new KubeWriter(stage.plane.access, inFlight);
    const cpu = await groupCpuSeconds(processGroup);
    const { ms, latencies } = await timed(inFlight, resources, (index) =>
      writer.create(namespace, [secretOf(index)]),
    );
    const rate = (resources * 1_000) / ms;
    rates.push(rate);
    samples.add(place, {
      [`Secrets/s, ${inFlight} in flight`]: rate,
      [`p99 of a write, ${inFlight} in flight, ms`]: quantile(latencies, 0.99),
      [`CPU s of the control plane per 1,000 writes, ${inFlight} in flight`]:
        (((await groupCpuSeconds(processGroup)) - cpu) * 1_000) / resources,
    });
  }
  return Math.max(...rates);
}

const secretOf = (index: number): KubeObject => ({
  kind: "Secret",
  apiVersion: "v1",
  metadata: { name: `raw-${index}` },
  stringData: { value: `raw ${index}\n`.padEnd(200, "x") },
});
