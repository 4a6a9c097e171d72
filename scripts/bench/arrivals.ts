import { systemClock, type Clock } from "../../src/lib/clock.ts";
import { sampleOf, type Case, type Sample } from "./measure.ts";

/**
 * Starts the case at a fixed rate per second for `forMs`, on the first worker that is free. A
 * latency begins when the operation is due: time spent waiting for a worker, because the server is
 * slow, counts. A timer adds up to a millisecond.
 */
export function measureArrivals(
  measured: Case,
  rate: number,
  forMs: number,
  clock: Pick<Clock, "monotonic" | "sleep"> = systemClock,
): Promise<Sample> {
  return sampleOf(measured, async () => {
    const times: number[] = [];
    const count = Math.max(1, Math.round((rate * forMs) / 1000));
    const start = clock.monotonic();
    let next = 0;
    const work = async (worker: number): Promise<void> => {
      while (next < count) {
        const due = start + (next * 1000) / rate;
        next += 1;
        // A timer counts whole milliseconds.
        for (let early = due - clock.monotonic(); early > 0; early = due - clock.monotonic())
          await clock.sleep(Math.ceil(early));
        await measured.run(worker);
        times.push(clock.monotonic() - due);
      }
    };
    await Promise.all(Array.from({ length: measured.concurrency }, (_, worker) => work(worker)));
    return times;
  });
}
