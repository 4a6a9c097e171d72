import {
  assert,
  boolean,
  constantFrom,
  double,
  integer,
  jsonValue,
  oneof,
  property,
  record,
  string,
  dictionary,
} from "fast-check";
import { expect, test } from "vitest";
import { secretRecord, secretText } from "./secret-record.ts";

const text = string({ unit: "binary" });
const time = oneof(
  integer({ min: 0, max: 8.64e15 + 1 }),
  double({ min: 0, max: 1e18, noNaN: true }).map(Math.floor),
);
const access = record({
  secret: record({
    id: text,
    owner: text,
    name: text,
    nextVersion: integer(),
    deleteMinutes: integer({ min: 1 }),
    deleteAt: time,
  }),
  latest: record({
    version: integer({ min: 1 }),
    metadata: record(
      { expiration_time: oneof(integer({ min: 0 }), text) },
      { requiredKeys: [] },
    ).chain((standard) =>
      dictionary(text, jsonValue()).map((custom) => ({ ...custom, ...standard })),
    ),
    createdAt: time,
    createdBy: text,
    updatedAt: time,
  }),
  shared: boolean(),
  permission: constantFrom("R", "W", "RW"),
});

test("the text of a listed secret is the JSON of its record", () => {
  assert(
    property(access, time, boolean(), (generated, now, unchanged) => {
      // As stored and read: a name such as `__proto__` is data.
      const metadataText = JSON.stringify(generated.latest.metadata);
      const { createdAt, updatedAt } = generated.latest;
      const metadata: Record<string, unknown> = JSON.parse(metadataText);
      const latest = {
        ...generated.latest,
        metadata,
        updatedAt: unchanged ? createdAt : updatedAt,
      };
      const listed = { ...generated, latest, metadataText };
      expect(secretText(listed, now)).toBe(JSON.stringify(secretRecord(listed, latest, now)));
    }),
  );
});
