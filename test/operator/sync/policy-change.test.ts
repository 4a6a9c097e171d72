import { describe, expect, test } from "vitest";
import { ClusterControllers } from "../../lab/simulated/api-server/cluster-controllers.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { KubeError } from "../../../src/operator/kube/kube-error.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";

const ref = { namespace: "shop", name: "db" };
const data = { user: "user", password: "db" };
const encoded = (text: string): string => Buffer.from(text).toString("base64");

/** Starts an operator that has synced `db` under a policy. */
async function synced(creationPolicy: string): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop();
  const cluster = new ClusterControllers(scene.server);
  scene.server.onCommit(() => cluster.wake());
  scene.vault().lists({ name: "db" }, { name: "user" });
  scene.follow(data, { target: { creationPolicy } });
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1 user=vault user@1, Synced");
  return scene;
}

async function change(
  scene: SimulatedWorld,
  target: object,
  keys: Readonly<Record<string, string>> = data,
): Promise<void> {
  scene.follow(keys, { target });
  await scene.settle();
}

const marksOf = (scene: SimulatedWorld): string[] => {
  const {
    labels = {},
    annotations = {},
    ownerReferences = [],
  } = scene.server.get(SECRETS, ref).metadata;
  return [
    ...Object.keys(labels),
    ...Object.keys(annotations),
    ...ownerReferences.map(({ kind }) => kind),
  ];
};
const MERGED = ["vaultsync.dev/merged", "merge.vaultsync.dev/vaultsecret.db"];

describe.each(["Owner", "Orphan"])("a change of creationPolicy from %s to Merge", (policy) => {
  test("releases the target and continues with its keys as merged ones", async () => {
    await using scene = await synced(policy);
    const uid = scene.target()?.metadata.uid;
    await change(scene, { creationPolicy: "Merge" });
    expect(scene.outcome()).toBe("password=vault db@1 user=vault user@1, Synced");
    expect(marksOf(scene)).toEqual(MERGED);
    expect(scene.target()?.metadata.uid).toEqual(uid);
    scene.vault().lists({ name: "db", version: 2 }, { name: "user" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2 user=vault user@1, Synced");
    await change(scene, { creationPolicy: "Merge" }, { password: "db" });
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
  });

  test("keeps the Secret when the resource is deleted after that", async () => {
    await using scene = await synced(policy);
    await change(scene, { creationPolicy: "Merge" });
    scene.server.delete(vaultSecretKind, ref);
    await scene.settle(60_000);
    expect(scene.target()).toBeDefined();
  });

  test("keeps a key whose source is missing, and removes it when the spec omits it", async () => {
    await using scene = await synced(policy);
    scene.vault().lists({ name: "db" });
    await scene.settle();
    await change(scene, { creationPolicy: "Merge" });
    expect(scene.outcome()).toBe("password=vault db@1 user=vault user@1, SourceMissing");
    expect(marksOf(scene)).toEqual(MERGED);
    await change(scene, { creationPolicy: "Merge" }, { password: "db" });
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  });

  test("keeps a key that a user edited before, and names the manager", async () => {
    await using scene = await synced(policy);
    await scene.stop();
    scene.edit({ password: "edited" });
    scene.follow(data, { target: { creationPolicy: "Merge" } });
    await scene.replace();
    expect(scene.outcome()).toBe("password=edited user=vault user@1, TargetConflict");
    expect(scene.condition("Ready")?.message).toContain("password (kubectl)");
  });

  test("is completed after a process ended between its two writes", async () => {
    await using scene = await synced(policy);
    let patches = 0;
    scene.network = {
      send: ({ verb, resource }) => {
        if (verb === "patch" && resource === SECRETS && ++patches > 1)
          throw new KubeError({ kind: "Unavailable", operation: "patch" });
      },
    };
    await change(scene, { creationPolicy: "Merge" });
    await scene.stop();
    scene.network = {};
    await scene.replace();
    expect(scene.outcome()).toBe("password=vault db@1 user=vault user@1, Synced");
    expect(marksOf(scene)).toEqual(MERGED);
    scene.vault().lists({ name: "db", version: 2 }, { name: "user" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2 user=vault user@1, Synced");
  });

  test("ends although the watch shows only its first write for a minute", async () => {
    await using scene = await synced(policy);
    let patches = 0;
    scene.network = {
      watchLagMs: () => 60_000,
      send: async ({ verb, resource, signal }) => {
        if (verb !== "patch" || resource !== SECRETS || ++patches !== 2) return;
        await scene.clock.sleep(10, signal);
        for (const watch of scene.server.watches(SECRETS)) watch.drop();
      },
    };
    await change(scene, { creationPolicy: "Merge" });
    await scene.settle(120_000);
    expect(scene.outcome()).toBe("password=vault db@1 user=vault user@1, Synced");
    expect(marksOf(scene)).toEqual(MERGED);
    expect(scene.takeRequests().length).toBeLessThan(20);
  });

  test("back again before it was completed leaves no merged keys behind", async () => {
    await using scene = await synced(policy);
    let patches = 0;
    scene.network = {
      send: ({ verb, resource }) => {
        if (verb === "patch" && resource === SECRETS && ++patches > 1)
          throw new KubeError({ kind: "Unavailable", operation: "patch" });
      },
    };
    await change(scene, { creationPolicy: "Merge" });
    scene.network = {};
    await change(scene, { creationPolicy: policy });
    expect(scene.outcome()).toBe("password=vault db@1 user=vault user@1, Synced");
    expect(marksOf(scene).filter((mark) => MERGED.includes(mark))).toEqual([]);
  });
});

describe("a change of creationPolicy to Merge together with the name of the target", () => {
  const other = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: "shop", name: "other" },
  };

  test("deletes the former target of Owner", async () => {
    await using scene = await synced("Owner");
    scene.server.create(SECRETS, { ...other, data: { own: encoded("theirs") } });
    await change(scene, { creationPolicy: "Merge", name: "other" });
    expect(scene.target()).toBeUndefined();
    expect(Object.keys(scene.target("other")?.data ?? {}).sort()).toEqual([
      "own",
      "password",
      "user",
    ]);
    expect(scene.condition("Ready")?.reason).toBe("Synced");
  });

  test("releases the former target of Orphan", async () => {
    await using scene = await synced("Orphan");
    scene.server.create(SECRETS, { ...other, data: { own: encoded("theirs") } });
    await change(scene, { creationPolicy: "Merge", name: "other" });
    expect(Object.keys(scene.target()?.data ?? {}).sort()).toEqual(["password", "user"]);
    expect(marksOf(scene)).toEqual([]);
  });

  test("leaves the former target unchanged while the other one does not exist", async () => {
    await using scene = await synced("Owner");
    await change(scene, { creationPolicy: "Merge", name: "other" });
    expect(scene.outcome()).toBe("password=vault db@1 user=vault user@1, TargetMissing");
    expect(marksOf(scene).at(-1)).toBe("VaultSecret");
  });
});

describe.each(["Owner", "Orphan"])("a change of creationPolicy from Merge to %s", (policy) => {
  /** Starts an operator that has merged the key `password` into an object of a user. */
  async function merged(): Promise<SimulatedWorld> {
    const scene = await SimulatedWorld.shop("db");
    scene.server.create(SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: ref,
      data: { own: encoded("theirs") },
    });
    scene.follow({ password: "db" }, { target: { creationPolicy: "Merge" } });
    await scene.settle();
    scene.follow({ password: "db" }, { target: { creationPolicy: policy } });
    await scene.settle();
    return scene;
  }

  test("leaves the object to its owners and says so", async () => {
    await using scene = await merged();
    expect(scene.outcome()).toBe("own=theirs password=vault db@1, TargetConflict");
    expect(scene.condition("Ready")?.message).toBe(
      "the Secret db already exists and belongs to others, to whom it stays although creationPolicy is not Merge any more: set creationPolicy to Merge, " +
        "choose another target.name, or hand it over with the annotation vaultsync.dev/adopt: VaultSecret/db",
    );
  });

  test("continues with the merged keys when it is Merge again", async () => {
    await using scene = await merged();
    scene.vault().lists({ name: "db", version: 2 });
    scene.follow({ password: "db" }, { target: { creationPolicy: "Merge" } });
    await scene.settle();
    expect(scene.outcome()).toBe("own=theirs password=vault db@2, Synced");
  });

  test("makes the object the target when its owner hands it over", async () => {
    await using scene = await merged();
    scene.server.patch(SECRETS, ref, {
      metadata: { annotations: { "vaultsync.dev/adopt": "VaultSecret/db" } },
      data: { own: null },
    });
    await scene.settle(31_000);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    expect(marksOf(scene).filter((mark) => MERGED.includes(mark))).toEqual([]);
  });
});
