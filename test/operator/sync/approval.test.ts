import { describe, expect, test } from "vitest";
import { OPERATOR_NAMESPACE } from "../../lab/simulated/simulated-operator.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { CONFIG_MAPS } from "../../../src/operator/kube/resource.ts";
import {
  list,
  mergedValue,
  removeAtDeadline,
  update,
  withAnotherName,
  withMergedVersion,
} from "./gated-targets.ts";

const MINUTE = 60_000;
const updates = { approval: "Required" };
const both = { password: "db", user: "user" };

/** Starts an operator that has synced version 1 of these secrets, with approvals. */
async function approved(
  data: Readonly<Record<string, string>> = both,
  spec: object = {},
): Promise<SimulatedWorld> {
  const names = Object.values(data).map((name) => ({ name }));
  return SimulatedWorld.following(names, data, { updates, ...spec });
}

const digest = (scene: SimulatedWorld): string => scene.status().approvalDigest ?? "none";

async function approve(scene: SimulatedWorld, text = digest(scene)): Promise<string> {
  scene.annotate({ "vaultsync.dev/approve": text });
  await scene.settle();
  return scene.outcome();
}

const entry = (secretKey: string, key: string) => ({ secretKey, remoteRef: { key } });
const OLD = "password=vault db@1 user=vault user@1, Synced";

describe("a resource with approvals", () => {
  test("is created, then waits with all keys, and costs one status", async () => {
    await using scene = await approved();
    scene.takeRequests();
    expect(await list(scene, 2, 3)).toBe(OLD);
    expect(scene.takeRequests()).toEqual(["update vaultsecrets db"]);
    expect(update(scene)?.reason).toBe("AwaitingApproval");
    expect(update(scene)?.message).toBe(
      `newer versions that wait for an approval (vaultsync approve vaultsecret/db, or the annotation vaultsync.dev/approve=${digest(scene)}): db 1 → 2, user 1 → 3`,
    );
    await scene.settle(60 * MINUTE);
    expect(scene.takeRequests()).toEqual([]);
    expect(await approve(scene)).toBe("password=vault db@2 user=vault user@3, Synced");
    expect(scene.takeRequests()).toEqual(["patch secrets db", "update vaultsecrets db"]);
    expect(update(scene)).toBeUndefined();
    expect(digest(scene)).toBe("none");
  });

  test("whose edit could not be applied yet is not in sync, and needs no approval for it", async () => {
    await using scene = await approved();
    // The value of db has no members, and the vault has no secret of the other name.
    const member = { secretKey: "other", remoteRef: { key: "db", property: "/a" }, optional: true };
    const data = [member, { ...entry("user", "absent"), optional: true }];
    const target = { creationPolicy: "Orphan" };
    scene.follow({}, { updates, data, target });
    await scene.settle();
    const kept = "password=vault db@1 user=vault user@1, InvalidProperty";
    expect(scene.outcome()).toBe(kept);
    await scene.settle(60 * MINUTE);
    expect(scene.outcome()).toBe(kept);
    scene.follow({}, { updates, data: [entry("other", "db")], target });
    await scene.settle();
    expect(scene.outcome()).toBe("other=vault db@1, Synced");
    expect(scene.target()?.metadata.ownerReferences).toBeUndefined();
  });

  test("needs another approval for newer versions, and keeps one that it has", async () => {
    await using scene = await approved();
    await list(scene, 2, 1);
    const first = digest(scene);
    await list(scene, 3, 1);
    expect(digest(scene)).not.toBe(first);
    expect(await approve(scene, first)).toBe(OLD);
    expect(await approve(scene, "*")).toBe(OLD);
    expect(await approve(scene)).toBe("password=vault db@3 user=vault user@1, Synced");
    await scene.replace();
    scene.edit({ password: "edited" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@3 user=vault user@1, Synced");
    expect(await list(scene, 4, 1)).toBe("password=vault db@3 user=vault user@1, Synced");
  });

  test("waits over a restart, and an approval in between counts", async () => {
    await using scene = await approved();
    await list(scene, 2, 2);
    await scene.replace();
    expect(scene.outcome()).toBe(OLD);
    const text = digest(scene);
    await scene.stop();
    scene.annotate({ "vaultsync.dev/approve": text });
    await scene.replace();
    expect(scene.outcome()).toBe("password=vault db@2 user=vault user@2, Synced");
  });

  test("is repaired with the versions that it had, also if its target is deleted", async () => {
    await using scene = await approved();
    await list(scene, 2, 2);
    scene.deleteTarget();
    await scene.settle();
    expect(scene.outcome()).toBe(OLD);
  });

  test("follows a changed spec, and waits again", async () => {
    await using scene = await approved();
    await list(scene, 2, 2);
    scene.follow({ ...both, other: "db" }, { updates });
    await scene.settle();
    const now = "other=vault db@2 password=vault db@2 user=vault user@2, Synced";
    expect(scene.outcome()).toBe(now);
    expect(await list(scene, 3, 2)).toBe(now);
    scene.follow({ ...both, other: "db" }, { updates: { approval: "None" } });
    await scene.settle();
    expect(scene.outcome()).toBe("other=vault db@3 password=vault db@3 user=vault user@2, Synced");
  });

  test("loses what the vault removes at its deadline", async () => {
    await using scene = await approved();
    await removeAtDeadline(scene);
    expect(scene.outcome()).toBe("user=vault user@1, SourceRemoved");
  });

  test("has neither names that a rule finds nor the next set of versions without approval", async () => {
    await using scene = await withAnotherName(updates);
    expect(scene.outcome()).toBe("app-a=vault app-a@1, Synced");
    expect(update(scene)?.message).toContain("app-b → 1");
    expect(await approve(scene)).toBe("app-a=vault app-a@1 app-b=vault app-b@1, Synced");
  });

  test("is held first, then frozen, then approved", async () => {
    await using scene = await approved();
    await list(scene, 2, 2);
    const text = digest(scene);
    const metadata = { namespace: OPERATOR_NAMESPACE, name: "vaultsync-freeze" };
    const until = new Date(scene.clock.now() + 60 * MINUTE).toISOString();
    const data = { until };
    scene.server.create(CONFIG_MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata, data });
    scene.annotate({ "vaultsync.dev/hold": "*", "vaultsync.dev/approve": text });
    await scene.settle();
    expect(update(scene)?.reason).toBe("Held");
    expect(digest(scene)).toBe("none");
    scene.annotate({ "vaultsync.dev/hold": null });
    await scene.settle();
    expect(update(scene)?.reason).toBe("Frozen");
    expect(scene.outcome()).toBe(OLD);
    scene.annotate({ "vaultsync.dev/approve": null });
    scene.server.delete(CONFIG_MAPS, metadata);
    await scene.settle();
    expect(update(scene)?.reason).toBe("AwaitingApproval");
    expect(await approve(scene)).toBe("password=vault db@2 user=vault user@2, Synced");
  });

  test("keeps the keys that it merges into a foreign object", async () => {
    await using scene = await withMergedVersion({ updates });
    expect(mergedValue(scene)).toBe("vault db@1");
    await approve(scene);
    expect(mergedValue(scene)).toBe("vault db@2");
  });
});

describe("approved versions", () => {
  test("that cannot be read keep all keys back, also over a restart", async () => {
    await using scene = await approved();
    await list(scene, 2, 2);
    scene.vault().unreadable.add("user");
    expect(await approve(scene)).toBe(OLD);
    expect(scene.condition("Reconciling")?.reason).toBe("VaultUnreachable");
    await scene.replace();
    expect(scene.outcome()).toBe(OLD);
    scene.vault().unreadable.clear();
    await scene.settle(6 * MINUTE);
    expect(scene.outcome()).toBe("password=vault db@2 user=vault user@2, Synced");
  });

  test("that the vault returns in part keep all keys back", async () => {
    await using scene = await approved();
    await list(scene, 2, 2);
    scene.vault().expose = (name) => (name === "db" ? { version: 1 } : {});
    expect(await approve(scene)).toBe(OLD);
    expect(scene.condition("Reconciling")?.reason).toBe("Progressing");
    scene.vault().expose = () => ({});
    await scene.settle(MINUTE);
    expect(scene.outcome()).toBe("password=vault db@2 user=vault user@2, Synced");
  });

  test("that do not fit a rule keep all keys back", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.vault().lists({ name: "db" }, { name: "user" });
    const validate = { pattern: "@1$" };
    const data = [entry("password", "db"), { ...entry("user", "user"), validate }];
    scene.follow({}, { data, updates });
    await scene.settle();
    await list(scene, 2, 2);
    expect(await approve(scene)).toBe("password=vault db@1 user=vault user@1, InvalidContent");
  });
});
