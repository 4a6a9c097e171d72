import type { Random } from "../../src/lib/random.ts";
import { mutate, randomShape, render, type Shape } from "./shape.ts";

/** CPU time that one input may take of the thread, in milliseconds. */
export const LIMIT_MS = 50;

/** A parser of input that a stranger sends. */
export interface FuzzTarget {
  readonly name: string;
  /** Size of the longest input that is tried: 1 MiB, or the limit of the field. */
  readonly maxBytes: number;
  /**
   * Size of the first input of a shape; small, because exponential parsers never return from large
   * ones.
   */
  readonly minBytes?: number;
  /** Latin-1 texts that inputs are made of. */
  readonly fragments: readonly string[];
  /** Shapes to try first. */
  readonly shapes?: readonly Shape[];
  /** Parses an input; a rejection of the input is not an error. */
  readonly parse: (input: Buffer) => unknown;
}

/** An input that takes too long. */
export interface SlowInput {
  readonly target: string;
  readonly shape: Shape;
  readonly bytes: number;
  readonly ms: number;
}

/** When a search ends: after a CPU time in milliseconds, or after a number of inputs. */
export interface Budget {
  readonly ms?: number;
  readonly inputs?: number;
}

export interface FuzzResult {
  readonly inputs: number;
  /** The input that took longest. */
  readonly slowest: SlowInput | undefined;
  /** The first input beyond the limit. */
  readonly failure: SlowInput | undefined;
}

const PROBE_BYTES = 4096;
const CONFIRMATIONS = 5;
/** Multiple of the limit that no disturbance explains. */
const CERTAIN = 20;
const CORPUS = 12;
/**
 * Shapes whose probes exceed this share of the limit, if the time grew linearly, are tried in full.
 */
const PROMISING = 0.3;

/**
 * Returns the CPU time of this thread, in milliseconds: other load on the machine does not count.
 */
async function cpuMs(parse: () => unknown): Promise<number> {
  const start = process.threadCpuUsage();
  const pending = parse();
  if (pending instanceof Promise) await pending;
  const { user, system } = process.threadCpuUsage(start);
  return (user + system) / 1000;
}

/**
 * Returns the CPU time of an input; a little above the limit, the minimum of several repetitions.
 */
export async function timeOf({ parse }: FuzzTarget, input: Buffer): Promise<number> {
  let ms = await cpuMs(() => parse(input));
  for (
    let again = 0;
    again < CONFIRMATIONS && ms > LIMIT_MS && ms < CERTAIN * LIMIT_MS;
    again += 1
  ) {
    ms = Math.min(ms, await cpuMs(() => parse(input)));
  }
  return ms;
}

/**
 * Sizes from `from` to `to`, growing slowly at first: an exponential parser is noticed before it
 * takes seconds.
 */
function* sizes(from: number, to: number): Generator<number> {
  for (let size = from; size < to; size = size < 64 ? Math.ceil(size * 1.1) : size * 2) yield size;
  yield to;
}

interface Ranked {
  readonly shape: Shape;
  /** Milliseconds per byte of the probe. */
  readonly cost: number;
}

/**
 * Looks for the slowest inputs of one target: keeps the shapes that take longest per byte, and
 * mutates them.
 */
class Search {
  readonly #target: FuzzTarget;
  readonly #random: Random;
  #corpus: Ranked[] = [];
  #inputs = 0;
  #slowest: SlowInput | undefined;
  #failure: SlowInput | undefined;

  constructor(target: FuzzTarget, random: Random) {
    this.#target = target;
    this.#random = random;
  }

  async #try(shape: Shape, bytes: number): Promise<number> {
    const ms = await timeOf(this.#target, render(shape, bytes));
    this.#inputs += 1;
    const slow = { target: this.#target.name, shape, bytes, ms };
    if (ms > LIMIT_MS) this.#failure ??= slow;
    if (ms > (this.#slowest?.ms ?? 0)) this.#slowest = slow;
    return ms;
  }

  async #examine(shape: Shape): Promise<void> {
    const { maxBytes, minBytes = 16 } = this.#target;
    const probe = Math.min(PROBE_BYTES, maxBytes);
    let [cost, before] = [0, 0];
    for (const size of sizes(Math.min(minBytes, probe), probe)) {
      before = cost;
      cost = (await this.#try(shape, size)) / size;
      if (this.#failure) return;
    }
    const superlinear = cost > 1.5 * before && cost * probe > 0.2;
    const rank = this.#corpus.findIndex((ranked) => cost > ranked.cost);
    this.#corpus.splice(rank === -1 ? this.#corpus.length : rank, 0, { shape, cost });
    this.#corpus.length = Math.min(this.#corpus.length, CORPUS);
    const isRecord = this.#corpus[0]?.shape === shape;
    if (superlinear || isRecord || cost * maxBytes > PROMISING * LIMIT_MS)
      await this.#grow(shape, cost, probe);
  }

  /** Tries larger sizes while the limit is within reach. */
  async #grow(shape: Shape, probed: number, from: number): Promise<void> {
    const { maxBytes } = this.#target;
    let cost = probed;
    for (let size = from * 4; size < maxBytes; size *= 4) {
      const next = (await this.#try(shape, size)) / size;
      if (this.#failure) return;
      if (next <= 1.2 * cost && next * maxBytes < PROMISING * LIMIT_MS) return;
      cost = next;
    }
    await this.#try(shape, maxBytes);
  }

  #next(): Shape {
    const { fragments } = this.#target;
    const parent = this.#corpus[Math.floor(this.#random() ** 2 * this.#corpus.length)];
    const other = this.#corpus[Math.floor(this.#random() * this.#corpus.length)];
    if (!parent || !other || this.#random() < 0.3) return randomShape(this.#random, fragments);
    return mutate(this.#random, parent.shape, fragments, other.shape);
  }

  async run({ ms = Infinity, inputs = Infinity }: Budget): Promise<FuzzResult> {
    const start = process.threadCpuUsage();
    const usedMs = (): number => {
      const { user, system } = process.threadCpuUsage(start);
      return (user + system) / 1000;
    };
    for (const shape of this.#target.shapes ?? []) if (!this.#failure) await this.#examine(shape);
    while (!this.#failure && this.#inputs < inputs && usedMs() < ms)
      await this.#examine(this.#next());
    return { inputs: this.#inputs, slowest: this.#slowest, failure: this.#failure };
  }
}

/** Fuzzes a target within a budget, until an input exceeds `LIMIT_MS`. */
export function fuzz(target: FuzzTarget, random: Random, budget: Budget): Promise<FuzzResult> {
  return new Search(target, random).run(budget);
}
