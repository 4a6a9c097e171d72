import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { timeWindow } from "../lib/window.ts";
import { decideRestart, type RestartInput, type SourceContent } from "./decide-restart.ts";
import {
  contentOf,
  formatRestartState,
  parseRestartState,
  type RestartState,
} from "./restart-state.ts";

const NOW = 1_000_000;
const WINDOW = 30_000;
const content = (digest: string, changedAt = NOW): SourceContent => ({ digest, changedAt });
const recorded = (sources: Readonly<Record<string, string>>, at?: number): RestartState => ({
  sources: new Map(Object.entries(sources)),
  restart: at === undefined ? undefined : { at, content: "content" },
});

function decide(
  sources: Readonly<Record<string, SourceContent | undefined>>,
  state: RestartState,
  more: Partial<RestartInput> = {},
): ReturnType<typeof decideRestart> {
  const input = {
    pendingSince: undefined,
    restartedFor: undefined,
    windowMs: WINDOW,
    now: NOW,
    ...more,
  };
  return decideRestart({ ...input, sources: new Map(Object.entries(sources)), state });
}

const HOUR = 3_600_000;
// 02:00 to 03:00 UTC.
const windows = [timeWindow("0 2 * * *", "1h")];
const day = Date.UTC(2026, 10, 21);
const changed = (at: number) => ({ ...content("k.2", at), windows });
const decideAt = (now: number, sources: Readonly<Record<string, SourceContent>>) =>
  decide(sources, recorded({ a: "k.1", b: "k.1" }), { now });

describe("a change with windows", () => {
  test("waits for the next one, and restarts within it", () => {
    const sources = { a: changed(day), b: content("k.1") };
    expect(decideAt(day + HOUR, sources)).toEqual({
      action: "wait",
      since: day,
      ms: HOUR,
      opensAt: day + 2 * HOUR,
    });
    expect(decideAt(day + 2 * HOUR, sources)).toMatchObject({ action: "restart", changed: ["a"] });
    expect(decideAt(day + 3 * HOUR, sources)).toMatchObject({ action: "wait", ms: 23 * HOUR });
  });

  test("waits for the quiet window within it", () => {
    const at = day + 2 * HOUR;
    expect(decideAt(at, { a: changed(at), b: content("k.1") })).toEqual({
      action: "wait",
      since: at,
      ms: WINDOW,
    });
  });

  test("waits for none if another source without windows has changed", () => {
    const sources = { a: changed(day), b: content("k.2", day) };
    expect(decideAt(day + HOUR, sources)).toMatchObject({ action: "restart" });
  });
});

describe("decideRestart", () => {
  test("records a source that is new, and keeps the record of one that changed meanwhile", () => {
    const decision = decide({ a: content("k.2"), b: content("k.1") }, recorded({ a: "k.1" }));
    expect(decision).toEqual({
      action: "record",
      sources: new Map(Object.entries({ a: "k.1", b: "k.1" })),
    });
  });

  test("records a digest under another key, which cannot be compared", () => {
    expect(decide({ a: content("new.1") }, recorded({ a: "old.2" }))).toMatchObject({
      action: "record",
    });
  });

  test("does nothing for equal digests, and for a source that is not synced", () => {
    expect(decide({ a: content("k.1"), b: undefined }, recorded({ a: "k.1", b: "k.1" }))).toEqual({
      action: "none",
    });
  });

  test.each([
    ["the change", { a: content("k.2", NOW - 10_000) }, undefined, undefined, 20_000],
    [
      "the first of several changes",
      { a: content("k.2", NOW - 10_000), b: content("k.2", NOW - 1_000) },
      undefined,
      undefined,
      20_000,
    ],
    ["the first change that was seen", { a: content("k.2") }, undefined, NOW - 25_000, 5_000],
    ["the last restart", { a: content("k.2", NOW - 100_000) }, NOW - 10_000, undefined, 20_000],
    [
      "the first change, if the last restart was in the future",
      { a: content("k.2", NOW - 5_000) },
      NOW + 60_000,
      undefined,
      25_000,
    ],
    ["a time in the future", { a: content("k.2", NOW + 1_000_000) }, undefined, undefined, WINDOW],
  ] as const)("waits for a window after %s", (_, sources, at, pendingSince, ms) => {
    expect(decide(sources, recorded({ a: "k.1", b: "k.1" }, at), { pendingSince })).toMatchObject({
      action: "wait",
      ms,
    });
  });

  test("restarts at the end of the window, for all sources, and forgets those that no longer count", () => {
    const sources = { a: content("k.2", NOW - WINDOW), b: content("k.1"), c: undefined };
    const decision = decide(sources, recorded({ a: "k.1", b: "k.1", c: "k.1", gone: "k.1" }));
    const current = new Map(Object.entries({ a: "k.2", b: "k.1", c: "k.1" }));
    expect(decision).toEqual({
      action: "restart",
      sources: current,
      content: contentOf(current),
      changed: ["a"],
    });
  });

  test("records a content that was restarted for already", () => {
    const current = new Map([["a", "k.2"]]);
    const decision = decide({ a: content("k.2", 0) }, recorded({ a: "k.1" }), {
      restartedFor: contentOf(current),
    });
    expect(decision).toEqual({ action: "record", sources: current });
  });

  test("decides nothing once what it decided is stored", () => {
    const digest = fc.constantFrom("k.1", "k.2", "other.1");
    const entries = fc.dictionary(fc.constantFrom("a", "b", "c"), digest);
    fc.assert(
      fc.property(entries, entries, fc.nat(100_000), (now, before, age) => {
        const sources = Object.fromEntries(
          Object.entries(now).map(([name, one]) => [name, content(one, NOW - age)]),
        );
        let state = recorded(before);
        for (let step = 0; step < 3; step += 1) {
          const decision = decide(sources, state, { now: NOW + WINDOW });
          if (decision.action === "none") return;
          if (decision.action === "wait") throw new Error("the window has ended");
          state = { ...state, sources: decision.sources };
        }
        expect(decide(sources, state, { now: NOW + WINDOW })).toEqual({ action: "none" });
      }),
    );
  });
});

describe("the state of the restarts", () => {
  test("is the same after it was stored", () => {
    for (const restart of [
      undefined,
      { at: NOW, content: "x" },
      { at: NOW, content: "x", result: "Failed", message: "y" },
    ] as const) {
      const state = {
        sources: new Map([
          ["VaultSecret/b", "k.2"],
          ["VaultSecret/a", "k.1"],
        ]),
        restart,
      };
      expect(parseRestartState(formatRestartState(state))).toEqual(state);
    }
  });

  test.each([
    undefined,
    "",
    "{",
    "[]",
    '{"sources":{"a":1}}',
    '{"sources":{},"restart":{"at":"yesterday","content":"x"}}',
  ])("of the annotation %j is empty", (text) =>
    expect(parseRestartState(text)).toEqual({ sources: new Map(), restart: undefined }),
  );

  test("has one text, and one content, whatever the order of the sources", () => {
    const [one, other] = [
      new Map([
        ["a", "1"],
        ["b", "2"],
      ]),
      new Map([
        ["b", "2"],
        ["a", "1"],
      ]),
    ];
    expect(contentOf(one)).toBe(contentOf(other));
    expect(formatRestartState({ sources: one, restart: undefined })).toBe(
      formatRestartState({ sources: other, restart: undefined }),
    );
    expect(contentOf(one)).not.toBe(
      contentOf(
        new Map([
          ["a", "2"],
          ["b", "1"],
        ]),
      ),
    );
  });
});
