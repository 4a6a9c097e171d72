import * as fc from "fast-check";
import { expect, test } from "vitest";
import { candidate, syncResource } from "../../../test/lab/kube/sync-resource.ts";
import { type Reason, reasons } from "../api/reasons.ts";
import { conditionTypes, secretStatus } from "../api/status.ts";
import type { Resolution } from "./resolution.ts";
import type { SyncResource } from "./sync-resource.ts";
import { DEFAULT_NOTICE_MS } from "./expiry.ts";
import { readStatus } from "./stored-status.ts";
import { nextStatus, type StatusInput } from "./sync-status.ts";

const NOW = Date.UTC(2026, 10, 21, 12);

const readyCondition = fc.option(
  fc.record({
    ready: fc.boolean(),
    reason: fc.constantFrom(...(Object.keys(reasons) as Reason[])),
    message: fc.string({ unit: "binary", maxLength: 3_000 }),
  }),
  { nil: undefined },
);
const timestamp = fc.option(
  fc.oneof(
    fc.constantFrom(NOW, NOW - 1, NOW + DEFAULT_NOTICE_MS),
    fc.integer(),
    fc.maxSafeInteger(),
  ),
  {
    nil: undefined,
  },
);
const name = fc.string({ minLength: 1, maxLength: 5 });
const item = fc.record({
  id: fc.constantFrom("a", "b", "__proto__"),
  source: name,
  owner: fc.constant(undefined),
  version: fc.oneof(fc.constant("latest" as const), fc.integer({ min: 1, max: 3 })),
});
const entry = fc
  .record({ latest: fc.integer({ min: 1, max: 4 }), expiresAt: timestamp, deleteAt: timestamp })
  .map((one) => candidate(one.latest, one));
const resolution: fc.Arbitrary<Resolution> = fc.oneof(
  fc.record({
    state: fc.constant("found" as const),
    item,
    candidate: entry,
    version: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({ state: fc.constant("removed" as const), item, deleteAt: fc.integer() }),
  fc.record({ state: fc.constant("missing" as const), item, deleteAt: timestamp }),
  fc.record({ state: fc.constant("ambiguous" as const), item, owners: fc.array(name) }),
  fc.record({
    state: fc.constant("regressed" as const),
    item,
    candidate: entry,
    syncedVersion: fc.constant(9),
  }),
);
const anyResource: fc.Arbitrary<SyncResource> = fc
  .record({
    generation: fc.integer({ min: 1, max: 3 }),
    target: fc.constantFrom("db", "elsewhere"),
  })
  .map(({ generation, target }) =>
    syncResource([], { generation, target: { kind: "Secret", name: target, type: "Opaque" } }),
  );
const anyReport: fc.Arbitrary<StatusInput> = fc.record({
  resource: anyResource,
  readyCondition,
  reconciling: fc.option(fc.constant({ reason: "RateLimited", message: "later" } as const), {
    nil: undefined,
  }),
  stale: fc.constantFrom(undefined, {
    since: NOW - 1_000_000,
    reason: "VaultUnreachable" as const,
  }),
  resolutions: fc.option(fc.array(resolution, { maxLength: 70 }), { nil: undefined }),
  versions: fc.constantFrom(new Map([["a", 3]]), new Map<string, number>()),
  ofOtherVault: fc.constantFrom(new Set(["a"]), new Set<string>()),
  unconfirmed: fc.constantFrom(new Set(["a"]), new Set<string>()),
  certificates: fc.constantFrom(new Map([["a", { from: NOW, to: NOW + 1_000 }]]), new Map()),
  effect: fc.constantFrom("none" as const, "updated" as const),
  verified: fc.constantFrom(undefined, "1", "2"),
  digest: fc.constantFrom(undefined, "key.1", "key.2"),
  changed: fc.boolean(),
  connection: fc.constantFrom(undefined, "one", "another"),
  forced: fc.constantFrom(undefined, "1", "2"),
  now: fc.integer({ min: NOW, max: NOW + 10 * DEFAULT_NOTICE_MS }),
});
/** A status that results from arbitrary reconciles. */
const anyStatus = fc
  .array(anyReport, { maxLength: 3 })
  .map((reports) =>
    reports.reduce(
      (before, one) => readStatus("VaultSecret", nextStatus(before, one)),
      readStatus("VaultSecret", {}),
    ),
  );

test("nextStatus returns an equal status for the same input twice", () => {
  fc.assert(
    fc.property(anyStatus, anyReport, (before, one) => {
      const first = nextStatus(before, one);
      const stored: unknown = JSON.parse(JSON.stringify(first));
      expect(stored).toStrictEqual(first);
      expect(nextStatus(readStatus("VaultSecret", stored), one)).toStrictEqual(stored);
    }),
    { numRuns: 300 },
  );
});

/** No item has a certificate: the time changes what expires. */
const NO_CERTIFICATES = new Map(["a", "b", "__proto__"].map((id) => [id, undefined] as const));

test("nextStatus does not change with the time alone", () => {
  fc.assert(
    fc.property(anyStatus, anyReport, (before, one) => {
      const report_ = {
        ...one,
        changed: false,
        resolutions: one.resolutions?.filter(({ state }) => state !== "found"),
        certificates: NO_CERTIFICATES,
      };
      const first = nextStatus(before, report_);
      const later = nextStatus(readStatus("VaultSecret", first), {
        ...report_,
        now: one.now + 3_600_000,
      });
      expect(later).toStrictEqual(first);
    }),
    { numRuns: 200 },
  );
});

test("nextStatus always matches the schema, with each condition type once", () => {
  fc.assert(
    fc.property(anyStatus, anyReport, (before, one) => {
      const status = secretStatus.parse(nextStatus(before, one));
      const seen = (status.conditions ?? []).map(({ type }) => type);
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.filter((type) => !conditionTypes.some((known) => known === type))).toEqual([]);
      expect(
        status.conditions?.filter(({ type, status: is }) => type !== "Ready" && is !== "True"),
      ).toEqual([]);
      expect(
        status.conditions?.filter(
          ({ message }) => message.length > 1024 || !message.isWellFormed(),
        ),
      ).toEqual([]);
      const written = (status.items ?? []).flatMap(({ expiresAt, deleteAt }) => [
        expiresAt,
        deleteAt,
      ]);
      expect(
        written.filter(
          (at) => at !== undefined && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(at),
        ),
      ).toEqual([]);
    }),
    { numRuns: 300 },
  );
});
