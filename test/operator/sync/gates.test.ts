import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import {
  freeze,
  list,
  mergedValue,
  update,
  withAnotherName,
  withMergedVersion,
} from "./gated-targets.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";

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

const HOLD = "vaultsync.dev/hold";
const APPROVAL = { approval: "Required" };

const hold = (scene: SimulatedWorld, text: string | null): void => scene.annotate({ [HOLD]: text });

// Found by a review: a hold opened what a freeze or an approval keeps back.
test("a target that is held gets no name that a rule finds without an approval", async () => {
  await using scene = await withAnotherName(APPROVAL);
  expect(scene.outcome()).toBe("app-a=vault app-a@1, Synced");
  hold(scene, "*");
  await scene.settle();
  expect(scene.outcome()).toBe("app-a=vault app-a@1, Synced");
  expect(update(scene)?.reason).toBe("AwaitingApproval");
});

test("a target that is held gets no optional key during a freeze", async () => {
  await using scene = await SimulatedWorld.shop("db");
  const optional = { secretKey: "more", optional: true, remoteRef: { key: "more" } };
  scene.follow({ password: "db" }, {});
  scene.follow({}, { data: [{ secretKey: "password", remoteRef: { key: "db" } }, optional] });
  await scene.settle();
  freeze(scene, { until: new Date(scene.clock.now() + HOUR).toISOString() });
  hold(scene, "*");
  await scene.settle();
  scene.vault().lists({ name: "db", version: 2 }, { name: "more" });
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
  expect(update(scene)?.reason).toBe("Held");
  await scene.settle(2 * HOUR);
  expect(scene.outcome()).toBe("more=vault more@1 password=vault db@1, Synced");
});

const DAY = 24 * 60 * MINUTE;
/** Six times the resync of all resources. */
const PERIOD = 180 * MINUTE;
/** Without its cache, the operator reads a rejected value again at each resync. */
const DEFAULT_CACHE_BYTES = 16 * 1024 * 1024;
/** Opens in January; the simulated clock starts in November. */
const yearly = [{ schedule: "0 0 1 1 *", duration: "1h" }];

/** A gate that stays closed for hours. */
interface ClosedGate {
  /** Fields of the spec of each resource. */
  readonly spec?: object;
  /** Rules for the value of each resource. */
  readonly validate?: object;
  /** Closes a gate that is no field of the spec. */
  readonly close?: (scene: SimulatedWorld, names: readonly string[]) => void;
  /** The new version of each resource is read: its value is what closes the gate. */
  readonly reads?: true;
  /** The reason of UpdateAvailable or of Ready, if it is not the name of the gate. */
  readonly reason?: string;
}

const gates: Readonly<Record<string, ClosedGate>> = {
  Held: {
    close: (scene, names) => {
      for (const name of names) scene.annotate({ "vaultsync.dev/hold": "*" }, name);
    },
  },
  Frozen: {
    close: (scene) => freeze(scene, { until: new Date(scene.clock.now() + 2 * DAY).toISOString() }),
  },
  AwaitingApproval: { spec: { updates: { approval: "Required" } } },
  OutsideWindow: { spec: { updates: { windows: yearly } } },
  RefreshInterval: { spec: { refreshInterval: "48h" }, reason: "Synced" },
  InvalidContent: { validate: { maxLength: "vault s-00@1".length }, reads: true },
};

/** Starts an operator that has synced so many resources behind a gate that is closed now. */
async function closed(
  { spec = {}, validate, close }: ClosedGate,
  names: readonly string[],
): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop(...names);
  await scene.replace({ valueCacheBytes: DEFAULT_CACHE_BYTES });
  for (const name of names) {
    const data = [{ secretKey: "value", remoteRef: { key: name }, ...(validate && { validate }) }];
    scene.follow({}, { name, data, ...spec });
  }
  await scene.settle();
  close?.(scene, names);
  await scene.settle();
  expect(outcomes(scene, names)).toEqual(names.map((name) => `value=vault ${name}@1, Synced`));
  scene.takeRequests();
  scene.vault().calls.length = 0;
  return scene;
}

const outcomes = (scene: SimulatedWorld, names: readonly string[]): string[] =>
  names.map((name) => scene.outcome(name));

/** Returns the numbers of values that were read, and of lists, since the last call. */
function takeCalls(scene: SimulatedWorld): { reads: number; lists: number } {
  const { polls: lists, calls } = scene.vault();
  const reads = calls.splice(0).filter(({ operation }) => operation.includes("expose")).length;
  return { reads, lists };
}

test.each(
  Object.entries(gates).flatMap(([gate, how]) => [1, 50].map((n) => [gate, n, how] as const)),
)(
  "%s: a new version of %i resources costs a status each, and nothing more in hours",
  async (gate, count, how) => {
    const names = Array.from({ length: count }, (_, n) => `s-${String(n).padStart(2, "0")}`);
    await using scene = await closed(how, names);
    // given: versions that the gate keeps back, the tenth one because its value is longer
    scene.vault().lists(...names.map((name) => ({ name, version: 10 })));
    await scene.settle();
    expect(names.map((name) => reasonOf(scene, name))).toEqual(names.map(() => how.reason ?? gate));
    expect(scene.takeRequests().toSorted()).toEqual(
      names.map((name) => `update vaultsecrets ${name}`),
    );
    expect(takeCalls(scene).reads).toBe(how.reads === true ? count : 0);

    await scene.settle(PERIOD);
    expect(scene.takeRequests()).toEqual([]);
    const { reads, lists } = takeCalls(scene);
    expect(reads).toBe(0);
    // Intervals between two lists vary by a tenth.
    expect(lists).toBeLessThan((1.1 * PERIOD) / MINUTE);
    expect(names.map((name) => scene.value("shop", name))).toEqual(
      names.map((name) => `vault ${name}@1`),
    );
  },
);

/** Returns the reason for which a resource does not follow. */
function reasonOf(scene: SimulatedWorld, name: string): string | undefined {
  const ready = scene.condition("Ready", name);
  return ready?.status === "True" ? update(scene, name)?.reason : ready?.reason;
}

/** Changes an annotation of the target, as a tool does. */
function touch(scene: SimulatedWorld): void {
  const metadata = { annotations: { "vaultsync.dev/content": "other" } };
  scene.server.patch(SECRETS, { namespace: "shop", name: "db" }, { metadata });
}

// A repair had nothing of the former vault, and followed the present one.
test.each([
  { gate: "a freeze", close: (scene: SimulatedWorld) => scene.freeze() },
  { gate: "a hold", close: (scene: SimulatedWorld) => hold(scene, "*") },
])("$gate keeps the bytes of a former vault in an edited target", async ({ close }) => {
  await using scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
  close(scene);
  await scene.settle();
  scene.connect("vault", { url: "https://other.example.com" });
  scene.vault("other").lists({ name: "db", version: 2 });
  await scene.settle();
  touch(scene);
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, VersionNotFound");
  await scene.replace();
  expect(scene.outcome()).toBe("password=vault db@1, VersionNotFound");
});
