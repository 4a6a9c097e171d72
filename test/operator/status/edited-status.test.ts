import { expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { isObject } from "../../../src/lib/is-object.ts";
import {
  type Kind,
  vaultConnectionKind,
  vaultSecretKind,
} from "../../../src/operator/api/kinds.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";

const foreign = {
  conditions: [
    {
      type: "Ready",
      status: "False",
      reason: "InvalidSpec",
      message: "written by another program",
    },
  ],
};
const isForeign = (status: unknown): boolean =>
  isObject(status) && JSON.stringify(status) === JSON.stringify(foreign);

/**
 * A running operator, and the writes of statuses of one object by it, while another program
 * restores its own each time.
 */
async function contested(kind: Kind, name: string) {
  const scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
  const ref = { namespace: "shop", name };
  const statusNow = (): unknown => scene.server.get(kind, ref)["status"];
  const overwrite = (): void => {
    const { resourceVersion } = scene.server.get(kind, ref).metadata;
    scene.server.replaceStatus(kind, { ...ref, resourceVersion }, foreign);
  };
  let repairs = 0;
  const program = scene.server.onCommit(({ resource, after }) => {
    if (resource !== kind || after?.metadata.name !== name || isForeign(after["status"])) return;
    repairs += 1;
    if (repairs < 100) queueMicrotask(overwrite);
  });
  const takeRepairs = (): number => {
    const taken = repairs;
    repairs = 0;
    return taken;
  };
  return { scene, program, overwrite, statusNow, takeRepairs };
}

test.each([
  [vaultSecretKind, "db"],
  [vaultConnectionKind, "vault"],
] as const)(
  "the status of $kind is repaired a few times while another program overwrites it",
  async (kind, name) => {
    const { scene, program, overwrite, statusNow, takeRepairs } = await contested(kind, name);
    await using _ = scene;
    overwrite();
    await scene.settle(1_000);
    expect(takeRepairs()).toBe(2);
    await scene.settle(600_000);
    expect(takeRepairs()).toBeLessThan(10);
    program[Symbol.dispose]();
    overwrite();
    await scene.settle(301_000);
    expect(statusNow()).toMatchObject({ conditions: [{ type: "Ready", status: "True" }] });
  },
);

test("no status is written while nothing changes", async () => {
  const { scene, takeRepairs } = await contested(vaultSecretKind, "db");
  await using _ = scene;
  await scene.settle(600_000);
  expect(takeRepairs()).toBe(0);
});

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
