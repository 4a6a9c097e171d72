import type { Clock } from "../../src/lib/clock.ts";
import {
  operatorConfig,
  type OperatorConfig,
  type OperatorFlags,
} from "../../src/operator/config.ts";
import { ProcessClock } from "./replica.ts";

/**
 * The flags of a world unless a command sets others. Without a resync, nothing repairs a missing
 * wake-up.
 */
const DEFAULT_FLAGS = { autoRestart: "off", resync: 0 } as const;
const USUAL_COUNT = 2;

/** One process of the operator. */
interface Replica {
  readonly user: string;
  readonly clock: ProcessClock;
  readonly config: OperatorConfig;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  hasEnded: boolean;
}

export interface ReplicasOptions {
  readonly clock: Clock;
  /** Runs a process until the signal is aborted. */
  readonly run: (
    user: string,
    clock: ProcessClock,
    config: OperatorConfig,
    signal: AbortSignal,
  ) => Promise<void>;
  /** Called when a process starts timers in a loop. */
  readonly onLoop: (user: string) => void;
  /** Called when a process was killed. */
  readonly onCrash: (user: string) => void;
}

/**
 * The replicas of the operator, as a Deployment runs them: one that ends is started again, with the
 * flags that are current then.
 */
export class Replicas {
  /** Greatest error that the wall clock of a replica has had, in milliseconds. */
  greatestSkewMs = 0;
  readonly #options: ReplicasOptions;
  readonly #replicas: (Replica | undefined)[] = [];
  /** Configurations by the name of the process, including processes that have ended. */
  readonly #configs = new Map<string, OperatorConfig>();
  #config = operatorConfig(DEFAULT_FLAGS);
  #count = USUAL_COUNT;
  #started = 0;

  constructor(options: ReplicasOptions) {
    this.#options = options;
  }

  /** The flags of the processes that start now. */
  get config(): OperatorConfig {
    return this.#config;
  }

  /** Returns the flags that a process was started with. */
  configOf(user: string): OperatorConfig {
    return this.#configs.get(user) ?? this.#config;
  }

  /** Sets the flags. Processes that run keep theirs until they end, unless only one may run. */
  configure(flags: OperatorFlags): void {
    const before = this.#config;
    this.#config = operatorConfig({ ...DEFAULT_FLAGS, ...flags });
    if (this.#config.leaderElect === before.leaderElect && this.#options.clock.monotonic() > 0)
      return;
    const count = this.#config.leaderElect ? Math.max(this.#count, USUAL_COUNT) : 1;
    for (const index of this.#replicas.keys()) this.crash(index);
    this.scale(count);
    this.startAll();
  }

  /** Changes the number of replicas. Without leader election there is one. */
  scale(count: number): void {
    this.#count = this.#config.leaderElect ? count : 1;
    for (const index of this.#replicas.keys()) if (index >= this.#count) this.stop(index);
  }

  startAll(): void {
    for (let index = 0; index < this.#count; index += 1) this.start(index);
  }

  /** Starts a replica that is not running. */
  start(index: number): void {
    const before = this.#replicas[index];
    if (index >= this.#count || (before && !before.hasEnded && !before.clock.isDead)) return;
    this.#started += 1;
    const user = `operator-${this.#started}`;
    const clock = new ProcessClock(this.#options.clock, () => this.#options.onLoop(user));
    const stop = new AbortController();
    const config = this.#config;
    this.#configs.set(user, config);
    const ended = this.#options.run(user, clock, config, stop.signal);
    const replica: Replica = { user, clock, config, stop, hasEnded: false, ended };
    const end = (): void => void (replica.hasEnded = true);
    ended.then(end, end);
    this.#replicas[index] = replica;
  }

  /** Starts the processes again that ended by themselves. */
  restartEnded(): void {
    for (const [index, replica] of this.#replicas.entries())
      if (replica?.hasEnded) this.start(index);
  }

  /** Kills a replica: whatever it awaits never happens. */
  crash(index: number): void {
    const replica = this.#replicas[index];
    if (!replica) return;
    replica.clock.crash();
    this.#replicas[index] = undefined;
    this.#options.onCrash(replica.user);
  }

  crashAll(): void {
    for (const index of this.#replicas.keys()) this.crash(index);
  }

  /** Ends a replica as SIGTERM does. */
  stop(index: number): void {
    this.#replicas[index]?.stop.abort(new Error("SIGTERM"));
  }

  suspend(index: number): void {
    this.#replicas[index]?.clock.suspend();
  }

  resume(index: number): void {
    this.#replicas[index]?.clock.resume();
  }

  skew(index: number, ms: number): void {
    const replica = this.#replicas[index];
    if (replica) replica.clock.skewMs = ms;
    this.greatestSkewMs = Math.max(this.greatestSkewMs, Math.abs(ms));
  }

  /** Lets all replicas run, with correct clocks and the current flags. */
  calm(): void {
    for (const [index, replica] of this.#replicas.entries()) {
      this.resume(index);
      this.skew(index, 0);
      if (replica !== undefined && replica.config !== this.#config) this.stop(index);
    }
    this.startAll();
  }

  /**
   * Returns since when a replica has not run for `withinMs` without a suspension; see ProcessClock.
   */
  suspendedAt(user: string, withinMs: number): number | undefined {
    return this.#replicas.find((replica) => replica?.user === user)?.clock.suspendedAt(withinMs);
  }
}
