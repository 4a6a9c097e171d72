import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Masker } from "./masker.ts";
import { maskedForms } from "./masked-forms.ts";
import { prefixAutomaton } from "./prefix-automaton.ts";

/** Masks each byte that belongs to an occurrence of a form, found by brute force. */
function maskedAtOnce(text: Buffer, forms: readonly Buffer[]): string {
  const covered = new Map<number, number>();
  for (const form of forms)
    for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1))
      covered.set(at, Math.max(covered.get(at) ?? 0, at + form.length));
  let output = "";
  let done = 0;
  for (const [start, end] of [...covered].sort(([a], [b]) => a - b)) {
    if (start >= done) output += `${text.subarray(done, start).toString("latin1")}***`;
    done = Math.max(done, end);
  }
  return output + text.subarray(done).toString("latin1");
}

/** Masks a text that arrives in chunks which end at these places. */
function maskedInChunks(text: Buffer, forms: readonly Buffer[], cuts: readonly number[]): string {
  const masker = new Masker(prefixAutomaton(forms));
  const ends = [...cuts.map((cut) => cut % (text.length + 1)), text.length].sort((a, b) => a - b);
  let from = 0;
  const output: Buffer[] = [];
  for (const end of ends) {
    output.push(Buffer.from(masker.push(text.subarray(from, end))));
    from = end;
  }
  return Buffer.concat([...output, masker.end()]).toString("latin1");
}

/** A few characters, to have values that overlap and begin alike; and bytes that are encoded. */
const value = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "b", "-"), minLength: 1, maxLength: 14 }),
  fc.string({
    unit: fc.constantFrom("ä", " ", "/", '"', "\n", "k", "?"),
    minLength: 1,
    maxLength: 30,
  }),
  fc
    .uint8Array({ minLength: 1, maxLength: 60 })
    .map((bytes) => Buffer.from(bytes).toString("latin1")),
);

/** Returns how programs print a value, and parts of it. */
const printed = (of: Buffer): fc.Arbitrary<Buffer> =>
  fc.constantFrom(
    of,
    Buffer.from(of.toString("base64")),
    Buffer.from(Buffer.concat([Buffer.from("user:"), of, Buffer.from("!")]).toString("base64url")),
    Buffer.from(encodeURIComponent(of.toString())),
    Buffer.from(new URLSearchParams({ q: of.toString() }).toString()),
    Buffer.from(JSON.stringify(of.toString())),
    of.subarray(0, -1),
    of.subarray(1),
  );

const scene = fc.array(value, { minLength: 1, maxLength: 6 }).chain((values) => {
  const all = values.map((text) => Buffer.from(text));
  const piece = fc.oneof(
    fc.constantFrom(...all).chain(printed),
    fc
      .string({ unit: fc.constantFrom("a", "b", "-", "x", "%", "\n") })
      .map((text) => Buffer.from(text)),
  );
  return fc.record({
    values: fc.constant(all),
    text: fc.array(piece, { maxLength: 30 }).map((pieces) => Buffer.concat(pieces)),
    cuts: fc.array(fc.nat(2_000), { maxLength: 40 }),
  });
});

test("output in random chunks contains no form of a value, and all else unchanged", () => {
  fc.assert(
    fc.property(scene, ({ values, text, cuts }) => {
      const forms = maskedForms(values.map((bytes) => ({ bytes, hasSecretLines: true })));
      const output = maskedInChunks(text, forms, cuts);
      expect(output).toBe(maskedAtOnce(text, forms));
      for (const form of forms.filter((one) => !one.includes("*")))
        expect(output.includes(form.toString("latin1"))).toBe(false);
    }),
    { numRuns: 2_000 },
  );
});

test("the value, its base64 in a longer text, and its URL encodings are masked", () => {
  const secret = Buffer.from("p@ss w/rd+üx");
  const forms = maskedForms([{ bytes: secret, hasSecretLines: true }]);
  const shown = (text: string): string => maskedInChunks(Buffer.from(text), forms, [3, 7, 8, 20]);
  const text = secret.toString();
  expect(shown(`key=${text};`)).toBe("key=***;");
  expect(shown(secret.toString("base64"))).toMatch(/^[*]{3}=*$/u);
  for (const prefix of ["", "a", "ab", "abc"])
    for (const encoding of ["base64", "base64url"] as const) {
      const encoded = Buffer.from(`${prefix}${text}:x`).toString(encoding);
      expect(shown(encoded).replaceAll("*", "").length).toBeLessThanOrEqual(9);
    }
  expect(shown(encodeURIComponent(text))).toBe("***");
  expect(shown(encodeURIComponent(text).toLowerCase())).toBe("***");
  expect(shown(new URLSearchParams({ p: text }).toString())).toBe("p=***");
});

test("a value of a megabyte is masked in parts, and each line of a key alone", () => {
  const long = Buffer.from(
    Array.from({ length: 2 ** 20 }, (_, at) => (at * 7919 + (at >> 8)) % 251),
  );
  const forms = maskedForms([{ bytes: long, hasSecretLines: false }]);
  const output = maskedInChunks(
    Buffer.concat([Buffer.from("<"), long, Buffer.from(">")]),
    forms,
    [5, 70_000, 700_001],
  );
  expect(output).toMatch(/^<(?:\*\*\*)+>$/u);
  const key =
    "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSj\n-----END KEY-----\n";
  const lines = maskedForms([{ bytes: Buffer.from(key), hasSecretLines: true }]);
  expect(maskedInChunks(Buffer.from("  MIIEvQIBADANBgkqhkiG9w0B\n"), lines, [])).toBe("  ***\n");
});
