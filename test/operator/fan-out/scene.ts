import type { FanOutStatus } from "../../../src/operator/api/fan-out.ts";
import { clusterVaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { FREEZE_ANNOTATION } from "../../../src/operator/api/names.ts";
import type { OperatorFlags } from "../../../src/operator/config.ts";
import { NAMESPACES } from "../../../src/operator/kube/resource.ts";
import { accountOf, passwordIn, SimulatedWorld } from "../../lab/simulated/simulated-world.ts";

export const corporate = { name: "corporate" };
export const account = accountOf(corporate);
export const registry = { name: "registry" };
export const TEAM = { team: "shop" };
export const ALL = { access: [{ namespaceSelector: { matchLabels: {} }, secrets: ["*"] }] };
/** The namespaces of the team. A further one is not of it. */
export const namespaces = ["blog", "jobs", "shop"] as const;

/** Spec of a resource that selects the namespaces of a team. */
export const spec = (changes: object = {}): object => ({
  connectionRef: { kind: "ClusterVaultConnection", name: "corporate" },
  namespaceSelector: { matchLabels: TEAM },
  data: [{ secretKey: "password", remoteRef: { key: "login" } }],
  ...changes,
});

/** Returns a running operator, and the ClusterVaultSecret `registry` in three namespaces. */
export async function sceneWith(
  changes: object = {},
  connection: object = ALL,
  flags: OperatorFlags = {},
  names: readonly string[] = ["login", "token"],
): Promise<SimulatedWorld> {
  const scene = new SimulatedWorld({ passwordIn, immediateVaults: true, apiLatencyMs: 0 });
  for (const namespace of namespaces) scene.namespace(namespace, TEAM);
  scene.namespace("other", {});
  scene.connectAccount(corporate, connection);
  scene.vault().writeAs(account, names);
  scene.put(clusterVaultSecretKind, registry, spec(changes));
  scene.start(flags);
  await scene.settle();
  return scene;
}

export const statusOf = (scene: SimulatedWorld): FanOutStatus =>
  scene.server.get(clusterVaultSecretKind, registry)["status"] ?? {};

/** Returns the condition Ready of the resource in a line. */
export function ready(scene: SimulatedWorld): string {
  const condition = scene.conditionOf(clusterVaultSecretKind, registry);
  return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
}

/** Returns the password in the target of a namespace. */
export function valueIn(scene: SimulatedWorld, namespace: string): string | undefined {
  const data = scene.target("registry", namespace)?.data?.["password"];
  return data === undefined ? undefined : Buffer.from(data, "base64").toString();
}

/** Returns the keys of the target of a namespace; none if it does not exist. */
export const keysIn = (scene: SimulatedWorld, namespace: string): string[] =>
  Object.keys(scene.target("registry", namespace)?.data ?? {}).sort();

/** Freezes a namespace for an hour. */
export function freeze(scene: SimulatedWorld, name: string): void {
  const until = new Date(scene.clock.now() + 3_600_000).toISOString();
  const metadata = { annotations: { [FREEZE_ANNOTATION]: until } };
  scene.server.patch(NAMESPACES, { name }, { metadata });
}

/** Creates the Deployment `web`. It follows the target of the namespace `shop`. */
export async function createWorkload(scene: SimulatedWorld): Promise<void> {
  const containers = [{ name: "app", envFrom: [{ secretRef: { name: "registry" } }] }];
  scene.workloads.create("Deployment", "web", {
    metadata: { annotations: { "vaultsync.dev/restart": "auto" } },
    spec: { template: { spec: { containers } } },
  });
  await scene.settle(60_000);
}
