import { expect, test } from "vitest";
import type { Restart } from "../../restart/restart-state.ts";
import { type Entry, restartEntry } from "./restart-entry.ts";
import type { RestartMemory } from "./restart-memory.ts";

const AT = Date.UTC(2026, 10, 21, 12);
const time = "2026-11-21T12:00:00.000Z";
const restart = (ended: Pick<Restart, "result" | "message"> = {}): Restart => ({
  at: AT,
  content: "content",
  ...ended,
});
const QUEUED =
  "waits: 10 workloads of the namespace roll out, and it is restarted when one of them has ended";

type Case = [string, Restart | undefined, Partial<RestartMemory>, Entry | undefined];
test.each<Case>([
  ["no restart", undefined, {}, undefined],
  ["a rollout in progress", restart(), {}, { result: "Progressing", time }],
  [
    "a rollout that reports its progress",
    restart(),
    { progress: "1 of 3" },
    { result: "Progressing", time, message: "1 of 3" },
  ],
  [
    "a result, without the progress before it",
    restart({ result: "RolledOut" }),
    { progress: "1 of 3" },
    { result: "RolledOut", time },
  ],
  [
    "a result with a message",
    restart({ result: "Failed", message: "quota" }),
    {},
    { result: "Failed", time, message: "quota" },
  ],
  [
    "a rejected restart, whatever the last one",
    restart({ result: "RolledOut" }),
    { failure: "denied", queued: true },
    { result: "Failed", time, message: "denied" },
  ],
  [
    "a rejected first restart",
    undefined,
    { failure: "denied" },
    { result: "Failed", message: "denied" },
  ],
  [
    "a restart that waits for others",
    restart({ result: "RolledOut" }),
    { queued: true },
    { result: "Progressing", time, message: QUEUED },
  ],
  [
    "a first restart that waits",
    undefined,
    { queued: true },
    { result: "Progressing", message: QUEUED },
  ],
  [
    "a restart that waits for its window",
    restart({ result: "RolledOut" }),
    { opensAt: Date.UTC(2026, 10, 22, 2) },
    {
      result: "Progressing",
      time,
      message: "waits: its next window opens at 2026-11-22T02:00:00.000Z",
    },
  ],
  ["no wait", undefined, { queued: false }, undefined],
])("a status shows %s", (_, last, memory, entry) => {
  expect(restartEntry(last, memory as RestartMemory)).toEqual(entry);
});
