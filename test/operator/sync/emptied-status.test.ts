import { expect, test } from "vitest";
import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";

// Found by the simulation: the process that had trusted the status for its digest had no other.
test.each(["Owner", "Merge"])(
  "a status emptied after a restart shows the digest of the target again: %s",
  async (creationPolicy) => {
    await using scene = await SimulatedWorld.shop();
    const metadata = { namespace: "shop", name: "db" };
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      type: "Opaque",
      metadata,
      data: { other: "eA==" },
    };
    scene.vault().lists({ name: "db" });
    if (creationPolicy === "Merge") scene.server.create(SECRETS, secret);
    scene.follow({ password: "db" }, { target: { creationPolicy } });
    await scene.settle();
    const { target } = scene.status();
    expect(target?.digest).toMatch(/./u);
    await scene.replace();
    scene.server.replaceStatus(vaultSecretKind, scene.resource().metadata, {});
    await scene.settle();
    expect(scene.status().target).toEqual(target);
  },
);

const gates = {
  approval: { approval: "Required" },
  windows: { windows: [{ schedule: "0 2 * * *", duration: "1h" }] },
  freeze: undefined,
} as const;

test.each(Object.entries(gates))("an emptied status opens no gate: %s", async (gate, updates) => {
  await using scene = await SimulatedWorld.shop("db");
  scene.follow({ password: "db" }, updates && { updates });
  await scene.settle();
  if (gate === "freeze") scene.freeze();
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(60_000);
  scene.server.replaceStatus(vaultSecretKind, scene.resource().metadata, {});
  await scene.settle(60_000);
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
});

test("a resource created again next to its target waits for an approval as before", async () => {
  await using scene = await SimulatedWorld.shop("db");
  const spec = { updates: { approval: "Required" }, target: { creationPolicy: "Orphan" } };
  scene.follow({ password: "db" }, spec);
  await scene.settle();
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(60_000);
  scene.server.delete(vaultSecretKind, { namespace: "shop", name: "db" });
  await scene.settle();
  scene.follow({ password: "db" }, spec);
  await scene.settle(60_000);
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
});
