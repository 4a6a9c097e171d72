import { Backoff } from "../../../../lib/backoff.ts";
import type { Clock } from "../../../../lib/clock.ts";
import type { Random } from "../../../../lib/random.ts";
import { FairSlots } from "../fair-slots.ts";
import type { Party } from "../store.ts";
import { ONE_AT_A_TIME } from "./transaction-turns.ts";
import { BusyFileError } from "./sqlite-failure.ts";

/** Maximum time that a write waits for writes of other processes, in milliseconds. */
const MAX_WAIT_MS = 10_000;

/**
 * Runs writes one after another, in turns of their accounts. While another process writes the file,
 * the write whose turn it is is attempted repeatedly, without blocking the event loop or reads.
 */
export class WriteQueue {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #turns: FairSlots;
  /** Time of the first of the attempts that have failed since the last success. */
  #busySince = Infinity;

  constructor({ clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = clock;
    this.#backoff = new Backoff({ baseMs: 20, maxMs: 250 }, random);
    this.#turns = new FairSlots(clock, ONE_AT_A_TIME);
  }

  /**
   * @param attempt rejects with `BusyFileError` while another process writes, and is then called
   * again
   * @throws BusyFileError when the file has been busy for ten seconds since the write arrived
   */
  run<T>(writer: Party, attempt: () => Promise<T>): Promise<T> {
    const arrivedAt = this.#clock.monotonic();
    return this.#turns.run(writer, () => this.#attempt(arrivedAt, attempt));
  }

  /** Milliseconds that a write can still wait; all of them while the file is not busy. */
  #leftMs(arrivedAt: number): number {
    const since = Math.max(arrivedAt, this.#busySince);
    return Math.max(0, MAX_WAIT_MS - Math.max(0, this.#clock.monotonic() - since));
  }

  async #attempt<T>(arrivedAt: number, attempt: () => Promise<T>): Promise<T> {
    // The write before it found the file busy: without this check, each write behind it would block
    // the event loop once more.
    if (this.#leftMs(arrivedAt) === 0) throw new BusyFileError();
    for (;;) {
      try {
        const result = await attempt();
        this.#free();
        return result;
      } catch (error) {
        if (!(error instanceof BusyFileError)) this.#free();
        const leftMs = this.#leftMs(arrivedAt);
        if (!(error instanceof BusyFileError) || leftMs === 0) throw error;
        this.#busySince = Math.min(this.#busySince, this.#clock.monotonic());
        await this.#clock.sleep(Math.min(leftMs, this.#backoff.next()));
      }
    }
  }

  #free(): void {
    this.#busySince = Infinity;
    this.#backoff.reset();
  }

  /** Resolves when all writes that have arrived are done. */
  async drained(): Promise<void> {
    await this.#turns.idle();
  }
}
