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

describe("bytes that become none", () => {
  test("are refused, and the message names source and version, and how to accept them", () => {
    const readyCondition = reviewContent(syncResource(items), versions, emptied, full);
    expect(readyCondition).toMatchObject({ ready: false, reason: "SourceSuspicious" });
    expect(readyCondition?.message).toContain("version 4 of db is empty");
    expect(readyCondition?.message).toContain("vaultsync.dev/accept=db@4");
  });

  test("are put right where that version was synced already, and somebody filled it by hand", () => {
    const fetched = new Map([["user", 1]]);
    expect(reviewContent(syncResource(items), fetched, emptied, full)).toBeUndefined();
  });

  test("are taken once that version of that source is accepted", () => {
    expect(review("db@4")).toBeUndefined();
    for (const other of ["db@3", "password@4", "db", "user@1"]) expect(review(other)?.reason, other).toBe("SourceSuspicious");
  });

  test("are nothing strange where there were none before, or no key", () => {
    const resource = syncResource(items);
    expect(reviewContent(resource, versions, emptied, emptied)).toBeUndefined();
    expect(reviewContent(resource, versions, emptied, contentOf({ user: "u" }))).toBeUndefined();
    expect(reviewContent(resource, versions, emptied, contentOf({}))).toBeUndefined();
  });

  test("a key that goes altogether is not emptied", () => {
    expect(reviewContent(syncResource(items), versions, contentOf({ user: "u" }), full)).toBeUndefined();
  });

  test("a single byte, were it a NUL or a space, is not empty", () => {
    for (const value of ["\0", " ", "\n"]) {
      expect(reviewContent(syncResource(items), versions, contentOf({ password: value, user: "u" }), full)).toBeUndefined();
    }
  });
});

const sized = (...sizes: number[]) => new Map(sizes.map((size, at) => [`k${at}`, new Uint8Array(size)]));

describe("the size", () => {
  test("of all values together may be exactly 1 MiB", () => {
    expect(reviewContent(syncResource([]), new Map(), sized(MAX_TARGET_BYTES - 1, 1), new Map())).toBeUndefined();
  });

  test("of one byte more is refused, with the figures", () => {
    const readyCondition = reviewContent(syncResource([]), new Map(), sized(MAX_TARGET_BYTES, 1), new Map());
    expect(readyCondition).toMatchObject({ ready: false, reason: "TooLarge" });
    expect(readyCondition?.message).toMatch(/1048577 bytes.*1048576/);
  });
});

test("no value is ever quoted", () => {
  const canary = "canary-review-77b2e9";
  const before = contentOf({ password: canary, user: canary });
  expect(JSON.stringify(reviewContent(syncResource(items), versions, emptied, before))).not.toContain(canary);
});
