import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../../../../test/lab/clock/wait-until.ts";
import type { OperatorProcess } from "../../../../test/lab/real/processes/operator-process.ts";
import type { VaultClient } from "../../../../test/lab/vault/vault-client.ts";
import { forEach, protect, type Stage, workOf } from "../stage.ts";

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

/** The secrets of one account, each with a VaultSecret. */
interface Population {
  readonly client: VaultClient;
  readonly names: readonly string[];
}

export interface Healthy {
  readonly namespace: string;
  readonly connections: readonly Population[];
  /** Resolves when the operator has verified all resources of this namespace. */
  isReady(operator: OperatorProcess): Promise<void>;
}

/** A bad neighbor of the healthy resources. */
export interface Neighbor {
  /** Names of its accounts. */
  readonly accounts: readonly string[];
  /**
   * Creates its resources. Returns what is compared: the first arm is the baseline.
   *
   * @param owned receives what is started
   */
  open(stage: Stage, healthy: Healthy, owned: AsyncDisposableStack): Promise<readonly Arm[]>;
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
export const healthyAccounts = namesOf("healthy", CONNECTIONS);

/**
 * Stores secrets of an account, and creates a connection to it and a VaultSecret for each secret, in
 * a namespace.
 */
export async function populate(
  stage: Stage,
  namespace: string,
  account: string,
  count: number,
  spec: { readonly url?: string; readonly timeout?: string } = {},
): Promise<Population> {
  const client = await stage.client(emailOf(account));
  const names = namesOf(account, count);
  await stage.fill(client, names);
  await stage.connections(namespace, new Map([[account, { email: emailOf(account), ...spec }]]));
  await stage.secrets(namespace, account, names);
  return { client, names };
}

/** Stores a new version of each secret, some at a time. */
export async function changeAll(client: VaultClient, names: readonly string[]): Promise<void> {
  await forEach(names, (name) => protect(client, name, `${name} ${performance.now()}`));
}

/** Creates the healthy resources and lets an operator sync them. */
export async function openHealthy(stage: Stage): Promise<Healthy> {
  const namespace = await stage.plane.createNamespace("healthy");
  const connections: Population[] = [];
  for (const account of healthyAccounts)
    connections.push(await populate(stage, namespace, account, RESOURCES / CONNECTIONS));
  const isReady = async (operator: OperatorProcess): Promise<void> => {
    await waitUntil(
      "the resources are reconciled",
      async () => (await workOf(operator, RESOURCES)).isQuiet,
      600_000,
      250,
    );
    await waitUntil(
      "they are Ready",
      async () => (await stage.readyCount("VaultSecret", namespace)) === RESOURCES,
      60_000,
      500,
    );
    await sleep(2_000);
  };
  await using operator = await stage.operator([namespace]);
  await isReady(operator);
  stage.progress.note(`${RESOURCES} resources are in sync`);
  return { namespace, connections, isReady };
}
