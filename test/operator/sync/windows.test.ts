import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { list, mergedValue, update, withAnotherName, withMergedVersion } from "./gated-targets.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Opens at 03:00 UTC: the simulated clock starts at midnight. */
const windows = [{ schedule: "0 4 * * *", duration: "1h", timeZone: "Europe/Berlin" }];
const updates = { windows };
const both = { password: "db", user: "user" };

async function timed(spec: object = {}): Promise<SimulatedWorld> {
  const names = Object.values(both).map((name) => ({ name }));
  return SimulatedWorld.following(names, both, { updates, ...spec });
}

const values = (version: number): string =>
  `password=vault db@${version} user=vault user@${version}, Synced`;

describe("a resource with windows", () => {
  test("is created, waits with all keys for one status, and follows in the window", async () => {
    await using scene = await timed();
    scene.takeRequests();
    expect(await list(scene, 2, 2)).toBe(values(1));
    expect(scene.takeRequests()).toEqual(["update vaultsecrets db"]);
    expect(update(scene)).toMatchObject({
      reason: "OutsideWindow",
      message:
        "newer versions that wait for the next window at 2026-11-21T03:00:00.000Z: db 1 → 2, user 1 → 2",
    });
    scene.vault().calls.length = 0;
    await scene.settle(2.9 * HOUR);
    expect(scene.takeRequests()).toEqual([]);
    await scene.settle(0.1 * HOUR);
    expect(scene.outcome()).toBe(values(2));
    expect(scene.takeRequests()).toEqual(["patch secrets db", "update vaultsecrets db"]);
    expect(scene.vault().polls).toBe(0);
    expect(await list(scene, 3, 3)).toBe(values(3));
    await scene.settle(HOUR);
    expect(await list(scene, 4, 4)).toBe(values(3));
    await scene.settle(23 * HOUR);
    expect(scene.outcome()).toBe(values(4));
  });

  test("waits over a restart, and a restart in the window follows", async () => {
    await using scene = await timed();
    await list(scene, 2, 2);
    await scene.replace();
    expect(scene.outcome()).toBe(values(1));
    await scene.stop();
    await scene.settle(3 * HOUR);
    await scene.replace();
    expect(scene.outcome()).toBe(values(2));
  });

  test("is repaired and changed with its spec outside of a window, and loses what is removed", async () => {
    await using scene = await timed();
    await list(scene, 2, 2);
    scene.edit({ password: "edited" });
    scene.annotate({ "vaultsync.dev/force-sync": "1" });
    await scene.settle();
    expect(scene.outcome()).toBe(values(1));
    const user = { name: "user", version: 2 };
    scene.vault().lists({ name: "db", version: 2, deleteAt: scene.clock.now() + 2 * MINUTE }, user);
    await scene.settle(3 * MINUTE);
    scene.vault().lists(user);
    await scene.settle();
    expect(scene.outcome()).toBe("user=vault user@1, SourceRemoved");
    scene.follow({ user: "user" }, { updates });
    await scene.settle();
    expect(scene.outcome()).toBe("user=vault user@2, Synced");
  });

  test("is held first, and needs an approval before a window", async () => {
    await using scene = await timed({ updates: { windows, approval: "Required" } });
    await list(scene, 2, 2);
    expect(update(scene)?.reason).toBe("AwaitingApproval");
    scene.annotate({ "vaultsync.dev/approve": scene.status().approvalDigest ?? "" });
    await scene.settle();
    expect(update(scene)?.reason).toBe("OutsideWindow");
    scene.annotate({ "vaultsync.dev/hold": "*" });
    await scene.settle(3 * HOUR);
    expect([scene.outcome(), update(scene)?.reason]).toEqual([values(1), "Held"]);
    scene.annotate({ "vaultsync.dev/hold": null });
    await scene.settle();
    expect(scene.outcome()).toBe(values(2));
  });

  test("finds no new names outside of a window", async () => {
    await using scene = await withAnotherName(updates);
    expect(scene.outcome()).toBe("app-a=vault app-a@1, Synced");
    await scene.settle(3 * HOUR);
    expect(scene.outcome()).toBe("app-a=vault app-a@1 app-b=vault app-b@1, Synced");
  });

  test("keeps the keys that it merges into a foreign object", async () => {
    await using scene = await withMergedVersion({ updates });
    expect(mergedValue(scene)).toBe("vault db@1");
    await scene.settle(3 * HOUR);
    expect(mergedValue(scene)).toBe("vault db@2");
  });
});

test.each([
  [{ schedule: "0 25 * * *", duration: "1h" }, "schedule: the hour must be 0-23"],
  [{ schedule: "@daily", duration: "1h" }, "schedule: must have five fields"],
  [{ schedule: "0 2 * * *", duration: "1h", timeZone: "CET+1" }, "timeZone: must be a time zone"],
  [{ schedule: "0 2 * * *", duration: "8d" }, "duration: must be a duration from 1m to 168h"],
])("the window %j is rejected with its field, and keeps the target", async (window, problem) => {
  await using scene = await timed();
  scene.follow(both, { updates: { windows: [window] } });
  await list(scene, 2, 2);
  expect(scene.outcome()).toBe(values(1).replace("Synced", "InvalidSpec"));
  expect(scene.condition("Ready")?.message).toContain(`spec.updates.windows[0].${problem}`);
});
