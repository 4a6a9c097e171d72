import { describe, expect, test } from "vitest";
import { syncItem, syncResource } from "../../../test/lab/kube/sync-resource.ts";
import { type KeyState, reviewKey } from "./review-content.ts";

const item = syncItem("password", { source: "db" });
const resource = syncResource([item]);
const state = (digest: string, version: number, changes: Partial<KeyState> = {}): KeyState => ({
  digest,
  size: 6,
  origin: [{ version, source: "s" }],
  ...changes,
});
const at = (digest: string, createdAt: number | undefined): KeyState => ({
  ...state(digest, 3),
  origin: [{ version: 3, source: "s", createdAt }],
});
const before = state("before", 3);
const empty = state("empty", 4, { size: 0 });
const inForm = (one: KeyState, form: string): KeyState => ({
  ...one,
  origin: one.origin.map((origin) => ({ ...origin, form })),
});
const accepting = (pair: string) => syncResource([item], { accepted: new Set([pair]) });

describe("reviewKey for a value that becomes empty", () => {
  test("rejects it with the source, the version and the annotation that accepts it", () => {
    const readyCondition = reviewKey(resource, [item], empty, before);
    expect(readyCondition).toMatchObject({ ready: false, reason: "SourceSuspicious" });
    expect(readyCondition?.message).toContain("version 4 of db is empty");
    expect(readyCondition?.message).toContain("vaultsync.dev/accept=db@4");
  });

  test("accepts it once that version of that source is accepted", () => {
    expect(reviewKey(accepting("db@4"), [item], empty, before)).toBeUndefined();
    for (const other of ["db@3", "password@4", "db", "user@1"]) {
      expect(reviewKey(accepting(other), [item], empty, before)?.reason, other).toBe(
        "SourceSuspicious",
      );
    }
  });

  test("accepts it if the value was empty or absent before", () => {
    expect(reviewKey(resource, [item], empty, { ...before, size: 0 })).toBeUndefined();
    expect(reviewKey(resource, [item], empty, undefined)).toBeUndefined();
  });

  test("rejects it although the rules for the value have changed, and not if its form has", () => {
    const stored = inForm(before, "form.rules");
    expect(reviewKey(resource, [item], inForm(empty, "form.others"), stored)?.reason).toBe(
      "SourceSuspicious",
    );
    expect(reviewKey(resource, [item], inForm(empty, "other.rules"), stored)).toBeUndefined();
  });

  test("does not treat a single byte as empty", () => {
    expect(reviewKey(resource, [item], { ...empty, size: 1 }, before)).toBeUndefined();
  });
});

describe("reviewKey for the same version with other bytes", () => {
  const restored = state("restored", 3);

  test("rejects it with the annotation that accepts it", () => {
    const readyCondition = reviewKey(resource, [item], restored, before);
    expect(readyCondition).toMatchObject({ ready: false, reason: "SourceSuspicious" });
    expect(readyCondition?.message).toContain("vaultsync.dev/accept=db@3");
    expect(reviewKey(accepting("db@3"), [item], restored, before)).toBeUndefined();
  });

  test("accepts the same bytes, and other bytes of another version or source", () => {
    expect(reviewKey(resource, [item], before, before)).toBeUndefined();
    expect(reviewKey(resource, [item], state("other", 4), before)).toBeUndefined();
    expect(
      reviewKey(
        resource,
        [item],
        state("other", 3, { origin: [{ version: 3, source: "t" }] }),
        before,
      ),
    ).toBeUndefined();
  });
});

test("reviewKey treats an unknown creation time of the same version as equal", () => {
  for (const [fetched, stored] of [
    [undefined, 1000],
    [1000, undefined],
    [1000, 1000],
  ]) {
    expect(reviewKey(resource, [item], at("after", fetched), at("before", stored))?.reason).toBe(
      "SourceSuspicious",
    );
  }
  expect(reviewKey(resource, [item], at("after", 2000), at("before", 1000))).toBeUndefined();
});
