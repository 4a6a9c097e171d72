import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ServiceError } from "../errors.ts";
import { multipartParts } from "./multipart.ts";

/** Yields the bytes as a client might send them: cut anywhere, each chunk in its own buffer. */
async function* cutAt(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const to = Math.min(bytes.length, Math.max(from, cut));
    if (to > from) yield Uint8Array.from(bytes.subarray(from, to));
    from = to;
  }
  if (from < bytes.length) yield Uint8Array.from(bytes.subarray(from));
}

async function read(
  source: AsyncIterable<Uint8Array>,
): Promise<{ header: string | undefined; content: Buffer }[]> {
  const parts = [];
  for await (const { headers, content } of multipartParts(source, "b")) {
    const pieces = [];
    for await (const piece of content) pieces.push(Buffer.from(piece));
    parts.push({ header: headers.get("x"), content: Buffer.concat(pieces) });
  }
  return parts;
}

/** Content that resembles delimiters. */
const tricky = fc
  .array(fc.constantFrom("\r", "\n", "-", "--", "b", "\r\n", "\r\n-", "\r\n--", "x"), {
    maxLength: 20,
  })
  .map((bits) => bits.join(""));
const contents = fc.array(
  tricky.filter((content) => !`\r\n${content}\r\n`.includes("\r\n--b")),
  { minLength: 1, maxLength: 4 },
);
const cuts = fc.array(fc.nat(300), { maxLength: 12 });

test("multipartParts returns the parts that were sent, wherever the stream is cut", async () => {
  await fc.assert(
    fc.asyncProperty(contents, cuts, async (bodies, where) => {
      const text = bodies
        .map((content, index) => `--b\r\nX: ${index}\r\n\r\n${content}\r\n`)
        .join("");
      const parts = await read(cutAt(Buffer.from(`${text}--b--\r\n`), where));
      expect(parts.map(({ content }) => content.toString())).toEqual(bodies);
      expect(parts.map(({ header }) => header)).toEqual(bodies.map((_, index) => String(index)));
    }),
  );
});

test("multipartParts reads or rejects a truncated or altered body and never hangs", async () => {
  const body = Buffer.from(
    "preamble\r\n--b\r\nX: 1\r\n\r\none\r\n--b\r\nX: 2\r\n\r\n\r\n--b--\r\nepilogue",
  );
  const damage = fc.record({
    length: fc.nat(body.length),
    at: fc.nat(body.length - 1),
    byte: fc.nat(255),
  });
  await fc.assert(
    fc.asyncProperty(damage, cuts, async ({ length, at, byte }, where) => {
      const damaged = Buffer.from(body);
      damaged[at] = byte;
      const outcome = await read(cutAt(damaged.subarray(0, length), where)).catch(
        (error: unknown) => error,
      );
      expect(
        Array.isArray(outcome) ||
          (outcome instanceof ServiceError && outcome.code === "invalid_request"),
      ).toBe(true);
    }),
  );
});

async function* failing(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("--b\r\nX: 1\r\n\r\nabc");
  throw new Error("ECONNRESET");
}

test("multipartParts reports a failing source as an incomplete body", async () => {
  await expect(read(failing())).rejects.toThrow(ServiceError);
});

test("multipartParts skips parts that are not read", async () => {
  const body = Buffer.from("--b\r\nX: 1\r\n\r\none\r\n--b\r\nX: 2\r\n\r\ntwo\r\n--b--");
  const seen = [];
  for await (const { headers } of multipartParts(cutAt(body, [5, 25]), "b"))
    seen.push(headers.get("x"));
  expect(seen).toEqual(["1", "2"]);
});

/** Returns a body of empty parts. */
const emptyParts = (parts: number) =>
  Buffer.from(`${"--b\r\nX: 1\r\n\r\n\r\n".repeat(parts)}--b--`);

test("multipartParts rejects more than 1,000 parts, also empty ones", async () => {
  expect(await read(cutAt(emptyParts(1000), []))).toHaveLength(1000);
  await expect(read(cutAt(emptyParts(1001), []))).rejects.toMatchObject({
    details: [{ reason: "malformed multipart body: more than 1000 parts" }],
  });
});
