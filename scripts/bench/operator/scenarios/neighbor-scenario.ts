import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../../../../test/lab/clock/wait-until.ts";
import type { OperatorProcess } from "../../../../test/lab/real/processes/operator-process.ts";
import type { VaultClient } from "../../../../test/lab/vault/vault-client.ts";
import { protect, Stage, workOf } from "../stage.ts";

/** The load of a neighbor. Disposing it ends the load. */
export interface Load extends AsyncDisposable {
  /** Number of events so far that the operator has to handle. */
  readonly events?: () => number;
}

/** One of the states that a scenario compares. */
export interface Arm {
  readonly label: string;
  /** The namespaces that the operator works for. */
  readonly namespaces: readonly string[];
  /** Starts the neighbor's load and resolves when it has an effect. */
  readonly start?: () => Promise<Load>;
}

interface HealthyConnection {
  readonly client: { protect(name: string, value: string): Promise<void> };
  readonly names: readonly string[];
}

interface Healthy {
  readonly namespace: string;
  readonly connections: readonly HealthyConnection[];
  /** Resolves when the operator has verified all resources of this namespace. */
  isReady(operator: OperatorProcess): Promise<void>;
}

/** The first arm is the baseline. */
export interface NeighborScenario extends AsyncDisposable {
  readonly stage: Stage;
  readonly healthy: Healthy;
  readonly arms: readonly Arm[];
}

const RESOURCES = 300;
/**
 * The healthy resources are divided among this number of connections, because a list is read at
 * most once per second.
 */
const CONNECTIONS = 10;

export const emailOf = (name: string): string => `${name}@example.com`;
export const namesOf = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** Stores a new version of each secret, some at a time. */
export async function changeAll(client: VaultClient, names: readonly string[]): Promise<void> {
  const waiting = [...names];
  const work = async (): Promise<void> => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      await protect(client, name, `${name} ${performance.now()}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
}

/**
 * Returns a stage with the healthy resources, already synced by an operator, and accounts for the
 * neighbors; and owns everything.
 */
export async function openStage(
  neighbors: readonly string[],
): Promise<{ stage: Stage; healthy: Healthy; owned: AsyncDisposableStack }> {
  await using owned = new AsyncDisposableStack();
  const prefixes = namesOf("healthy", CONNECTIONS);
  const stage = owned.use(await Stage.start([...prefixes, ...neighbors].map(emailOf)));
  const healthy = await openHealthy(stage, prefixes, RESOURCES / CONNECTIONS);
  return { stage, healthy, owned: owned.move() };
}

async function openHealthy(
  stage: Stage,
  prefixes: readonly string[],
  each: number,
): Promise<Healthy> {
  const namespace = await stage.plane.createNamespace("healthy");
  await stage.connections(
    namespace,
    new Map(prefixes.map((prefix) => [prefix, { email: emailOf(prefix) }])),
  );
  const connections: HealthyConnection[] = [];
  for (const prefix of prefixes) {
    const client = await stage.client(emailOf(prefix));
    const names = namesOf(prefix, each);
    await stage.fill(client, names);
    await stage.secrets(namespace, prefix, names);
    connections.push({
      names,
      client: { protect: (secret, value) => protect(client, secret, value) },
    });
  }
  const total = prefixes.length * each;
  const isReady = async (operator: OperatorProcess): Promise<void> => {
    await waitUntil(
      "the resources are reconciled",
      async () => (await workOf(operator, total)).isQuiet,
      600_000,
      250,
    );
    await waitUntil(
      "they are Ready",
      async () => (await stage.readyCount("VaultSecret", namespace)) === total,
      60_000,
      500,
    );
    await sleep(2_000);
  };
  await using operator = await stage.operator([namespace]);
  await isReady(operator);
  stage.progress.note(`${total} resources are in sync`);
  return { namespace, connections, isReady };
}
