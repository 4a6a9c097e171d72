import { describe, expect, test } from "vitest";
import { clusterSecret } from "../../../../test/lab/kube/fanned-out-objects.ts";
import type { KubeObject } from "../../kube/resource.ts";
import {
  connection,
  data,
  deployment,
  follows,
  gated,
  keysOf,
  factsOf,
  live,
  password,
  planned,
  reference,
  shown,
  unchanged,
} from "../../../../test/lab/kube/compared-plan.ts";

describe("a key of the target", () => {
  test("follows the latest version, with its author", async () => {
    expect(await keysOf({})).toEqual([follows]);
  });

  test("is unchanged in the latest version", async () => {
    expect(await keysOf({ vault: { db: 3 } })).toEqual([unchanged]);
  });

  test("is new if the target does not have it, and leaves if the manifest lacks it", async () => {
    expect(await keysOf({ spec: data(["user", reference("db")]) })).toEqual([
      { key: "user", version: 5, change: "new", author: "user5@example.com" },
      { key: "password", served: 3, change: "leaving" },
    ]);
  });

  test.each([
    ["a newer", 4],
    ["an older", 1],
  ])("gets %s version that the manifest pins", async (_, version) => {
    expect(await keysOf({ spec: data(["password", reference("db", { version })]) })).toEqual([
      { ...follows, version, author: `user${version}@example.com` },
    ]);
  });

  test("gets the version below with previous", async () => {
    const spec = data(
      ["password", reference("db")],
      ["old", reference("db", { version: "previous" })],
    );
    const objects = [live({ spec, items: [shown("password", "db", 3), shown("old", "db", 2)] })];
    expect(await keysOf({ spec, objects })).toEqual([
      follows,
      { key: "old", served: 2, version: 4, change: "version", author: "user4@example.com" },
    ]);
  });

  test("changes its content in the same version if the manifest uses another part", async () => {
    const spec = data(["password", reference("db", { property: "/password" })]);
    expect(await keysOf({ spec, vault: { db: 3 } })).toMatchObject([
      { served: 3, version: 3, change: "content" },
    ]);
    expect(await keysOf({ spec, vault: { db: 3 }, objects: [live({ spec })] })).toEqual([
      unchanged,
    ]);
  });

  test("is new if its status shows no version, and replaced if it is of another vault", async () => {
    const absent = live({ items: [{ secretKey: "password", key: "db", latest: 3 }] });
    expect(await keysOf({ objects: [absent] })).toMatchObject([{ change: "new" }]);
    const item = { secretKey: "password", key: "db", otherVault: true, latest: 3 };
    expect(await keysOf({ objects: [live({ items: [item] })], vault: { db: 3 } })).toEqual([
      { key: "password", version: 3, change: "version", author: "user3@example.com" },
    ]);
    const held = live({ items: [item], annotations: { "vaultsync.dev/hold": "*" } });
    expect((await planned({ objects: [held] })).problems).toHaveLength(1);
  });

  test("leaves with its entry at the deadline of the vault", async () => {
    const spec = data(["password", reference("db")], ["token", reference("token")]);
    const token = shown("token", "token", 1, { deleteAt: "2026-11-21T11:00:00Z" });
    const items = [shown("password", "db", 3), token];
    expect(await keysOf({ spec, objects: [live({ spec, items })] })).toEqual([
      follows,
      { key: "token", served: 1, change: "leaving" },
    ]);
  });

  test("of a rule is found, and leaves with the rule", async () => {
    const spec = { dataFrom: [{ find: { name: { regexp: "^d" } } }] };
    const items = [shown("db", "db", 3)];
    const vault = { db: 5, dc: 1, other: 1 };
    expect(await keysOf({ spec, vault, objects: [live({ spec, items })] })).toEqual([
      { ...follows, key: "db" },
      { key: "dc", version: 1, change: "new", author: "user1@example.com" },
    ]);
    expect(await keysOf({ spec, vault: { db: 3 }, objects: [live({ spec, items })] })).toEqual([
      { ...unchanged, key: "db" },
    ]);
    // A list without the name does not prove that it is gone.
    expect(
      await keysOf({ spec, vault: { dc: 1 }, objects: [live({ spec, items })] }),
    ).toMatchObject([
      { key: "dc", change: "new" },
      { key: "db", served: 3, change: "none" },
    ]);
    expect(await keysOf({ vault, objects: [live({ spec, items })] })).toEqual([
      { key: "password", version: 5, change: "new", author: "user5@example.com" },
      { key: "db", served: 3, change: "leaving" },
    ]);
  });

  test("of a template is a variable, whose content a changed template changes", async () => {
    const spec = { ...password, target: { template: { data: { url: "x {{ password }}" } } } };
    const other = { ...password, target: { template: { data: { url: "y {{ password }}" } } } };
    expect(await keysOf({ spec, objects: [live({ spec })] })).toEqual([
      { ...follows, key: "{{ password }}" },
    ]);
    expect(
      await keysOf({ spec: other, objects: [live({ spec })], vault: { db: 3 } }),
    ).toMatchObject([{ key: "{{ password }}", served: 3, version: 3, change: "content" }]);
    expect(
      await keysOf({ spec: data(["user", reference("db")]), objects: [live({ spec })] }),
    ).toMatchObject([
      { key: "user", change: "new" },
      { key: "{{ password }}", change: "leaving" },
    ]);
  });

  test("of another vault is replaced", async () => {
    const other = "https://other.example.com";
    const spec = { ...password, connectionRef: { name: "vault" } };
    const elsewhere = { ...connection(other), metadata: { ...connection().metadata, name: "old" } };
    const before = live({ spec: { ...password, connectionRef: { name: "old" } } });
    expect(await keysOf({ spec, objects: [connection(), elsewhere, before] })).toEqual([follows]);
    expect(
      await keysOf({ spec, vault: { db: 3 }, objects: [connection(), elsewhere, before] }),
    ).toMatchObject([{ served: 3, version: 3, change: "content" }]);
  });
});

describe("a resource", () => {
  test.each<[string, readonly KubeObject[]]>([
    ["that the cluster lacks", []],
    ["without a status", [{ ...live(), status: undefined }]],
    ["with a malformed status", [{ ...live(), status: { items: "none" } }]],
  ])("%s gets all its keys", async (_, objects) => {
    expect(await keysOf({ spec: gated, objects })).toEqual([
      { key: "password", version: 5, change: "new", author: "user5@example.com" },
    ]);
  });

  test("with another target fills that, and its former target leaves", async () => {
    const { keys, restarts } = await planned({
      spec: { ...password, target: { name: "other" } },
      objects: [live(), deployment("web")],
    });
    expect(keys.map(({ target, change }) => [target, change])).toEqual([
      ["Secret/other", "new"],
      ["Secret/db", "leaving"],
    ]);
    expect(restarts).toEqual([]);
    const spec = { ...password, target: { name: "other", creationPolicy: "Orphan" } };
    expect(await keysOf({ spec })).toMatchObject([{ key: "password", change: "new" }]);
  });

  test("whose status does not show all keys has unknown ones", async () => {
    const objects = [live({ status: { itemsOmitted: 2 } })];
    const spec = data(["password", reference("db")], ["more", reference("db")]);
    expect(await keysOf({ spec, objects })).toMatchObject([
      { key: "password", change: "version" },
      { key: "more", change: "unknown", version: 5 },
    ]);
  });

  test("that is suspended, or that misses a source, keeps its target", async () => {
    expect(await keysOf({ spec: { ...password, suspend: true } })).toEqual([
      { key: "password", served: 3, version: 3, change: "none", waitsFor: "Suspended" },
    ]);
    const spec = data(["password", reference("db")], ["user", reference("absent")]);
    const { keys, problems } = await planned({ spec, objects: [] });
    expect(keys.map(factsOf)).toEqual([
      { key: "password", change: "none", waitsFor: "SourceMissing" },
      { key: "user", change: "none", waitsFor: "SourceMissing" },
    ]);
    expect(problems).toMatchObject([{ message: expect.stringContaining("is not created") }]);
    const existing = await planned({ spec, objects: [live()] });
    expect(existing.problems).toMatchObject([{ message: expect.not.stringContaining("created") }]);
  });

  test("whose vault lists lower versions than the target has is a problem", async () => {
    const { keys, problems } = await planned({ vault: { db: 2 } });
    expect(keys.map(factsOf)).toEqual([{ key: "password", served: 3, version: 3, change: "none" }]);
    expect(problems).toMatchObject([{ file: "db.yaml", message: expect.stringContaining("2") }]);
    const annotations = { "vaultsync.dev/accept": "db@2" };
    expect(await keysOf({ vault: { db: 2 }, annotations })).toMatchObject([
      { served: 3, version: 2, change: "version" },
    ]);
  });

  test("leaves also if a long status does not show it", async () => {
    const spec = data(["password", reference("db")], ["gone", reference("old")]);
    const objects = [live({ spec, status: { itemsOmitted: 1 } })];
    for (const offline of [false, true]) {
      const { keys } = await planned({ objects, offline, vault: { db: 3, old: 1 } });
      expect(keys.map(({ key, source, change }) => ({ key, source, change }))).toEqual([
        { key: "password", source: "db", change: offline ? "unknown" : "none" },
        { key: "gone", source: "old", change: "leaving" },
      ]);
    }
  });

  test("is compared without the vault as far as its manifest shows versions", async () => {
    const spec = data(
      ["password", reference("db")],
      ["pinned", reference("db", { version: 2 })],
      ["new", reference("db")],
    );
    const items = ["password", "pinned", "gone"].map((key) => shown(key, "db", 3));
    const rule = { dataFrom: [{ find: { name: { regexp: "^d" } } }] };
    const found = live({ spec: rule, items: [shown("db", "db", 3)] });
    const objects = [found, deployment("web")];
    const before = await planned({ spec: rule, objects, offline: true });
    expect(before.keys.map(factsOf)).toEqual([
      { key: "db", served: 3, change: "unknown" },
      { key: "dataFrom[0]" },
    ]);
    expect(before.restarts).toEqual([]);
    const other = { dataFrom: [{ find: { name: { regexp: "^e" } } }] };
    expect(await keysOf({ spec: other, objects, offline: true })).toEqual([
      { key: "dataFrom[0]" },
      { key: "db", served: 3, change: "leaving" },
    ]);
    expect(await keysOf({ spec, objects: [live({ items })], offline: true })).toEqual([
      { key: "password", served: 3, change: "unknown" },
      { key: "pinned", served: 3, version: 2, change: "version" },
      { key: "new", change: "new" },
      { key: "gone", served: 3, change: "leaving" },
    ]);
  });
});

describe("a target that another resource of the cluster has", () => {
  const status = { target: { kind: "Secret", name: "db", digest: "digest" } };
  const other = (spec: object = {}, metadata: object = {}, of: object = status): KubeObject => {
    const object = live({
      spec: { ...password, target: { name: "db" }, ...spec },
      status: of,
    });
    return { ...object, metadata: { ...object.metadata, name: "other", ...metadata } };
  };

  test("is a conflict", async () => {
    const { problems } = await planned({ objects: [other()] });
    expect(problems.map(({ message }) => message)).toEqual([
      "spec.target.name: the VaultSecret other of the cluster has this target: choose another name",
    ]);
  });

  test("is a conflict also if that one is cluster-scoped", async () => {
    const selecting = clusterSecret("db", { spec: { namespaces: ["shop"] } });
    const { problems } = await planned({ objects: [selecting] });
    expect(problems.map(({ message }) => message)).toEqual([
      "spec.target.name: the ClusterVaultSecret db of the cluster has this target: choose another name",
    ]);
    const denied = ["clustervaultsecrets"];
    expect(await planned({ objects: [selecting], denied })).toMatchObject({ problems: [] });
  });

  test.each<[string, object, KubeObject]>([
    [
      "the other one is being deleted",
      {},
      other({}, { deletionTimestamp: "2026-11-21T00:00:00Z" }),
    ],
    [
      "the other one does not own it",
      {},
      other({ target: { name: "db", creationPolicy: "Merge" } }),
    ],
    ["the other one never had it", {}, other({}, {}, { target: undefined })],
    ["this one merges keys into it", { target: { creationPolicy: "Merge" } }, other()],
    [
      "a cluster-scoped one does not select the namespace",
      {},
      clusterSecret("db", { spec: { namespaces: ["blog"], namespaceSelector: undefined } }),
    ],
    [
      "a cluster-scoped one is not in sync there",
      {},
      clusterSecret("db", {
        spec: { namespaces: ["shop"] },
        status: {
          namespaces: { selected: 1, ready: 0, failed: 1 },
          failures: [{ namespace: "shop", reason: "TargetConflict", message: "of another one" }],
        },
      }),
    ],
  ])("is none if %s", async (_, spec, object) => {
    const { problems } = await planned({ spec: { ...password, ...spec }, objects: [object] });
    expect(problems).toEqual([]);
  });
});
