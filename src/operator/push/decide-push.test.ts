import { expect, test } from "vitest";
import { decidePush, type PushDecision, type PushFacts } from "./decide-push.ts";

const NOW = Date.UTC(2026, 10, 21);
const at = (ms: number): string => new Date(NOW + ms).toISOString();
const record = (content: string, deleteAt?: string): PushFacts["record"] => ({
  content,
  ...(deleteAt && { deleteAt }),
});
const listed = (content?: string): PushFacts["listed"] => ({ content });
const push = (restored: boolean): PushDecision => ({ action: "push", restored });
const keep: PushDecision = { action: "keep" };
const compare: PushDecision = { action: "compare" };

test.each<[string, PushFacts["listed"], PushFacts["record"], PushDecision]>([
  ["no entry, never pushed", undefined, undefined, push(false)],
  ["no entry, other bytes were pushed", undefined, record("b"), push(false)],
  ["no entry, these bytes were pushed", undefined, record("a"), push(true)],
  [
    "no entry, these bytes were removed at their deadline",
    undefined,
    record("a", at(-1)),
    { action: "removed" },
  ],
  ["no entry at the deadline itself", undefined, record("a", at(0)), { action: "removed" }],
  ["no entry before the deadline", undefined, record("a", at(5_001)), push(true)],
  ["no entry, by a clock that is behind", undefined, record("a", at(5_000)), { action: "removed" }],
  ["no entry after the deadline of other bytes", undefined, record("b", at(-1)), push(false)],
  ["unknown bytes, never pushed", listed(), undefined, compare],
  ["unknown bytes, these bytes were pushed", listed(), record("a"), compare],
  ["unknown bytes, other bytes were pushed", listed(), record("b"), compare],
  ["the same bytes, never pushed", listed("a"), undefined, keep],
  ["the same bytes, other bytes were pushed", listed("a"), record("b"), keep],
  ["the same bytes after their deadline", listed("a"), record("a", at(-1)), keep],
  ["other bytes, never pushed", listed("b"), undefined, push(false)],
  ["other bytes, they were pushed", listed("b"), record("b"), push(false)],
  ["other bytes, these bytes were pushed", listed("b"), record("a"), push(true)],
])("%s", (_, now, last, decision) => {
  expect(decidePush({ content: "a", listed: now, record: last, now: NOW })).toEqual(decision);
});
