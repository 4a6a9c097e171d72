import { describe, expect, test } from "vitest";
import { candidate, syncItem, syncResource } from "../../../test/lab/kube/sync-resource.ts";
import { notReady } from "./ready-condition.ts";
import { reportOf } from "./report.ts";
import { readStatus, type SyncStatus } from "./stored-status.ts";
import { isVerifiedBy, nextStatus, type StatusInput } from "./sync-status.ts";

const a = syncItem("a");
const resource = syncResource([a]);

/** Returns the status as the next reconcile parses it. */
function next(before: SyncStatus, changes: Partial<StatusInput> = {}): SyncStatus {
  const report = reportOf({ ready: true, reason: "Synced", message: "x" });
  const resolutions = [{ state: "found", item: a, candidate: candidate(3), version: 3 } as const];
  const input = {
    ...report,
    resource,
    resolutions,
    connection: "connection",
    now: Date.UTC(2026, 10, 21),
    ...changes,
  };
  return readStatus("VaultSecret", JSON.parse(JSON.stringify(nextStatus(before, input))));
}
const found = (version: number): Partial<StatusInput> => ({ versions: new Map([["a", version]]) });
const versionOf = (status: SyncStatus): string | undefined => status.target?.resourceVersion;
const synced = next({}, { changed: true });

describe("nextStatus target", () => {
  const elsewhere = syncResource([a], {
    target: { kind: "Secret", name: "elsewhere", type: "Opaque" },
  });

  test("is the last target in sync, until another one is", () => {
    const waiting = next(synced, {
      resource: elsewhere,
      readyCondition: notReady("TargetConflict", "x"),
    });
    expect(waiting.target?.name).toBe("db");
    expect(next(waiting, { resource: elsewhere, readyCondition: undefined }).target?.name).toBe(
      "db",
    );
    expect(next(waiting, { resource: elsewhere }).target?.name).toBe("db");
    expect(next(waiting, { resource: elsewhere, verified: "9" }).target).toMatchObject({
      name: "elsewhere",
      resourceVersion: "9",
    });
  });

  test("has the resourceVersion of the last write, or of the first verified state", () => {
    const verified = next({}, { verified: "5" });
    expect(versionOf(verified)).toBe("5");
    expect(versionOf(next(verified, { verified: "6" }))).toBe("5");
    const written = next(verified, { verified: "7", effect: "updated" });
    expect(versionOf(written)).toBe("7");
    expect(versionOf(next(written, { readyCondition: notReady("SourceMissing", "x") }))).toBe("7");
    expect(versionOf(next(written, { effect: "deleted" }))).toBeUndefined();
  });

  // If the status named a state with other versions, a process whose watch still shows that state
  // would report those versions again.
  test("has the resourceVersion of the verified state if that has other versions than the status", () => {
    const written = next({}, { verified: "5", effect: "updated", ...found(2) });
    expect(versionOf(next(written, { verified: "6", ...found(2) }))).toBe("5");
    expect(versionOf(next(written, { verified: "6", ...found(3) }))).toBe("6");
    expect(versionOf(next(written, found(3)))).toBeUndefined();
  });

  test("has the verified resourceVersion if a key has a version that was not reported", () => {
    const keys = [a, syncItem("b")];
    const both = syncResource(keys);
    const resolutions = keys.map(
      (item) => ({ state: "found", item, candidate: candidate(4), version: 3 }) as const,
    );
    const after = (
      before: SyncStatus,
      versions: readonly (readonly [string, number])[],
      verified: string,
    ): SyncStatus =>
      next(before, { resource: both, resolutions, versions: new Map(versions), verified });
    const one = ["a", 3] as const;
    const verified = after({}, [one, ["b", 3]], "5");
    expect(versionOf(after(verified, [one, ["b", 3]], "6"))).toBe("5");
    expect(versionOf(after(verified, [one, ["b", 4]], "6"))).toBe("6");
    expect(versionOf(after(verified, [one], "6"))).toBe("5");
    expect(versionOf(after(after({}, [], "5"), [one], "6"))).toBe("5");
  });

  test("has a resourceVersion of its own after a change of its name", () => {
    const verified = next({}, { verified: "5" });
    expect(next(verified, { resource: elsewhere, verified: "9" }).target).toMatchObject({
      resourceVersion: "9",
    });
  });

  test("loses its resourceVersion with the generation for which it was verified", () => {
    const verified = next({}, { verified: "5", digest: "key.1" });
    const changed = syncResource([a], { generation: 8 });
    expect(isVerifiedBy(verified, resource, "5")).toBe(true);
    expect(isVerifiedBy(verified, resource, "6")).toBe(false);
    expect(isVerifiedBy(verified, changed, "5")).toBe(false);
    expect(isVerifiedBy(verified, elsewhere, "5")).toBe(false);
    const rejected = next(verified, {
      resource: changed,
      readyCondition: notReady("TargetImmutable", "x"),
    });
    expect(rejected.target).toEqual({ kind: "Secret", name: "db", digest: "key.1" });
    const failing = next(verified, {
      resource: changed,
      readyCondition: undefined,
      resolutions: undefined,
    });
    expect(failing.target?.resourceVersion).toBe("5");
  });
});
