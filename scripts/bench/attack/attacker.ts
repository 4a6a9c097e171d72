import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Number of outcomes of each case. */
export type Outcomes = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Message to the process of the attacker. */
export type AttackMessage =
  | { readonly kind: "arm" | "count" | "stop" }
  | { readonly kind: "run"; readonly isLast: boolean };

/**
 * Time in which the first requests of an attack, admitted by the rate limits, and their effects
 * end. The bursts of all attacks together take several seconds of the server.
 */
const SETTLE_MS = 2_000;
const SETTLE_TOGETHER_MS = 15_000;

/** The process that sends the attacks (scripts/bench/attack-process.ts). Disposing it ends it. */
export class Attacker implements Disposable {
  readonly #process: ChildProcess;
  readonly #exited: Promise<never>;
  readonly #settleMs: number;

  private constructor(attacker: ChildProcess, settleMs: number) {
    this.#process = attacker;
    this.#settleMs = settleMs;
    this.#exited = once(attacker, "exit").then(() => {
      throw new Error("the attacker's process ended");
    });
    this.#exited.catch(() => undefined);
  }

  /**
   * Starts the process and prepares cases.
   * @param nice scheduling priority of the process: 0 is the default priority, 19 the lowest
   */
  static async start(url: string, cases: readonly string[], nice: number): Promise<Attacker> {
    const child = fork(join(import.meta.dirname, "../attack-process.ts"), [url, ...cases]);
    if (child.pid !== undefined && nice > 0) setPriority(child.pid, nice);
    const attacker = new Attacker(child, cases.length > 1 ? SETTLE_TOGETHER_MS : SETTLE_MS);
    try {
      await attacker.#receive();
      return attacker;
    } catch (error) {
      child.kill();
      throw error;
    }
  }

  #send(message: AttackMessage): void {
    if (this.#process.connected) this.#process.send(message);
  }

  async #receive(): Promise<unknown> {
    const [message] = (await Promise.race([once(this.#process, "message"), this.#exited])) as [
      unknown,
    ];
    return message;
  }

  /** Prepares a round. */
  async arm(): Promise<void> {
    this.#send({ kind: "arm" });
    await this.#receive();
  }

  /**
   * Attacks while `work` runs, and before it until the attack is steady. Returns the outcomes of
   * the requests during `work`.
   */
  async during<T>(isLast: boolean, work: () => Promise<T>): Promise<[T, Outcomes]> {
    this.#send({ kind: "run", isLast });
    await sleep(this.#settleMs);
    this.#send({ kind: "count" });
    const result = await work();
    this.#send({ kind: "stop" });
    const outcomes = (await this.#receive()) as Outcomes;
    await sleep(SETTLE_MS);
    return [result, outcomes];
  }

  [Symbol.dispose](): void {
    this.#process.kill();
  }
}
