import { describe, expect, test } from "vitest";
import { clusterVaultConnectionKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { accountOf, passwordIn, SimulatedWorld } from "../lab/simulated/simulated-world.ts";

const MINUTE = 60_000;
/** Long enough for three lists over two intervals, and a little more. */
const PROOF = 4 * MINUTE;
const names = ["a", "b", "c", "d", "e"];
const corporate = { name: "corporate" };
const account = accountOf(corporate);

const allow = (secrets: readonly string[]): object => ({
  access: [{ namespaceSelector: { matchLabels: {} }, secrets }],
});
const keysOf = (scene: SimulatedWorld): readonly string[] =>
  Object.keys(scene.target()?.data ?? {});

function follow(scene: SimulatedWorld, changes: object = {}): void {
  const connectionRef = { kind: "ClusterVaultConnection", ...corporate };
  const data = names.map((key) => ({ secretKey: key, remoteRef: { key } }));
  const target = { whenRemoved: "Retain", whenMissing: "Delete" };
  const spec = { connectionRef, data, target, ...changes };
  scene.put(vaultSecretKind, { namespace: "shop", name: "db" }, spec);
}

/** Starts an operator that keeps what the vault removes in two minutes. */
async function synced(scene: SimulatedWorld): Promise<void> {
  scene.namespace("shop");
  scene.connectAccount(corporate, allow(["*"]));
  const vault = scene.vault();
  vault.writeAs(account, names);
  follow(scene);
  scene.start();
  for (const name of names) vault.setDeadline(account, name, scene.clock.now() + 2 * MINUTE);
  await scene.clock.advance(MINUTE);
  expect(keysOf(scene)).toEqual(names);
}

// The connection kept what the vault had removed at its deadline, so nothing was held; the resource
// did not know of the deadline, and removed all of it.
describe("many secrets reach their deadline while a resource with whenRemoved: Retain", () => {
  test.each(["the same process", "another process"])(
    "is suspended: %s keeps them",
    async (which) => {
      await using scene = new SimulatedWorld({ passwordIn });
      await synced(scene);
      follow(scene, { suspend: true });
      await scene.clock.advance(3 * MINUTE);
      if (which === "another process") await scene.restart();
      follow(scene);
      await scene.clock.advance(2 * PROOF);
      expect(keysOf(scene)).toEqual(names);
      expect(scene.condition("Ready")?.reason).toBe("SourceRemoved");
    },
  );

  test.each(["the same process", "another process"])(
    "has no access: %s holds them",
    async (which) => {
      await using scene = new SimulatedWorld({ passwordIn });
      await synced(scene);
      scene.connectAccount(corporate, allow(["other"]));
      await scene.clock.advance(3 * MINUTE);
      if (which === "another process") await scene.restart();
      scene.connectAccount(corporate, allow(["*"]));
      await scene.clock.advance(2 * PROOF);
      expect(keysOf(scene)).toEqual(names);
      expect(scene.condition("Ready")?.reason).toBe("SourceMissing");
      const held = scene.conditionOf(clusterVaultConnectionKind, corporate, "RemovalsHeld");
      expect(held?.message).toContain("confirm-removals=5");
    },
  );
});
