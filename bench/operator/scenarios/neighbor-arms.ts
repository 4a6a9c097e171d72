import { setTimeout as sleep } from "node:timers/promises";
import { operationPath } from "../../../src/protocol/operation-paths.ts";
import { FaultProxy, type Fault } from "../../../test/faults/support/fault-proxy.ts";
import { waitUntil } from "../../../test/support/clock/wait-until.ts";
import type { OperatorProcess } from "../../../test/support/processes/operator-process.ts";
import type { VaultClient } from "../../../test/support/vault/vault-client.ts";
import { protect, Stage, workOf } from "../stage.ts";

/** One of the states that a scenario compares. */
export interface Arm {
  readonly label: string;
  /** The namespaces that the operator works for. */
  readonly namespaces: readonly string[];
  /** Starts the neighbor's load and resolves when it has an effect; disposing it ends the load. */
  readonly start?: () => Promise<AsyncDisposable>;
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

/** The first arm is the baseline of the others. */
export interface NeighborScenario extends AsyncDisposable {
  readonly stage: Stage;
  readonly healthy: Healthy;
  readonly arms: readonly Arm[];
}

export const scenarioNames = ["slow", "unreadable", "hot"] as const;
type ScenarioName = (typeof scenarioNames)[number];

const SLOW_MS = 8_000;
const RESOURCES = 300;
/** The healthy resources are divided among this number of connections, because a list is read at most once per second. */
const CONNECTIONS = 10;
const HOT_RESOURCES = 64;
const HOT_EDITS_PER_SECOND = 100;
const NEIGHBOR = "neighbor";
const emailOf = (name: string): string => `${name}@example.com`;
const namesOf = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

export function openScenario(name: ScenarioName): Promise<NeighborScenario> {
  return { slow: openSlow, unreadable: openUnreadable, hot: openHot }[name]();
}

/** Creates the healthy resources and lets an operator sync them once. */
async function openHealthy(stage: Stage, prefixes: readonly string[], each: number, url = stage.vault.url): Promise<Healthy> {
  const namespace = await stage.plane.createNamespace("healthy");
  await stage.connections(namespace, new Map(prefixes.map((prefix) => [prefix, { email: emailOf(prefix), url }])));
  const connections: HealthyConnection[] = [];
  for (const prefix of prefixes) {
    const client = await stage.client(emailOf(prefix));
    const names = namesOf(prefix, each);
    await stage.fill(client, names);
    await stage.secrets(namespace, prefix, names);
    connections.push({ names, client: { protect: (secret, value) => protect(client, secret, value) } });
  }
  const total = prefixes.length * each;
  const isReady = async (operator: OperatorProcess): Promise<void> => {
    await waitUntil("the healthy resources are reconciled", async () => (await workOf(operator, total)).isQuiet, 120_000, 250);
    await waitUntil("they are Ready", async () => (await stage.readyCount("VaultSecret", namespace)) === total, 60_000, 500);
    await sleep(2_000);
  };
  await using operator = await stage.operator([namespace]);
  await isReady(operator);
  stage.progress.note(`${total} resources are in sync`);
  return { namespace, connections, isReady };
}

/** Returns a stage with a healthy part, and owns both. */
async function openStage(
  prefixes: readonly string[],
  each: number,
): Promise<{ stage: Stage; healthy: Healthy; owned: AsyncDisposableStack }> {
  await using owned = new AsyncDisposableStack();
  const stage = owned.use(await Stage.start([...prefixes, NEIGHBOR].map(emailOf)));
  const healthy = await openHealthy(stage, prefixes, each);
  return { stage, healthy, owned: owned.move() };
}

const healthyPrefixes = namesOf("healthy", CONNECTIONS);

async function openSlow(): Promise<NeighborScenario> {
  const { stage, healthy, owned } = await openStage(healthyPrefixes, RESOURCES / CONNECTIONS);
  const proxy = owned.use(await FaultProxy.start({ url: stage.vault.url }));
  proxy.inject(async ({ relay }) => {
    await sleep(SLOW_MS);
    await relay();
  });
  const namespace = await stage.plane.createNamespace("slow");
  const client = await stage.client(emailOf(NEIGHBOR));
  const names = namesOf(NEIGHBOR, RESOURCES);
  await stage.fill(client, names);
  await stage.connections(namespace, new Map([[NEIGHBOR, { email: emailOf(NEIGHBOR), url: proxy.url }]]));
  await stage.secrets(namespace, NEIGHBOR, names);
  const start = async (): Promise<AsyncDisposable> => {
    const before = proxy.to(operationPath.version_expose).length;
    await changeAll(client, names);
    await waitUntil("the slow vault is read", () => proxy.to(operationPath.version_expose).length > before, 90_000);
    return { [Symbol.asyncDispose]: async () => undefined };
  };
  const arms = [
    { label: "without the slow vault", namespaces: [healthy.namespace] },
    { label: "next to the slow vault", namespaces: [healthy.namespace, namespace], start },
  ];
  return { stage, healthy, arms, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function openUnreadable(): Promise<NeighborScenario> {
  await using owned = new AsyncDisposableStack();
  const prefix = "mixed";
  const stage = owned.use(await Stage.start([emailOf(prefix)]));
  const unreadable = new Set<string>();
  const proxy = owned.use(await FaultProxy.start({ url: stage.vault.url }));
  const fault: Fault = ({ request, response, relay }) => {
    const isRead = request.path === operationPath.version_expose || request.path === operationPath.expose;
    const name = isRead ? (JSON.parse(request.body.toString()) as { key_name?: string }).key_name : undefined;
    return name !== undefined && unreadable.has(name) ? response.writeHead(500).end("{}") : relay();
  };
  proxy.inject(fault);
  const all = await openHealthy(stage, [prefix], 100, proxy.url);
  const [connection] = all.connections;
  if (connection === undefined) throw new Error("no connection");
  const bad = connection.names.slice(0, 5);
  const healthy = { ...all, connections: [{ ...connection, names: connection.names.slice(5) }] };
  let version = 0;
  const start = async (names: readonly string[]): Promise<AsyncDisposable> => {
    for (const name of names) unreadable.add(name);
    for (const name of bad) await connection.client.protect(name, `${name} unreadable ${(version += 1)}`);
    await sleep(3_000);
    return { [Symbol.asyncDispose]: async () => unreadable.clear() };
  };
  const namespaces = [healthy.namespace];
  const arms = [
    { label: "all readable", namespaces, start: () => start([]) },
    { label: "5 of 100 unreadable", namespaces, start: () => start(bad) },
  ];
  const running = owned.move();
  return { stage, healthy, arms, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

async function openHot(): Promise<NeighborScenario> {
  const { stage, healthy, owned } = await openStage(healthyPrefixes, RESOURCES / CONNECTIONS);
  const namespace = await stage.plane.createNamespace("hot");
  const client = await stage.client(emailOf(NEIGHBOR));
  const names = namesOf(NEIGHBOR, HOT_RESOURCES);
  await stage.fill(client, names);
  await stage.connections(namespace, new Map([[NEIGHBOR, { email: emailOf(NEIGHBOR) }]]));
  await stage.secrets(namespace, NEIGHBOR, names);
  const start = async (): Promise<AsyncDisposable> => {
    const ended = new AbortController();
    const editing = editRepeatedly(stage, namespace, names, ended.signal);
    await sleep(3_000);
    return {
      async [Symbol.asyncDispose]() {
        ended.abort();
        await editing;
      },
    };
  };
  const arms = [
    { label: "edits that the operator does not see", namespaces: [healthy.namespace], start },
    { label: "without edits", namespaces: [healthy.namespace] },
    { label: "next to the edited resources", namespaces: [healthy.namespace, namespace], start },
  ];
  return { stage, healthy, arms, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function changeAll(client: VaultClient, names: readonly string[]): Promise<void> {
  for (const name of names) await protect(client, name, `${name} ${performance.now()}`);
}

/** Changes the spec of one resource after the other; each change concerns the operator, and none changes the target. */
async function editRepeatedly(stage: Stage, namespace: string, names: readonly string[], signal: AbortSignal): Promise<void> {
  const from = performance.now();
  const pending = new Set<Promise<void>>();
  for (let edit = 0; !signal.aborted; edit += 1) {
    const name = names[edit % names.length] ?? "";
    const spec = { target: { whenRemoved: Math.floor(edit / names.length) % 2 === 0 ? "Delete" : "Retain" } };
    const sent = stage.kube.patch("VaultSecret", namespace, name, { spec }).finally(() => pending.delete(sent));
    pending.add(sent);
    await sleep(Math.max(0, from + ((edit + 1) * 1_000) / HOT_EDITS_PER_SECOND - performance.now()));
  }
  await Promise.all(pending);
}
