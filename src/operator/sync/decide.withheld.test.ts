import { expect, test } from "vitest";
import { a, absent, b, both, found, owned, summary } from "../../../test/lab/kube/resolutions.ts";
import { candidate } from "../../../test/lab/kube/sync-resource.ts";
import { decide } from "./decide.ts";
import type { Resolution } from "./resolution.ts";

const withheld = (hasBytes: boolean): Resolution => ({
  state: "withheld",
  item: b,
  candidate: candidate(9),
  gate: { reason: "Frozen" },
  hasBytes,
});

test.each([
  ["is not written, without its bytes", false, owned({ a: 1 }), "write a=vault@2"],
  ["prevents no creation", false, absent, "write a=vault@2"],
  ["keeps the bytes of another entry", true, owned({ a: 1, b: 7 }), "write a=vault@2 b=target@7"],
  [
    "keeps an edited target, whose bytes cannot be identified",
    true,
    owned({ a: 1 }, { annotationsCorrupted: true }),
    "keep",
  ],
  [
    "does not keep an edited target that has nothing of it",
    false,
    owned({ a: 1 }, { annotationsCorrupted: true }),
    "write a=vault@2",
  ],
])("a withheld key %s", (_, hasBytes, target, plan) => {
  expect(summary(decide(both, [found(a, 2), withheld(hasBytes)], target))).toBe(plan);
});

test("a resource with a withheld key is ready", () => {
  const decision = decide(both, [found(a, 1), withheld(true)], owned({ a: 1, b: 7 }));
  expect(decision.readyCondition.reason).toBe("Synced");
  expect(summary(decision)).toBe("verify a=target@1 b=target@7");
});
