import { describe, expect, test } from "vitest";
import { candidate, syncItem, syncResource } from "../../../test/lab/kube/sync-resource.ts";
import {
  a,
  absent,
  b,
  both,
  found,
  missing,
  owned,
  removed,
  sized,
  summary,
} from "../../../test/lab/kube/resolutions.ts";
import { type Decision, decide, MAX_TARGET_BYTES } from "./decide.ts";
import type { Resolution } from "./resolution.ts";

const foreign = (owner: string | undefined): Decision =>
  decide(both, [found(a, 3), removed(b)], { state: "foreign", owner });

describe("decide for a target that must not be written", () => {
  test("reports TargetConflict for a foreign target", () => {
    expect(summary(foreign(undefined))).toBe("keep");
    expect(foreign(undefined).readyCondition).toEqual({
      ready: false,
      reason: "TargetConflict",
      message:
        "the Secret db already exists and is not managed by this operator: choose another target.name, delete it, or hand it over with the annotation vaultsync.dev/adopt: VaultSecret/db",
    });
    expect(foreign("VaultFile/web").readyCondition.message).toContain("belongs to VaultFile/web");
    expect(foreign("VaultSecret/db")).toEqual(foreign(undefined));
    expect(
      summary(decide(both, [removed(a), removed(b)], { state: "foreign", owner: undefined })),
    ).toBe("keep");
  });

  test.each([
    ["kubernetes.io/tls", ["tls.crt", "tls.key"]],
    ["kubernetes.io/dockerconfigjson", [".dockerconfigjson"]],
    ["kubernetes.io/dockercfg", [".dockercfg"]],
    ["kubernetes.io/ssh-auth", ["ssh-privatekey"]],
  ])("reports InvalidSpec for a Secret of type %s without its keys", (type, keys) => {
    const target = { kind: "Secret", name: "db", type } as const;
    const with_ = (names: readonly string[]): Decision => {
      const items = [...names.map((name) => syncItem(name)), a];
      return decide(
        syncResource(items, { target }),
        items.map((item) => found(item, 1)),
        absent,
      );
    };
    expect(with_(keys).plan.action).toBe("write");
    for (const lacking of keys) {
      const decision = with_(keys.filter((key) => key !== lacking));
      expect(decision).toMatchObject({
        plan: { action: "keep" },
        readyCondition: { reason: "InvalidSpec" },
      });
      expect(decision.readyCondition.message).toContain(lacking);
    }
  });

  test("reports TooLarge from listed file sizes, before any file is fetched", () => {
    const half = MAX_TARGET_BYTES / 2;
    const exactly = decide(both, [found(a, 1, sized(half)), found(b, 1, sized(half))], absent);
    expect(exactly.plan.action).toBe("write");
    const over = decide(
      both,
      [found(a, 1, sized(half)), found(b, 1, sized(half + 1))],
      owned({ a: 1, b: 1 }),
    );
    expect(over).toMatchObject({
      plan: { action: "keep" },
      readyCondition: { ready: false, reason: "TooLarge" },
    });
    expect(over.readyCondition.message).toMatch(/1048577 bytes.*1048576/);
  });

  test("counts the sizes that are listed, whatever else is known", () => {
    const over = found(a, 1, sized(MAX_TARGET_BYTES + 1));
    for (const other of [found(b, 1), missing(b)]) {
      expect(decide(both, [over, other], owned({ b: 1 })).readyCondition.reason).toBe("TooLarge");
    }
  });

  test("counts the size of the desired version only", () => {
    const sizes = new Map([
      [1, 10],
      [2, MAX_TARGET_BYTES + 1],
    ]);
    const pinned: Resolution = {
      state: "found",
      item: a,
      candidate: candidate(2, { sizes }),
      version: 1,
    };
    expect(decide(syncResource([a]), [pinned], absent).plan.action).toBe("write");
  });
});
