import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { healthOf } from "./support/health.ts";
import { World } from "../lab/real/world.ts";
import { bytesOf, condition, vaultSecret } from "../lab/real/resources.ts";

/**
 * Synchronization of Secrets by an operator process that has only the permissions of deploy/base.
 */
let world: World;
const values = new Map<string, string>();
beforeAll(async () => {
  world = await World.create();
  await world.startOperator();
  for (const name of ["edited", "deleted"]) {
    values.set(name, world.canaries.text(name));
    await world.protect(name, values.get(name) ?? "");
    await world.apply(vaultSecret(name, { password: name }));
    await world.ready("VaultSecret", name);
  }
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

const exposes = (): Promise<number> =>
  world.vault.metric('vaultsync_vault_requests_total{operation="version_expose",status="200"}');

test("a Secret is created and follows new versions except for pinned keys", async () => {
  const first = world.canaries.text("first");
  const second = world.canaries.text("second");
  await world.protect("follow", first);
  await world.apply(
    vaultSecret("follow", { current: "follow", pinned: { key: "follow", version: 1 } }),
  );
  await world.ready("VaultSecret", "follow");
  const created = await world.until("Secret", "follow", () => true);
  expect(bytesOf(created, "current")?.toString()).toBe(first);
  expect(created.metadata.annotations["vaultsync.dev/versions"]).toBe('{"current":1,"pinned":1}');

  await world.protect("follow", second);
  const updated = await world.has("follow", "current", second);
  expect(bytesOf(updated, "pinned")?.toString()).toBe(first);
  const resource = await world.until(
    "VaultSecret",
    "follow",
    (one) => condition(one, "UpdateAvailable")?.status === "True",
  );
  expect(condition(resource, "UpdateAvailable")?.message).toContain("follow 1 → 2");
});

// The next two tests wait for a minute each, at the same time.
test.concurrent("a delete_time removes the key on time, and the Secret with its last key", async () => {
  const started = Date.now();
  await world.protect("short", world.canaries.text("short"), { delete_time: 1 });
  await world.protect("long", world.canaries.text("long"));
  await world.apply(
    vaultSecret("both", { short: "short", long: "long" }),
    vaultSecret("only", { short: "short" }),
  );
  await world.ready("VaultSecret", "both");
  await world.ready("VaultSecret", "only");

  const both = await world.until("Secret", "both", (secret) => !("short" in secret.data), 80_000);
  expect(Date.now() - started).toBeGreaterThan(60_000);
  expect(Object.keys(both.data)).toEqual(["long"]);
  await world.gone("Secret", "only");
  const resource = await world.untilReason("VaultSecret", "only", "SourceRemoved");
  expect(condition(resource, "Ready")?.status).toBe("False");
  expect(await healthOf([resource])).toMatchObject([
    { kstatus: { status: "InProgress" }, argo: { status: "Progressing" } },
  ]);

  const back = world.canaries.text("back");
  await world.protect("short", back);
  const made = await world.until("Secret", "only", () => true);
  expect(bytesOf(made, "short")?.toString()).toBe(back);
});

test.concurrent("a foreign Secret is left unchanged, and the target is created once it is deleted", async () => {
  await world.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "theirs" },
    stringData: { mine: "kept" },
  });
  const value = world.canaries.text("theirs");
  await world.protect("theirs", value);
  await world.apply(vaultSecret("theirs", { password: "theirs" }));
  const resource = await world.untilReason("VaultSecret", "theirs", "TargetConflict");
  expect(condition(resource, "Stalled")?.status).toBe("True");
  // The operator has reconciled the resource more than once.
  await sleep(35_000);
  expect(Object.keys((await world.get("Secret", "theirs"))?.data ?? {})).toEqual(["mine"]);
  await world.plane.kubectl(["delete", "secret", "theirs"], { namespace: world.namespace });
  const ours = await world.until("Secret", "theirs", (secret) => "password" in secret.data, 60_000);
  expect(bytesOf(ours, "password")?.toString()).toBe(value);
});

// The targets of the next two tests were written long ago: only the watch of targets can notify the
// operator.
test("an external change of a Secret is reverted without a request to the vault", async () => {
  const before = await exposes();
  const value = values.get("edited")!;
  const patch = {
    data: { password: Buffer.from("wrong").toString("base64"), extra: "eA==" },
    metadata: { labels: { mine: "kept" } },
  };
  const { code } = await world.plane.kubectl(
    ["patch", "secret", "edited", "--type=merge", "-p", JSON.stringify(patch)],
    {
      namespace: world.namespace,
    },
  );
  expect(code).toBe(0);
  const repaired = await world.has("edited", "password", value);
  expect(Object.keys(repaired.data)).toEqual(["password"]);
  expect(repaired.metadata["labels"]).toMatchObject({ mine: "kept" });
  expect(await exposes()).toBe(before);
});

test("a deleted target is recreated without a request to the vault", async () => {
  const before = await exposes();
  const deleted = await world.until("Secret", "deleted", () => true);
  await world.plane.kubectl(["delete", "secret", "deleted", "--wait=false"], {
    namespace: world.namespace,
  });
  const again = await world.until(
    "Secret",
    "deleted",
    (secret) => secret.metadata.uid !== deleted.metadata.uid,
  );
  expect(bytesOf(again, "password")?.toString()).toBe(values.get("deleted"));
  expect(await exposes()).toBe(before);
});

test("a source that is no longer listed is reported and keeps its key; other keys are synced", async () => {
  const kept = world.canaries.text("kept");
  await world.protect("leaves", kept, { metadata: { environment_type: "prod" } });
  await world.protect("stays", world.canaries.text("stays 1"));
  await world.apply(vaultSecret("partly", { leaves: "leaves", stays: "stays" }));
  await world.ready("VaultSecret", "partly");
  // The scope of the connection no longer includes it: the list does not contain it.
  await world.plane.kubectl(
    [
      "patch",
      "vaultconnection",
      "vault",
      "--type=merge",
      "-p",
      '{"spec":{"scope":{"environmentType":["dev"]}}}',
    ],
    { namespace: world.namespace },
  );
  await world.untilReason("VaultSecret", "partly", "SourceMissing");
  const followed = world.canaries.text("stays 2");
  await world.protect("stays", followed);
  const secret = await world.has("partly", "stays", followed);
  expect(bytesOf(secret, "leaves")?.toString()).toBe(kept);
  await world.plane.kubectl(
    ["patch", "vaultconnection", "vault", "--type=merge", "-p", '{"spec":{"scope":null}}'],
    {
      namespace: world.namespace,
    },
  );
  await world.ready("VaultSecret", "partly");
});

test("a deleted resource removes its target, and a renamed target leaves no orphan", async () => {
  await world.protect("renamed", world.canaries.text("renamed"));
  await world.apply(vaultSecret("renamed", { password: "renamed" }, { name: "before" }));
  await world.ready("VaultSecret", "renamed");
  await world.apply(vaultSecret("renamed", { password: "renamed" }, { name: "after" }));
  await world.until("Secret", "after", () => true);
  await world.gone("Secret", "before");
  await world.plane.kubectl(["delete", "vaultsecret", "renamed"], { namespace: world.namespace });
  await world.gone("Secret", "after");
});

test("a target without its label, which the watch does not show, is repaired and synced", async () => {
  const value = world.canaries.text("unlabelled");
  await world.protect("unlabelled", value);
  await world.apply(vaultSecret("unlabelled", { password: "unlabelled" }));
  await world.ready("VaultSecret", "unlabelled");
  await world.plane.kubectl(["label", "secret", "unlabelled", "app.kubernetes.io/managed-by-"], {
    namespace: world.namespace,
  });
  const label = { "app.kubernetes.io/managed-by": "vaultsync" };
  await world.until(
    "Secret",
    "unlabelled",
    ({ metadata }) => JSON.stringify(metadata["labels"]) === JSON.stringify(label),
  );
  const patch = JSON.stringify({ data: { password: Buffer.from("wrong").toString("base64") } });
  await world.plane.kubectl(["patch", "secret", "unlabelled", "--type=merge", "-p", patch], {
    namespace: world.namespace,
  });
  await world.has("unlabelled", "password", value);
});

test("an empty version after a non-empty one is not synced until a user accepts it", async () => {
  const value = world.canaries.text("emptied");
  await world.protect("emptied", value);
  await world.apply(vaultSecret("emptied", { password: "emptied" }));
  await world.ready("VaultSecret", "emptied");
  await world.protect("emptied", "");
  await world.untilReason("VaultSecret", "emptied", "SourceSuspicious");
  expect(bytesOf((await world.get("Secret", "emptied"))!, "password")?.toString()).toBe(value);
  await world.plane.kubectl(
    ["annotate", "vaultsecret", "emptied", "vaultsync.dev/accept=emptied@2"],
    {
      namespace: world.namespace,
    },
  );
  await world.until("Secret", "emptied", (one) => bytesOf(one, "password")?.byteLength === 0);
  await world.ready("VaultSecret", "emptied");
});

test("no value appears in logs, events, statuses, annotations or metrics", async () => {
  const output = await world.operatorOutput();
  expect(output["log 0"]).toContain("caches synced");
  expect(output["events"]).toContain("TargetUpdated");
  expect(output["metrics"]).toContain("vaultsync_reconciles_total");
  expect(world.canaries.tracesIn(output)).toEqual([]);
});
