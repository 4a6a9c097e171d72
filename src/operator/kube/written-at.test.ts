import { describe, expect, test } from "vitest";
import { writtenAt } from "./written-at.ts";

const CREATED = "2026-11-01T00:00:00Z";
const annotated = (name: string, time: string): object => ({
  time,
  fieldsV1: { "f:metadata": { "f:annotations": { [`f:${name}`]: {} } } },
});
const at = (managedFields: readonly unknown[], annotation?: string): string =>
  new Date(
    writtenAt({ name: "shop", creationTimestamp: CREATED, managedFields }, annotation),
  ).toISOString();

describe("writtenAt", () => {
  test("returns the newest time of all managers", () => {
    const managers = [{ time: "2026-11-03T00:00:00Z" }, { time: "2026-11-02T00:00:00Z" }];
    expect(at(managers)).toBe("2026-11-03T00:00:00.000Z");
  });

  test("returns the time of the managers of an annotation", () => {
    const managers = [
      annotated("a", "2026-11-02T00:00:00Z"),
      annotated("b", "2026-11-03T00:00:00Z"),
      { time: "2026-11-04T00:00:00Z", fieldsV1: { "f:spec": {} } },
    ];
    expect(at(managers, "a")).toBe("2026-11-02T00:00:00.000Z");
  });

  test("returns the creation without a usable manager", () => {
    const created = "2026-11-01T00:00:00.000Z";
    expect(at([])).toBe(created);
    expect(at([undefined, {}, { time: 7 }, { time: "soon" }])).toBe(created);
    expect(writtenAt({ name: "shop" })).toBe(0);
  });
});
