import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Number of attacks by outcome, for each finding. */
export type Outcomes = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Time in which the first requests of an attack, which the rate limits admit, and their effects end. */
const SETTLE_MS = 2_000;

/** The process that sends the attacks (bench/attack-process.ts). Disposing it ends it. */
export class Attacker implements Disposable {
  readonly #process: ChildProcess;

  private constructor(attacker: ChildProcess) {
    this.#process = attacker;
  }

  /** @param nice scheduling priority of the process: 0 is that of the others, 19 the lowest */
  static async start(url: string, nice: number): Promise<Attacker> {
    const attacker = fork(join(import.meta.dirname, "../attack-process.ts"), [url]);
    if (attacker.pid !== undefined && nice > 0) setPriority(attacker.pid, nice);
    await once(attacker, "message");
    return new Attacker(attacker);
  }

  /** Attacks while `work` runs, and before it until the attack is steady. Returns the outcomes of the requests during `work`. */
  async during<T>(findings: readonly number[], work: () => Promise<T>): Promise<[T, Outcomes]> {
    this.#process.send({ findings });
    await sleep(SETTLE_MS);
    this.#process.send("count");
    const result = await work();
    this.#process.send("stop");
    const [outcomes] = (await once(this.#process, "message")) as [Outcomes];
    await sleep(SETTLE_MS);
    return [result, outcomes];
  }

  [Symbol.dispose](): void {
    this.#process.kill();
  }
}
