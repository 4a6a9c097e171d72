import { describe, expect, test } from "vitest";
import { planOf } from "./planned-resource.ts";
import { versionsDigest } from "../../sync/gate.ts";
import { everything } from "../../sync/namespace-access.ts";
import {
  approval,
  connection,
  follows,
  freeze,
  gated,
  keysOf,
  live,
  loginOf,
  manifestOf,
  namespace,
  password,
  reference,
  type Scene,
  unchanged,
} from "../../../../test/lab/kube/compared-plan.ts";

const hold = (versions: object | string): object => ({
  "vaultsync.dev/hold": JSON.stringify({ versions }),
});

const approved = (text: string) =>
  live({ spec: gated, annotations: { "vaultsync.dev/approve": text } });

describe("a newer version", () => {
  const waits = { key: "password", served: 3, version: 3, change: "none", latest: 5 };
  const windows = [{ schedule: "0 0 29 2 *", duration: "1m" }];
  const until = "2026-11-22T00:00:00Z";

  test.each<[string, Scene, string]>([
    ["an approval", { spec: gated, objects: [live({ spec: gated })] }, "AwaitingApproval"],
    [
      "a window",
      {
        spec: { ...password, updates: { windows } },
        objects: [live({ spec: { ...password, updates: { windows } } })],
      },
      "OutsideWindow",
    ],
    ["the end of a hold of the manifest", { annotations: hold("*") }, "Held"],
    [
      "the end of a hold that the cluster has",
      { objects: [live({ annotations: { "vaultsync.dev/hold": "*" } })] },
      "Held",
    ],
    ["the end of a freeze", { objects: [live(), freeze({ until })] }, "Frozen"],
    [
      "the end of the freeze of its namespace",
      { objects: [live(), namespace({ "vaultsync.dev/freeze-until": until })] },
      "Frozen",
    ],
    [
      "the end of its refreshInterval",
      {
        spec: { ...password, refreshInterval: "1h" },
        objects: [
          live({
            spec: { ...password, refreshInterval: "1h" },
            status: { syncedAt: "2026-11-21T11:30:00Z" },
          }),
        ],
      },
      "RefreshInterval",
    ],
  ])("waits for %s if the spec is unchanged", async (_, scene, waitsFor) => {
    expect(await keysOf(scene)).toEqual([{ ...waits, waitsFor }]);
  });

  test.each<[string, Scene]>([
    ["an approval", { spec: gated, objects: [live()] }],
    ["a freeze", { objects: [live({ spec: gated }), freeze({ until })] }],
    [
      "an earlier spec",
      { spec: gated, objects: [live({ spec: gated, status: { observedGeneration: 3 } })] },
    ],
  ])("does not wait for %s if the spec is changed", async (_, scene) => {
    expect(await keysOf(scene)).toEqual([follows]);
  });

  test("does not wait for a freeze that is over, or of another namespace", async () => {
    const past = freeze({ until: "2026-11-21T00:00:00Z" });
    const selector = JSON.stringify({ matchLabels: { team: "other" } });
    const other = freeze({ until, namespaceSelector: selector });
    expect(await keysOf({ objects: [live(), past] })).toEqual([follows]);
    expect(await keysOf({ objects: [live(), other] })).toEqual([follows]);
  });

  test("waits for a hold although the spec is changed, in the version that it names", async () => {
    const scene = { spec: gated, annotations: hold({ password: 1 }) };
    expect(await keysOf(scene)).toEqual([
      { ...follows, version: 1, author: "user1@example.com", latest: 5, waitsFor: "Held" },
    ]);
  });

  test("is not there: nothing waits for the end of a hold", async () => {
    expect(await keysOf({ vault: { db: 3 }, annotations: hold({ password: 3 }) })).toEqual([
      unchanged,
    ]);
  });

  test("of an optional key that the target lacks waits for an approval as well", async () => {
    const optional = { secretKey: "user", remoteRef: reference("user"), optional: true };
    const spec = {
      data: [{ secretKey: "password", remoteRef: reference("db") }, optional],
      ...approval,
    };
    const objects = [live({ spec })];
    expect(await keysOf({ spec, objects, vault: { db: 3, user: 1 } })).toEqual([
      unchanged,
      { key: "user", change: "none", latest: 1, waitsFor: "AwaitingApproval" },
    ]);
  });

  test("follows when a user approved exactly these versions", async () => {
    const { resources, connections } = planOf(
      [
        manifestOf(connection().spec, "VaultConnection"),
        manifestOf({ connectionRef: { name: "vault" }, ...password }),
      ],
      [],
      [],
    );
    const resolved = await loginOf({ db: 5 }).resolve(
      resources[0]!.resource,
      connections[0]!,
      everything,
    );
    const digest = "reason" in resolved ? "" : versionsDigest(resolved.resolutions);
    expect(await keysOf({ spec: gated, objects: [approved(digest)] })).toEqual([follows]);
    expect(await keysOf({ spec: gated, objects: [approved("other")] })).toMatchObject([
      { version: 3, waitsFor: "AwaitingApproval" },
    ]);
  });
});
