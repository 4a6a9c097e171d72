import { expect } from "vitest";
import { TransientError } from "../../../src/operator/vault-client/vault-error.ts";
import { SimulatedWorld } from "../simulated/simulated-world.ts";

/** The values of secrets by their names. */
export type Values = Readonly<Record<string, string>>;

/** Starts an operator that has synced a resource of this spec with these values. */
export async function synced(
  values: Values,
  spec: Readonly<Record<string, unknown>>,
): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop();
  scene.vault().serves(values);
  scene.follow({}, spec);
  await scene.settle();
  expect(scene.condition("Ready")?.reason).toBe("Synced");
  return scene;
}

/** Lets secrets of these reach their delete_time; the list then has the other ones. */
export async function remove(
  scene: SimulatedWorld,
  values: Values,
  ...names: readonly string[]
): Promise<void> {
  const deleteAt = scene.clock.now() + 10_000;
  scene
    .vault()
    .lists(
      ...Object.keys(values).map((name) => ({ name, ...(names.includes(name) && { deleteAt }) })),
    );
  await scene.settle(20_000);
  const rest = Object.keys(values).filter((name) => !names.includes(name));
  scene.vault().lists(...rest.map((name) => ({ name })));
  await scene.settle();
}

export const data = (...names: readonly string[]) =>
  names.map((name) => ({ secretKey: name, remoteRef: { key: name } }));

/** Lets every read of a value fail, while the lists do not. */
export function serveNothing(scene: SimulatedWorld): void {
  scene.vault().expose = () => {
    throw new TransientError("expose", "server_error", { status: 503 });
  };
}

export const readyMessage = (scene: SimulatedWorld): string | undefined =>
  scene.condition("Ready")?.message;
