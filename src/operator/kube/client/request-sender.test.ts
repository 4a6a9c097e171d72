import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isKubeError } from "../kube-error.ts";
import { readJsonLines } from "./request-sender.ts";

const CANARY = "canary-aa03d7f15c2e6b98";

async function read(...chunks: Uint8Array[]): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of readJsonLines(ReadableStream.from(chunks), "watch secrets"))
    values.push(value);
  return values;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test("readJsonLines yields whole lines for any chunking, even within a character", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.jsonValue(), { maxLength: 8 }),
      fc.integer({ min: 1, max: 9 }),
      async (values, size) => {
        const all = bytes(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
        const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, n) =>
          all.subarray(n * size, (n + 1) * size),
        );
        expect(await read(...chunks)).toEqual(JSON.parse(JSON.stringify(values)));
      },
    ),
  );
});

test("readJsonLines yields the lines before a truncated one, then throws Unavailable", async () => {
  const seen: unknown[] = [];
  const reading = (async () => {
    for await (const value of readJsonLines(
      ReadableStream.from([bytes('{"a":1}\n{"b":')]),
      "watch secrets",
    ))
      seen.push(value);
  })();
  await expect(reading).rejects.toSatisfy((error) => isKubeError(error, "Unavailable"));
  expect(seen).toEqual([{ a: 1 }]);
});

test("readJsonLines throws an error that does not quote a malformed line", async () => {
  const error: unknown = await read(bytes(`<html>${CANARY}\n`)).catch((caught: unknown) => caught);
  expect(isKubeError(error, "Unexpected")).toBe(true);
  expect(String(error)).not.toContain(CANARY);
});

test("readJsonLines throws for a line over the length limit", async () => {
  const endless = Array.from({ length: 17 }, () => new Uint8Array(1024 * 1024).fill(120));
  await expect(read(...endless)).rejects.toSatisfy((error) => isKubeError(error, "Unexpected"));
});
