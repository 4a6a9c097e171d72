import { expect, test } from "vitest";
import { shared, shareStrings } from "./shared-strings.ts";

test("shared returns an equal string, for a new and for a known one", () => {
  const text = "2026-11-23T02:00:00Z";
  expect(shared(text)).toEqual(text);
  expect(shared(JSON.parse(`"${text}"`) as string)).toEqual(text);
});

const object = (at: number) => ({
  name: `name-${at}`,
  list: ["a", at, null, { deep: `deep-${at % 10}` }],
  long: "x".repeat(500),
});

test("shareStrings changes no value of an object, also after thousands of others", () => {
  for (let at = 0; at < 5_000; at += 1) {
    const value = object(at);
    shareStrings(value);
    expect(value).toEqual(object(at));
  }
});
