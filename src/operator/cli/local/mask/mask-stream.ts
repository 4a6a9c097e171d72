import { Transform } from "node:stream";
import { type MaskedValue, maskedForms } from "./masked-forms.ts";
import { Masker } from "./masker.ts";
import { prefixAutomaton } from "./prefix-automaton.ts";

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
