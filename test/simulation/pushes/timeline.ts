import type { Clock } from "../../../src/lib/clock.ts";

interface Span<T> {
  readonly value: T;
  readonly from: number;
  to: number;
}

/** Records what each key has been since when, in monotonic milliseconds. */
export class Timeline<T> {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #spans = new Map<string, Span<T>[]>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Takes in what a key is from now on; `undefined`: nothing. */
  set(key: string, value: T | undefined): void {
    const spans = this.#spans.get(key) ?? [];
    this.#spans.set(key, spans);
    const now = this.#clock.monotonic();
    const last = spans.at(-1);
    if (last?.to === Infinity) last.to = now;
    if (value !== undefined) spans.push({ value, from: now, to: Infinity });
  }

  /** Returns everything that a key was during the last `ms`, the latest first. */
  during(key: string, ms: number): T[] {
    const since = this.#clock.monotonic() - ms;
    const spans = this.#spans.get(key) ?? [];
    return spans
      .filter(({ to }) => to >= since)
      .map(({ value }) => value)
      .toReversed();
  }

  /** Returns what a key was without a change during the last `ms`. */
  throughout(key: string, ms: number): T | undefined {
    const last = this.#spans.get(key)?.at(-1);
    const isSteady = last?.to === Infinity && last.from <= this.#clock.monotonic() - ms;
    return isSteady ? last.value : undefined;
  }

  now(key: string): T | undefined {
    return this.throughout(key, 0);
  }

  keys(): Iterable<string> {
    return this.#spans.keys();
  }
}
