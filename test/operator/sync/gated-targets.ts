import { OPERATOR_NAMESPACE, SHOP, valuesOf } from "../../lab/simulated/simulated-operator.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { CONFIG_MAPS, SECRETS } from "../../../src/operator/kube/resource.ts";

/** Scenes that tests of approvals, windows and freezes share. */

const MINUTE = 60_000;

/** Name of the ConfigMap of a freeze. */
export const FREEZE = "vaultsync-freeze";

/** Creates or replaces the ConfigMap of a freeze. */
export function freeze(scene: SimulatedWorld, values: Readonly<Record<string, string>>): void {
  const metadata = { namespace: OPERATOR_NAMESPACE, name: FREEZE };
  const before = scene.server.find(CONFIG_MAPS, metadata);
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data: values };
  if (before === undefined) scene.server.create(CONFIG_MAPS, object);
  else scene.server.replace(CONFIG_MAPS, { ...before, data: values });
}

/** Returns the condition about newer versions. */
export const update = (scene: SimulatedWorld, name?: string) =>
  scene.condition("UpdateAvailable", name);

/** Lists these versions of the secrets `db` and `user`, and returns the outcome. */
export async function list(scene: SimulatedWorld, db: number, user: number): Promise<string> {
  scene.vault().lists({ name: "db", version: db }, { name: "user", version: user });
  await scene.settle();
  return scene.outcome();
}

/** Lets the vault remove `db` at its deadline; `user` has a second version by then. */
export async function removeAtDeadline(scene: SimulatedWorld): Promise<void> {
  const user = { name: "user", version: 2 };
  scene.vault().lists({ name: "db", deleteAt: scene.clock.now() + MINUTE }, user);
  await scene.settle(2 * MINUTE);
  scene.vault().lists(user);
  await scene.settle();
}

/** Starts an operator whose rule has found `app-a`, and then lists `app-b` as well. */
export async function withAnotherName(updates: object): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop("app-a");
  const dataFrom = [{ find: { name: { regexp: "^app-" } } }];
  scene.follow({}, { data: undefined, dataFrom, updates });
  await scene.settle();
  scene.vault().lists({ name: "app-a" }, { name: "app-b" });
  await scene.settle();
  return scene;
}

/**
 * Starts an operator that has merged `db` into a foreign Secret `app`, and starts it again when a
 * second version is listed. `close` closes a gate that is no field of the spec.
 */
export async function withMergedVersion(
  spec: object,
  close: (scene: SimulatedWorld) => void = () => undefined,
): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop("db");
  const metadata = { namespace: SHOP, name: "app" };
  const foreign = { apiVersion: "v1", kind: "Secret", metadata, data: { own: "eA==" } };
  scene.server.create(SECRETS, foreign);
  scene.follow({ password: "db" }, { ...spec, target: { name: "app", creationPolicy: "Merge" } });
  await scene.settle();
  close(scene);
  await scene.settle();
  scene.vault().lists({ name: "db", version: 2 });
  await scene.replace();
  return scene;
}

/** Returns the merged value of {@link withMergedVersion}. */
export const mergedValue = (scene: SimulatedWorld): string | undefined =>
  valuesOf(scene.target("app"))?.["password"];
