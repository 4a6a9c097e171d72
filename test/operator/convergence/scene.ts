import { SimulatedPods } from "../../lab/simulated/pods.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";

const WEB = { kind: "Deployment", name: "web" } as const;
export const MINUTE = 60_000;
export const TARGET = "Secret/db";

export interface Scene extends AsyncDisposable {
  readonly world: SimulatedWorld;
  readonly pods: SimulatedPods;
  /** Returns the number of lists of pods, and of writes of the VaultSecret, since the last call. */
  readonly takeRequests: () => { readonly lists: number; readonly writes: number };
  /** Returns the status, reason and message of Converged. */
  readonly converged: () => string;
}

/** Starts an operator with a VaultSecret whose target is in use. */
export async function started(
  spec: Readonly<Record<string, unknown>> = { rolloutRestart: [WEB] },
): Promise<Scene> {
  const world = await SimulatedWorld.shop("db");
  const pods = new SimulatedPods(world);
  const converged = (): string => {
    const { status, reason, message } = world.condition("Converged") ?? {};
    return status === undefined ? "absent" : `${status} ${reason}: ${message}`;
  };
  world.follow({ password: "db" }, spec);
  await world.settle();
  let [lists, writes] = [0, 0];
  world.network = {
    send: ({ resource, verb }) => {
      if (resource.plural === "pods") lists += 1;
      if (resource.plural === "vaultsecrets" && verb === "update") writes += 1;
    },
  };
  const takeRequests = () => {
    const taken = { lists, writes };
    [lists, writes] = [0, 0];
    return taken;
  };
  return {
    world,
    pods,
    converged,
    takeRequests,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

/** Changes the secret in the vault, and lets the operator work. */
export async function change({ world }: Scene, version = 2, ms = 20_000): Promise<void> {
  world.vault().lists({ name: "db", version });
  await world.settle(ms);
}

export const TRUE = "True Converged: every pod that uses the target runs its content";
export const waiting = (names: string): string =>
  `False RollingOut: older content may still run: waiting for ${names}`;
export const notRestarted = (names: string): string =>
  `False NotRestarted: older content may still run: nothing restarts ${names}`;
