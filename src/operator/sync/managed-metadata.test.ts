import { describe, expect, test } from "vitest";
import { METADATA_ANNOTATION } from "../api/names.ts";
import { formatManagedNames, hasManagedMetadata, managedNames } from "./managed-metadata.ts";
import type { TargetPolicy } from "./sync-resource.ts";

const policy = (labels: object = {}, annotations: object = {}): TargetPolicy => ({
  creationPolicy: "Owner",
  labels: { ...labels },
  annotations: { ...annotations },
  immutable: false,
});
const none = { labels: [], annotations: [] };

describe("the names of labels and annotations that a policy requests", () => {
  test("are recorded in the target, whatever their order", () => {
    const recorded = formatManagedNames(policy({ b: "1", a: "2" }, { d: "3", c: "4" }));
    expect(recorded).toBe(formatManagedNames(policy({ a: "2", b: "1" }, { c: "4", d: "3" })));
    expect(managedNames({ [METADATA_ANNOTATION]: recorded ?? "" })).toEqual({
      labels: ["a", "b"],
      annotations: ["c", "d"],
    });
  });

  test("are not recorded if there are none", () => {
    expect(formatManagedNames(policy())).toBeUndefined();
    expect(formatManagedNames(policy({ a: "1" }, { b: "2" }))).toBeDefined();
    expect(managedNames(undefined)).toEqual(none);
    expect(managedNames({})).toEqual(none);
  });

  test.each(["", "{", "[]", "7", '{"labels":"a"}'])(
    "count as none if the record is malformed: %j",
    (recorded) => {
      expect(managedNames({ [METADATA_ANNOTATION]: recorded })).toEqual(none);
    },
  );
});

describe("hasManagedMetadata", () => {
  const wanted = policy({ team: "shop" }, { note: "x" });
  const actual = {
    labels: { team: "shop" },
    annotations: { note: "x", [METADATA_ANNOTATION]: formatManagedNames(wanted) ?? "" },
  };

  test("is true for a target with the requested names, next to those of others", () => {
    expect(
      hasManagedMetadata(wanted, { ...actual, labels: { ...actual.labels, foreign: "y" } }),
    ).toBe(true);
    expect(hasManagedMetadata(policy(), { labels: { foreign: "y" }, annotations: {} })).toBe(true);
  });

  test.each([
    ["another label", { ...actual, labels: { team: "other" } }],
    ["a missing label", { ...actual, labels: {} }],
    ["another annotation", { ...actual, annotations: { ...actual.annotations, note: "y" } }],
    ["no record", { ...actual, annotations: { note: "x" } }],
  ])("is false for %s", (_, target) => {
    expect(hasManagedMetadata(wanted, target)).toBe(false);
  });

  test("is false for a target with names that were requested earlier only", () => {
    expect(hasManagedMetadata(policy({ team: "shop" }), actual)).toBe(false);
  });
});
