import { expect, test } from "vitest";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import {
  clusterVaultConnectionKind,
  type Kind,
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../../src/operator/api/kinds.ts";

const MINUTE = 60_000;

/** Returns the messages and actions of the lines about one object. */
function linesOf(scene: SimulatedWorld, key: string): string[] {
  const lines = scene.log.filter(({ fields, level }) => fields["key"] === key && level !== "debug");
  return lines.map(({ level, fields, message }) =>
    [level, message, fields["action"] ?? fields["reason"]].join(" "),
  );
}

test("each write of a target is logged as what it was", async () => {
  await using scene = new SimulatedWorld();
  const vault = scene.addVault("shop", ["a"]);
  scene.start();
  await scene.clock.advance(MINUTE);
  vault.write("a");
  await scene.clock.advance(2 * MINUTE);
  vault.schedule(scene.clock.now() + 2 * MINUTE, "a");
  await scene.clock.advance(8 * MINUTE);
  expect(linesOf(scene, "VaultSecret/shop/a")).toEqual([
    "info target created created",
    "info target updated updated",
    "warn resource is not ready SourceRemoved",
    "info target deleted deleted",
  ]);
});

test("a change of Ready to the worse is a warning for every kind", async () => {
  await using scene = new SimulatedWorld();
  scene.addVault("shop", ["a"]);
  const create = (kind: Kind, name: string, spec: object): void => {
    const metadata = kind.namespaced ? { namespace: "shop", name } : { name };
    scene.server.create(kind, {
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: kind.kind,
      metadata,
      spec,
    });
  };
  for (const kind of [
    clusterVaultConnectionKind,
    vaultConnectionKind,
    vaultFileKind,
    vaultPushKind,
    vaultSecretKind,
  ])
    create(kind, "wrong", {});
  scene.start();
  await scene.clock.advance(MINUTE);
  const warnings = scene.log.filter(({ message }) => message === "resource is not ready");
  const shown = warnings.map(({ level, fields }) =>
    [level, fields["controller"], fields["reason"], fields["key"]].join(" "),
  );
  expect(new Set(shown)).toEqual(
    new Set([
      "warn ClusterVaultConnection InvalidSpec wrong",
      "warn VaultConnection InvalidSpec shop/wrong",
      "warn VaultFile InvalidSpec VaultFile/shop/wrong",
      "warn VaultPush InvalidSpec shop/wrong",
      "warn VaultSecret InvalidSpec VaultSecret/shop/wrong",
    ]),
  );
  expect(shown).toHaveLength(5);
});

test("a circuit breaker that opens or closes is logged with connection, host and cause", async () => {
  await using scene = new SimulatedWorld();
  scene.addVault("shop", ["a"]).latencyMs = 3_600_000;
  scene.start();
  await scene.clock.advance(10 * MINUTE);
  const lines = scene.log.filter(({ message }) => message.startsWith("circuit breaker"));
  expect(lines).toEqual([
    {
      level: "warn",
      fields: {
        connection: "shop/vault",
        host: "shop.example.com",
        reason: expect.stringContaining("timeout"),
      },
      message: "circuit breaker opened: only the list is tried, with backoff",
    },
  ]);
});
