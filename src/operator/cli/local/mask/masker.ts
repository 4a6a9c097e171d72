import { Transform } from "node:stream";
import { type PrefixAutomaton, prefixAutomaton } from "./prefix-automaton.ts";
import { type MaskedValue, maskedForms } from "./masked-forms.ts";

const MASK = Buffer.from("***");

/** A form whose beginning was seen, up to the end of the data. */
interface Pending {
  readonly start: number;
  readonly form: Buffer;
}

type Range = readonly [start: number, end: number];

/**
 * Replaces forms of values in a stream. Each byte that belongs to a form is masked, also where
 * several overlap: the output contains no form, however the input is split. Holds back only bytes
 * that may be the beginning of a form.
 */
export class Masker {
  readonly #automaton: PrefixAutomaton;
  #state: number;
  /** Input that is not put out yet; the automaton has read it. */
  #held: Buffer = Buffer.alloc(0);
  /** Length of the beginning of `#held` that the last mask stands for. */
  #masked = 0;
  #ranges: Range[] = [];
  #pending: Pending[] = [];

  constructor(automaton: PrefixAutomaton) {
    this.#automaton = automaton;
    this.#state = automaton.start;
  }

  /** Returns the output that is certain after this input. */
  push(chunk: Buffer): Buffer {
    const before = this.#held.length;
    const data = before === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const waiting = this.#pending;
    this.#pending = [];
    for (const { start, form } of waiting) this.#compare(data, start, form);
    this.#scan(data, before);
    const unclear = data.length - this.#automaton.depthOf(this.#state);
    return this.#putOut(
      data,
      this.#pending.reduce((least, { start }) => Math.min(least, start), unclear),
    );
  }

  /** Returns the rest of the output. */
  end(): Buffer {
    this.#pending = [];
    return this.#putOut(this.#held, this.#held.length);
  }

  #scan(data: Buffer, from: number): void {
    const { table, classes, firstEnding } = this.#automaton;
    let state = this.#state;
    for (let at = from; at < data.length; at++) {
      state = table[state + (classes[data[at] ?? 0] ?? 0)] ?? 0;
      if (state >= firstEnding) this.#found(data, state, at + 1);
    }
    this.#state = state;
  }

  #found(data: Buffer, state: number, end: number): void {
    for (const { length, forms } of this.#automaton.endingsOf(state))
      for (const form of forms) this.#compare(data, end - length, form);
  }

  /** Compares a form with the data from `start` on, as far as there is any. */
  #compare(data: Buffer, start: number, form: Buffer): void {
    const end = start + form.length;
    const there = Math.min(end, data.length);
    if (form.compare(data, start, there, 0, there - start) !== 0) return;
    if (end > data.length) this.#pending.push({ start, form });
    else this.#ranges.push([start, end]);
  }

  /** Puts out the data before `safe`, and keeps the rest. */
  #putOut(data: Buffer, safe: number): Buffer {
    const output: Buffer[] = [];
    let done = this.#masked;
    const later: Range[] = [];
    for (const [start, end] of this.#ranges.sort(([a], [b]) => a - b)) {
      if (start >= safe) {
        later.push([start - safe, end - safe]);
        continue;
      }
      if (start >= done) output.push(data.subarray(done, start), MASK);
      done = Math.max(done, end);
    }
    if (done < safe) output.push(data.subarray(done, safe));
    this.#held = data.subarray(safe);
    this.#masked = Math.max(0, done - safe);
    this.#ranges = later;
    this.#pending = this.#pending.map(({ start, form }) => ({ start: start - safe, form }));
    const [only] = output;
    return output.length === 1 && only !== undefined ? only : Buffer.concat(output);
  }
}

/** Returns a function that opens streams which mask these values. */
export function maskStreams(values: Iterable<MaskedValue>): () => Transform {
  const automaton = prefixAutomaton(maskedForms(values));
  return () => {
    const masker = new Masker(automaton);
    return new Transform({
      transform: (chunk: Buffer, _, done) => done(null, masker.push(chunk)),
      flush: (done) => done(null, masker.end()),
    });
  };
}
