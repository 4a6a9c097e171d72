import { expect, test } from "vitest";
import { followEntry, type SeenEntry } from "./follow-entry.ts";

/** Returns a version that was created at a minute. */
const at = (version: number, minute: number) => ({
  version,
  createdAt: `2026-01-01T00:${String(minute).padStart(2, "0")}:00.000Z`,
});
const pushed = at(2, 2);

test.each<[string, SeenEntry | undefined, SeenEntry | undefined, ReturnType<typeof followEntry>]>([
  ["the pushed version", undefined, at(2, 2), at(2, 2)],
  ["the pushed version without times", undefined, { version: 2 }, { version: 2 }],
  ["a later version", at(2, 2), at(3, 4), at(3, 4)],
  ["the pushed version after a later one", at(3, 4), at(2, 2), at(3, 4)],
  ["an older list after the push", undefined, at(1, 1), undefined],
  ["an older list after a later one", at(3, 4), at(1, 1), at(3, 4)],
  ["no entry, in a list that is older than the push", undefined, undefined, undefined],
  ["no entry", at(2, 2), undefined, "gone"],
  ["no entry, again", "gone", undefined, "gone"],
  ["the pushed version after a list without it", "gone", at(2, 2), at(2, 2)],
  ["an older list after one without the entry", "gone", at(1, 1), "gone"],
  ["a later version, after a list without the entry", "gone", at(3, 4), "replaced"],
  ["the number of the pushed version with another time", at(2, 2), at(2, 4), "replaced"],
  ["a smaller number with a later time", at(2, 2), at(1, 4), "replaced"],
  ["the number of a seen version with another time", at(3, 4), at(3, 5), "replaced"],
  ["a smaller number than a seen version, with a later time", at(4, 4), at(3, 5), "replaced"],
])("a list shows %s", (_, seen, listed, expected) => {
  const version = listed === "gone" ? undefined : listed;
  expect(followEntry(pushed, seen, version)).toEqual(expected);
});
