import { afterAll, beforeAll, expect, test } from "vitest";
import { bytesOf, vaultSecret, World } from "./support/world.ts";

/** The commands of docs/operator.md#uninstall, in a namespace of their own instead of the whole cluster. */
let world: World;
let value: string;
beforeAll(async () => {
  world = await World.create();
  value = world.canaries.text("kept");
  await world.protect("kept", value);
  await world.apply(vaultSecret("kept", { password: "kept" }), vaultSecret("removed", { password: "kept" }));
  await world.startOperator();
  await world.ready("VaultSecret", "kept");
  await world.ready("VaultSecret", "removed");
});
afterAll(() => world[Symbol.asyncDispose]());

async function kubectl(...args: string[]): Promise<void> {
  const { code, stderr } = await world.plane.kubectl(args, { namespace: world.namespace });
  expect(code, stderr).toBe(0);
}

test("a target stays when the operator is gone and its resource is deleted with --cascade=orphan", async () => {
  await world.operator.stop();
  await kubectl("delete", "vaultsecret", "kept", "--cascade=orphan");
  await kubectl("delete", "vaultsecret", "removed");
  // Garbage collection has reached the other target, so it would have reached this one.
  await world.gone("Secret", "removed", 60_000);
  const target = await world.until("Secret", "kept", ({ metadata }) => metadata.ownerReferences === undefined);
  expect(bytesOf(target, "password")?.toString()).toBe(value);
});
