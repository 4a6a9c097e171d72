import { expect, test } from "vitest";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { SHOP } from "../lab/simulated/simulated-operator.ts";
import type { SimulatedVault } from "../lab/simulated/simulated-vault.ts";
import { vaultConnectionKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";
import { CONFIRM_REMOVALS_ANNOTATION } from "../../src/operator/api/names.ts";

const MINUTE = 60_000;
/** Long enough for three lists over two intervals, and a little more. */
const PROOF = 4 * MINUTE;
const DELETE = { whenMissing: "Delete" };
const CONNECTION = { namespace: SHOP, name: "vault" };

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);
const lost = range(5).map((n) => `lost-${n}`);
const steady = range(10).map((n) => `steady-${n}`);
const further = range(30).map((n) => `further-${n}`);

const left = (scene: SimulatedWorld): readonly string[] =>
  lost.filter((name) => scene.value(SHOP, name) !== undefined);
/** Returns the number of removals that wait for a confirmation. */
const heldIn = (scene: SimulatedWorld): string =>
  /confirm-removals=(?<held>\d+)/u.exec(scene.connectionCondition("RemovalsHeld")?.message ?? "")
    ?.groups?.["held"] ?? "none";

const isReported = (scene: SimulatedWorld, name: string): boolean =>
  scene.status(name).items?.some(({ unconfirmed }) => unconfirmed === true) === true;

function edit(scene: SimulatedWorld, names: readonly string[], spec: object): void {
  for (const name of names)
    scene.server.patch(vaultSecretKind, { namespace: SHOP, name }, { spec });
}

function confirm(scene: SimulatedWorld, number: string): void {
  const metadata = { annotations: { [CONFIRM_REMOVALS_ANNOTATION]: number } };
  scene.server.patch(vaultConnectionKind, CONNECTION, { metadata });
}

const withoutConnection = async (scene: SimulatedWorld): Promise<void> => {
  edit(scene, lost, { connectionRef: { name: "wrong" } });
  await scene.clock.advance(1.5 * MINUTE);
};

const dataOf = (key: string): object[] => [{ secretKey: "value", remoteRef: { key } }];

/** Names a missing secret, for a shorter time than the proof of its absence takes. */
const withOtherName = async (scene: SimulatedWorld): Promise<void> => {
  edit(scene, lost, { data: dataOf("other") });
  await scene.clock.advance(1.5 * MINUTE);
};

const recreateConnection = (scene: SimulatedWorld): void => {
  const { spec } = scene.server.get(vaultConnectionKind, CONNECTION) as { spec?: object };
  scene.server.delete(vaultConnectionKind, CONNECTION);
  scene.connection(CONNECTION, spec ?? {});
};

function deleteWithTarget(scene: SimulatedWorld, name: string): void {
  scene.server.delete(vaultSecretKind, { namespace: SHOP, name });
  // Kubernetes does.
  scene.server.delete(SECRETS, { namespace: SHOP, name });
}

/** Holds the removals of five of fifteen names. Then thirty further ones are referenced. */
async function diluted(
  scene: SimulatedWorld,
  before: () => void = () => undefined,
): Promise<SimulatedVault> {
  const vault = scene.addVault(SHOP, [...lost, ...steady], DELETE);
  vault.write(...further);
  scene.start();
  await scene.clock.advance(MINUTE);
  before();
  await scene.clock.advance(MINUTE);
  vault.remove(...lost);
  await scene.clock.advance(PROOF);
  expect(heldIn(scene)).toBe("5");
  for (const name of further) scene.addSecret(SHOP, name, DELETE, name);
  await scene.clock.advance(MINUTE);
  expect(heldIn(scene)).toBe("5");
  return vault;
}

/** Expects that the removals are held, until a user confirms them. */
async function expectHeld(scene: SimulatedWorld): Promise<void> {
  await scene.clock.advance(2 * PROOF);
  expect(left(scene)).toEqual(lost);
  expect(heldIn(scene)).toBe("5");
  confirm(scene, "5");
  await scene.clock.advance(MINUTE);
  expect(left(scene)).toEqual([]);
}

test.each<[string, (scene: SimulatedWorld) => Promise<void> | void]>([
  [
    "their resources name another connection for a while",
    async (scene) => {
      await withoutConnection(scene);
      edit(scene, lost, { connectionRef: { name: "vault" } });
    },
  ],
  [
    "the operator restarts while their resources name another connection",
    async (scene) => {
      await withoutConnection(scene);
      await scene.restart();
      await scene.clock.advance(MINUTE);
      edit(scene, lost, { connectionRef: { name: "vault" } });
    },
  ],
  [
    "their resources use another vault without them for a while",
    async (scene) => {
      scene.connection({ namespace: SHOP, name: "other" }, { url: "https://other.example.com" });
      scene.vault("other").write("else");
      edit(scene, lost, { connectionRef: { name: "other" } });
      await scene.clock.advance(2 * PROOF);
      edit(scene, lost, { connectionRef: { name: "vault" } });
    },
  ],
  [
    "a resource without their bytes misses them before theirs name the connection again",
    async (scene) => {
      const data = lost.map((key) => ({ secretKey: key, remoteRef: { key } }));
      scene.put(
        vaultSecretKind,
        { namespace: SHOP, name: "watcher" },
        { connectionRef: { name: "vault" }, data, target: DELETE },
      );
      await withoutConnection(scene);
      recreateConnection(scene);
      await scene.clock.advance(2 * PROOF);
      edit(scene, lost, { connectionRef: { name: "vault" } });
    },
  ],
  ["their connection is deleted and created again", recreateConnection],
  [
    "their connection is created again while no operator runs",
    (scene) => scene.restart(() => recreateConnection(scene)),
  ],
  [
    "their specs name another missing secret for a while",
    async (scene) => {
      await withOtherName(scene);
      for (const name of lost) edit(scene, [name], { data: dataOf(name) });
    },
  ],
  [
    "the operator restarts while their specs name another missing secret",
    async (scene) => {
      await withOtherName(scene);
      await scene.restart();
      await scene.clock.advance(MINUTE / 2);
      for (const name of lost) edit(scene, [name], { data: dataOf(name) });
    },
  ],
  [
    "their policy becomes Retain for a while",
    async (scene) => {
      edit(scene, lost, { target: { whenMissing: "Retain" } });
      await scene.clock.advance(PROOF);
      expect(heldIn(scene)).toBe("none");
      edit(scene, lost, { target: DELETE });
    },
  ],
  [
    "the operator restarts while their policy is Retain",
    async (scene) => {
      edit(scene, lost, { target: { whenMissing: "Retain" } });
      await scene.clock.advance(PROOF);
      await scene.restart();
      await scene.clock.advance(PROOF);
      edit(scene, lost, { target: DELETE });
    },
  ],
])("removals stay held although they are few of many, and %s", async (_, disturb) => {
  await using scene = new SimulatedWorld();
  await diluted(scene);
  await disturb(scene);
  await expectHeld(scene);
  expect(heldIn(scene)).toBe("none");
});

test("removals stay held that no status shows, while specs name another connection", async () => {
  await using scene = new SimulatedWorld();
  await diluted(scene, () => edit(scene, lost, { suspend: true }));
  expect(lost.filter((name) => isReported(scene, name))).toEqual([]);
  await withoutConnection(scene);
  edit(scene, lost, { connectionRef: { name: "vault" }, suspend: false });
  await expectHeld(scene);
});

test("removals stay held of more names than a status shows, when a connection is created again", async () => {
  await using scene = new SimulatedWorld();
  const all = range(70).map((n) => `many-${n}`);
  const vault = scene.addVault(SHOP, steady, DELETE);
  vault.write(...all);
  const finding = (name: string, regexp: string): void =>
    scene.follow(
      {},
      { name, data: undefined, dataFrom: [{ find: { name: { regexp } } }], target: DELETE },
    );
  finding("many", "^many-");
  scene.start();
  await scene.clock.advance(MINUTE);
  vault.remove(...all);
  await scene.clock.advance(PROOF);
  expect(heldIn(scene)).toBe("70");
  vault.write(...range(400).map((n) => `further-${n}`));
  finding("further", "^further-");
  await scene.clock.advance(MINUTE);
  recreateConnection(scene);
  await scene.clock.advance(2 * PROOF);
  expect(Object.keys(scene.target("many")?.data ?? {})).toHaveLength(70);
  expect(heldIn(scene)).toBe("70");
});

test("a hold ends with the keys that users remove from specs, and with their resources", async () => {
  await using scene = new SimulatedWorld();
  const vault = await diluted(scene);
  edit(scene, lost.slice(0, 2), { data: dataOf("steady-0") });
  await scene.clock.advance(MINUTE);
  expect(heldIn(scene)).toBe("3");
  for (const name of lost.slice(2)) deleteWithTarget(scene, name);
  await scene.clock.advance(MINUTE);
  expect(heldIn(scene)).toBe("none");
  for (const name of lost) scene.addSecret(SHOP, name, DELETE, name);
  await scene.clock.advance(PROOF);
  expect(heldIn(scene)).toBe("none");
  vault.write(...lost);
  await scene.clock.advance(MINUTE);
  expect(left(scene)).toEqual(lost);
  vault.remove("lost-0");
  await scene.clock.advance(PROOF);
  expect(left(scene)).toEqual(lost.slice(1));
});

test("names that are back are not held when few of them disappear again", async () => {
  await using scene = new SimulatedWorld();
  const vault = await diluted(scene);
  vault.write(...lost);
  await scene.clock.advance(MINUTE);
  expect(heldIn(scene)).toBe("none");
  expect(isReported(scene, "lost-0")).toBe(false);
  vault.remove("lost-0");
  await scene.clock.advance(PROOF);
  expect(left(scene)).toEqual(lost.slice(1));
});

test("what a user confirmed is not held by a connection that is created again", async () => {
  await using scene = new SimulatedWorld();
  await diluted(scene);
  confirm(scene, "5");
  await scene.clock.advance(MINUTE);
  expect(left(scene)).toEqual([]);
  recreateConnection(scene);
  await scene.clock.advance(PROOF);
  expect(heldIn(scene)).toBe("none");
});
