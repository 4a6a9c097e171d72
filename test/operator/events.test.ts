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
import { EVENTS, type KubeObject } from "../../src/operator/kube/resource.ts";

const MINUTE = 60_000;

const timeOf = (event: KubeObject): string => String(event["eventTime"]);

/** Returns the events about an object in the order of their creation, each as `<type> <reason>`. */
function eventsOf(scene: SimulatedWorld, kind: string, name?: string): string[] {
  const all = scene.server.all(EVENTS).filter((event) => {
    const regarding = event["regarding"] as { readonly kind: string; readonly name: string };
    return regarding.kind === kind && (name === undefined || regarding.name === name);
  });
  return all
    .toSorted((a, b) => timeOf(a).localeCompare(timeOf(b)))
    .map((event) => [event["type"], event["reason"]].join(" "));
}

test("an outage of the vault is an event of the connection, and none of its resources", async () => {
  await using scene = new SimulatedWorld();
  const names = Array.from({ length: 100 }, (_, index) => `s${index}`);
  const vault = scene.addVault("shop", names);
  scene.start();
  await scene.clock.advance(MINUTE);
  expect(eventsOf(scene, "VaultConnection")).toEqual(["Normal Connected"]);
  const created = eventsOf(scene, "VaultSecret");
  expect(created.slice(0, 25)).toEqual(Array.from({ length: 25 }, () => "Normal TargetCreated"));
  vault.latencyMs = 3_600_000;
  await scene.clock.advance(20 * MINUTE);
  vault.latencyMs = 10;
  await scene.clock.advance(10 * MINUTE);
  expect(eventsOf(scene, "VaultConnection")).toEqual([
    "Normal Connected",
    "Warning VaultUnreachable",
    "Warning CircuitBreakerOpened",
    "Normal CircuitBreakerClosed",
    "Normal Connected",
  ]);
  expect(eventsOf(scene, "VaultSecret")).toHaveLength(created.length);
});

test("resources that wait for a connection from their start have no event until they are written", async () => {
  await using scene = new SimulatedWorld();
  const vault = scene.addVault("shop", ["a", "b"]);
  vault.latencyMs = 3_600_000;
  scene.start();
  await scene.clock.advance(5 * MINUTE);
  expect(scene.condition("Ready", "a")?.reason).toBe("ConnectionNotReady");
  expect(eventsOf(scene, "VaultSecret")).toEqual([]);
  expect(eventsOf(scene, "VaultConnection")[0]).toBe("Warning VaultUnreachable");
  vault.latencyMs = 10;
  await scene.clock.advance(10 * MINUTE);
  expect(eventsOf(scene, "VaultSecret")).toEqual(["Normal TargetCreated", "Normal TargetCreated"]);
});

test("a resource has events of its failure, its recovery and another name of its target", async () => {
  await using scene = new SimulatedWorld();
  const vault = scene.addVault("shop", ["a"]);
  scene.start();
  await scene.clock.advance(MINUTE);
  vault.remove("a");
  await scene.clock.advance(3 * MINUTE);
  vault.write("a");
  await scene.clock.advance(3 * MINUTE);
  expect(eventsOf(scene, "VaultSecret", "a")).toEqual([
    "Normal TargetCreated",
    "Warning SourceMissing",
    // The secret was recreated.
    "Normal TargetUpdated",
    "Normal Recovered",
  ]);
  const { metadata, spec } = scene.server.get(vaultSecretKind, { namespace: "shop", name: "a" });
  scene.server.replace(vaultSecretKind, {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    metadata,
    spec: { ...(spec as object), target: { name: "other" } },
  });
  await scene.clock.advance(MINUTE);
  expect(eventsOf(scene, "VaultSecret", "a").slice(4)).toEqual(["Normal TargetMoved"]);
});

test("a restart changes no condition of a connection that works, and records no event", async () => {
  await using scene = new SimulatedWorld();
  scene.addVault("shop", ["a"]);
  scene.start();
  await scene.clock.advance(MINUTE);
  const [before, lines] = [scene.connectionCondition("Ready"), scene.log.length];
  await scene.restart(() => scene.resetMeasurements());
  await scene.clock.advance(MINUTE);
  expect(scene.connectionCondition("Ready")).toEqual(before);
  expect(scene.log.slice(lines).filter(({ message }) => message.startsWith("resource"))).toEqual(
    [],
  );
  // The metadata of the new token.
  expect(scene.requests.filter((request) => request.includes("vaultconnections"))).toEqual([
    `update ${vaultConnectionKind.plural} vault`,
  ]);
  expect(eventsOf(scene, "VaultConnection")).toEqual(["Normal Connected"]);
});

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
