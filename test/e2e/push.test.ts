import { afterAll, beforeAll, expect, test } from "vitest";
import { startApiProxy } from "../faults/support/api-proxy.ts";
import type { FaultProxy } from "../lab/real/fault-proxy.ts";
import { World } from "../lab/real/world.ts";
import { condition, vaultPush, vaultSecret } from "../lab/real/resources.ts";

/**
 * VaultPushes on a real API server and a real vault, and an operator that is killed between a push
 * and its report.
 */
let world: World;
let proxy: FaultProxy;
beforeAll(async () => {
  const started = await startApiProxy();
  proxy = started.proxy;
  world = await World.create(started.api);
  await world.startOperator();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

const toSecret = (key: string) => [{ secretKey: "password", remoteRef: { key } }];

const kubectl = (...args: string[]): Promise<string> =>
  world.plane.kubectlOutput(args, { namespace: world.namespace });

/** Creates or changes a Secret, and returns its value. */
async function source(name: string, type = "Opaque"): Promise<string> {
  const password = world.canaries.text(`${name} ${type}`);
  await world.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    type,
    stringData: { password },
  });
  return password;
}

/** Returns the values of all versions of a secret of the vault. */
async function versions(name: string): Promise<string[]> {
  const listed = await world.caller.call("version_list", { key_name: name });
  if (listed.status !== 200) return [];
  const numbers: number[] = listed
    .json()
    .versions.map((one: { key_version: number }) => one.key_version);
  return Promise.all(
    numbers.map(async (key_version) => {
      const exposed = await world.caller.call("version_expose", { key_name: name, key_version });
      return exposed.json().key_value as string;
    }),
  );
}

test("a Secret is pushed once, and again when it changes; a change in the vault is overwritten", async () => {
  const one = await source("generated");
  const entries = [
    ...toSecret("generated"),
    { secretKey: "password", file: { filename: "generated.txt" } },
  ];
  await world.apply(vaultPush("generated", entries));
  await world.ready("VaultPush", "generated");
  expect(await versions("generated")).toEqual([one]);
  expect(
    (await world.caller.call("download_file", { filename: "generated.txt" })).bytes.toString(),
  ).toBe(one);
  const two = await source("generated");
  await expect.poll(() => versions("generated"), { timeout: 20_000 }).toEqual([one, two]);
  await world.protect("generated", "of a user");
  await expect
    .poll(() => versions("generated"), { timeout: 20_000 })
    .toEqual([one, two, "of a user", two]);
  await world.ready("VaultPush", "generated");
});

test("an operator that is killed between a push and its report does not push again", async () => {
  const value = await source("killed");
  // The status of the push never reaches the API server.
  proxy.inject(({ request, relay }) =>
    request.path.includes("/vaultpushes/killed/status") ? undefined : relay(),
  );
  await world.apply(vaultPush("killed", toSecret("killed")));
  await expect.poll(() => versions("killed"), { timeout: 20_000 }).toEqual([value]);
  await world.operator.stop("SIGKILL");
  await proxy.heal();
  // What the CRD sets for a resource that no operator has seen.
  expect((await world.get("VaultPush", "killed"))?.status).toEqual({
    conditions: [],
    observedGeneration: -1,
  });
  await world.startOperator();
  await world.ready("VaultPush", "killed");
  expect(await versions("killed")).toEqual([value]);
});

test("a VaultSecret of the same entry into the same Secret makes it a PushLoop", async () => {
  await source("loop");
  await world.apply(vaultPush("loop", toSecret("loop")));
  await world.ready("VaultPush", "loop");
  await world.apply(
    vaultSecret("reader", { password: "loop" }, { name: "loop", creationPolicy: "Merge" }),
  );
  await world.untilReason("VaultPush", "loop", "PushLoop");
  await kubectl("delete", "vaultsecret", "reader");
  await world.ready("VaultPush", "loop");
  expect(await versions("loop")).toHaveLength(1);
});

test("deletionPolicy Delete deletes what the VaultPush created, and keeps the rest", async () => {
  await world.protect("before", "of a user");
  await source("owned");
  await world.apply(
    vaultPush("owned", toSecret("owned"), { deletionPolicy: "Delete" }),
    vaultPush("kept", toSecret("before"), { deletionPolicy: "Delete", secret: { name: "owned" } }),
  );
  await world.ready("VaultPush", "owned");
  await world.ready("VaultPush", "kept");
  await kubectl("delete", "vaultpush", "owned", "kept", "--timeout=60s");
  expect(await versions("owned")).toEqual([]);
  expect((await versions("before")).length).toBe(2);
});

test("credentials are never pushed", async () => {
  await source("credentials", "vaultsync.dev/credentials");
  await world.apply(vaultPush("credentials", toSecret("credentials")));
  const pushed = await world.untilReason("VaultPush", "credentials", "InvalidSpec");
  expect(condition(pushed, "Ready")?.message).toContain("are never pushed");
  expect(await versions("credentials")).toEqual([]);
});

test("no value appears in logs, events, statuses or metrics", async () => {
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});

// The last test, because it deletes the namespace. Its controller deletes the connection,
// its credentials and the VaultPush in any order.
test("the deletion of the namespace deletes the entries of its VaultPushes", async () => {
  await source("preview");
  await world.apply(vaultPush("preview", toSecret("preview"), { deletionPolicy: "Delete" }));
  await world.ready("VaultPush", "preview");
  expect(await versions("preview")).toHaveLength(1);
  await world.plane.kubectlOutput(["delete", "namespace", world.namespace, "--timeout=120s"]);
  expect(await versions("preview")).toEqual([]);
});
