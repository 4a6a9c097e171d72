import { describe, expect, test } from "vitest";
import { decideWithMemory, type RestartMemory } from "./restart-memory.ts";

const NOW = 1_000_000;
const NOTHING = new Map<string, string>();
const SOURCES = new Map([["VaultSecret/db", "k.1"]]);

/** Decides about a workload with or without a record, whose source has the recorded content. */
function decide(
  memory: RestartMemory,
  { recorded, used }: { recorded: boolean; used: boolean },
): string {
  const content = { digest: "k.1", changedAt: NOW };
  const shown = {
    sources: new Map(used ? [["VaultSecret/db", content]] : []),
    state: { sources: recorded ? SOURCES : NOTHING, restart: undefined },
    windowMs: 30_000,
    now: NOW,
  };
  return decideWithMemory(memory, shown, 1).action;
}

/** Returns the memory of a process that has seen a record. */
function seen(used = true): RestartMemory {
  const memory: RestartMemory = { uid: "u" };
  expect(decide(memory, { recorded: true, used })).toBe("none");
  return memory;
}

describe("a record that another writer removed", () => {
  test("is written again", () => {
    expect(decide(seen(), { recorded: false, used: true })).toBe("record");
  });

  // Found by the simulation: with --auto-restart=off the workload was written.
  test("is not written again when nothing restarts the workload any more", () => {
    expect(decide(seen(), { recorded: false, used: false })).toBe("none");
    expect(decide(seen(false), { recorded: false, used: false })).toBe("none");
  });
});
