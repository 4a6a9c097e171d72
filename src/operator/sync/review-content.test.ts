import { describe, expect, test } from "vitest";
import { syncItem, syncResource } from "../../../test/support/kube/sync-resource.ts";
import { MAX_TARGET_BYTES } from "./decide.ts";
import { reviewContent } from "./review-content.ts";

const contentOf = (values: Readonly<Record<string, string>>) =>
  new Map(Object.entries(values).map(([key, value]) => [key, Buffer.from(value)]));
const items = [syncItem("password", { source: "db" }), syncItem("user")];
const versions = new Map([
  ["password", 4],
  ["user", 1],
]);
const full = contentOf({ password: "before", user: "u" });
const emptied = contentOf({ password: "", user: "u" });

const review = (pair: string) => reviewContent(syncResource(items, { accepted: new Set([pair]) }), versions, emptied, full);

describe("reviewContent for a value that becomes empty", () => {
  test("rejects it with the source, the version and the annotation that accepts it", () => {
    const readyCondition = reviewContent(syncResource(items), versions, emptied, full);
    expect(readyCondition).toMatchObject({ ready: false, reason: "SourceSuspicious" });
    expect(readyCondition?.message).toContain("version 4 of db is empty");
    expect(readyCondition?.message).toContain("vaultsync.dev/accept=db@4");
  });

  test("accepts it if that version was already synced and the value was edited by hand", () => {
    const fetched = new Map([["user", 1]]);
    expect(reviewContent(syncResource(items), fetched, emptied, full)).toBeUndefined();
  });

  test("accepts it once that version of that source is accepted", () => {
    expect(review("db@4")).toBeUndefined();
    for (const other of ["db@3", "password@4", "db", "user@1"]) expect(review(other)?.reason, other).toBe("SourceSuspicious");
  });

  test("accepts it if the value was empty or absent before", () => {
    const resource = syncResource(items);
    expect(reviewContent(resource, versions, emptied, emptied)).toBeUndefined();
    expect(reviewContent(resource, versions, emptied, contentOf({ user: "u" }))).toBeUndefined();
    expect(reviewContent(resource, versions, emptied, contentOf({}))).toBeUndefined();
  });

  test("accepts a key that is dropped entirely", () => {
    expect(reviewContent(syncResource(items), versions, contentOf({ user: "u" }), full)).toBeUndefined();
  });

  test("does not treat a single NUL or space as empty", () => {
    for (const value of ["\0", " ", "\n"]) {
      expect(reviewContent(syncResource(items), versions, contentOf({ password: value, user: "u" }), full)).toBeUndefined();
    }
  });
});

const sized = (...sizes: number[]) => new Map(sizes.map((size, at) => [`k${at}`, new Uint8Array(size)]));

describe("reviewContent for a large content", () => {
  test("accepts values of exactly 1 MiB in total", () => {
    expect(reviewContent(syncResource([]), new Map(), sized(MAX_TARGET_BYTES - 1, 1), new Map())).toBeUndefined();
  });

  test("rejects one byte more with both sizes", () => {
    const readyCondition = reviewContent(syncResource([]), new Map(), sized(MAX_TARGET_BYTES, 1), new Map());
    expect(readyCondition).toMatchObject({ ready: false, reason: "TooLarge" });
    expect(readyCondition?.message).toMatch(/1048577 bytes.*1048576/);
  });
});

test("reviewContent never quotes a value", () => {
  const canary = "canary-review-77b2e9";
  const before = contentOf({ password: canary, user: canary });
  expect(JSON.stringify(reviewContent(syncResource(items), versions, emptied, before))).not.toContain(canary);
});
