import { describe, expect, test } from "vitest";
import { planOf } from "./planned-resource.ts";
import { KubeError } from "../../kube/kube-error.ts";
import { readCluster } from "./read-cluster.ts";
import type { KubeClient } from "../../kube/client/kube-client.ts";
import {
  connection,
  deployment,
  gated,
  keysOf,
  live,
  manifestOf,
  password,
  planned,
  type Scene,
  unchanged,
} from "../../../../test/lab/kube/compared-plan.ts";

describe("a workload", () => {
  const rolloutRestart = [{ kind: "Deployment", name: "web" }];
  const objects = [
    live(),
    deployment("web"),
    deployment("other"),
    deployment("auto", { "vaultsync.dev/restart": "auto" }),
  ];

  test("that uses a changed target is restarted as the manifest says", async () => {
    const { restarts } = await planned({ spec: { ...password, rolloutRestart }, objects });
    expect(restarts).toEqual([
      expect.objectContaining({ workload: "deployment/web", restart: "rolloutRestart" }),
      expect.objectContaining({ workload: "deployment/other", restart: "none" }),
      {
        namespace: "shop",
        resource: "vaultsecret/db",
        target: "Secret/db",
        workload: "deployment/auto",
        restart: "auto",
      },
    ]);
  });

  test("is not restarted if no key changes, or by a first content", async () => {
    expect((await planned({ objects, vault: { db: 3 } })).restarts).toEqual([]);
    expect((await planned({ objects: objects.slice(1) })).restarts).toEqual([]);
  });
});

describe("what the user may not read", () => {
  test.each<[string, Scene, readonly (RegExp | string)[]]>([
    [
      "resources",
      { denied: ["vaultsecrets"] },
      [
        "the resources in namespace shop are not compared with the cluster: you may not list its VaultSecrets and VaultFiles",
      ],
    ],
    [
      "workloads",
      { denied: ["pods", "deployments"] },
      ["restarts in namespace shop are not all shown: you may not list deployments, pods"],
    ],
    [
      "connections",
      { denied: ["vaultconnections"] },
      [
        "you may not read VaultConnection shop/vault: neither its access nor the references through it are checked",
      ],
    ],
    [
      "freezes",
      { denied: ["configmaps"] },
      [
        "vaultsecret/db in namespace shop may wait for a freeze: you may not read the ConfigMap vaultsync-freeze in namespace vaultsync-system",
      ],
    ],
    ["freezes, if nothing can wait for one", { denied: ["configmaps"], spec: gated }, []],
    ["namespaces, if nothing depends on them", { denied: ["namespaces"] }, []],
  ])("is noted: %s", async (_, scene, notes) => {
    const { notChecked, problems } = await planned(scene);
    expect(notChecked).toEqual(notes);
    expect(problems).toEqual([]);
  });

  test("is no matter if the files have it: a connection of the files comes first", async () => {
    const other = connection("https://other.example.com");
    const scene = { file: connection(), denied: ["vaultconnections"], vault: { db: 3 } };
    expect(await planned(scene)).toMatchObject({ keys: [unchanged], notChecked: [] });
    const elsewhere = await planned({ file: other });
    expect(elsewhere.notChecked).toEqual([
      "references of VaultConnection shop/vault are not checked: log in to https://other.example.com as ops@example.com",
    ]);
  });

  test("does not hide the versions of the vault", async () => {
    expect(await keysOf({ denied: ["vaultsecrets"] })).toEqual([{ key: "password", version: 5 }]);
  });

  test("is no other failure: an API server that does not respond ends the command", async () => {
    const api = {
      list: () => {
        throw new KubeError({ kind: "Unavailable", operation: "list" });
      },
      getMetadata: () => Promise.reject(new KubeError({ kind: "Unavailable", operation: "get" })),
    } as unknown as KubeClient;
    const spec = { connectionRef: { name: "vault" }, ...password };
    const plan = planOf([manifestOf(spec)], [], []);
    const { signal } = new AbortController();
    await expect(readCluster({ api }, plan, "vaultsync-system", signal)).rejects.toThrow(KubeError);
  });
});
