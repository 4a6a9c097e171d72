import { readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { OPERATOR_USER } from "../../../test/lab/real/world.ts";
import { waitUntil } from "../../../test/lab/clock/wait-until.ts";
import type { OperatorProcess } from "../../../test/lab/real/processes/operator-process.ts";
import { accountOf } from "./content.ts";
import { cpuSeconds, residentMiB } from "./process-usage.ts";
import { Stage, workOf, type VaultProgram } from "./stage.ts";

export interface SizeSettings {
  /** Number of connections that share the resources. */
  readonly connections: number;
  /** Number of secrets of each account that no resource refers to. */
  readonly entries: number;
  /** Duration of the measurement without changes. */
  readonly seconds: number;
  /** Limit of the operator's memory. */
  readonly limitMiB: number;
  readonly vault: VaultProgram;
  /** Directory for heap snapshots. */
  readonly snapshots: string | undefined;
}

type Figures = Readonly<Record<string, number>>;

/** Settings, and the resources of one namespace that are measured. */
interface Size extends SizeSettings {
  readonly namespace: string;
  readonly resources: number;
}

const TIMEOUT_MS = 3_600_000;
/** Time after a start until its garbage is collected, in milliseconds. */
const SETTLING_MS = 20_000;
const KIB = 1_024;

/**
 * Measures a cold start, a time without changes and a warm restart of an operator with so many
 * resources.
 */
export async function measureSize(resources: number, settings: SizeSettings): Promise<Figures> {
  const connections = Array.from({ length: settings.connections }, (_, index) => index);
  await using stage = await Stage.start(connections.map(accountOf), settings.vault);
  const namespace = await stage.plane.createNamespace("size");
  const size: Size = { ...settings, namespace, resources };
  const empty = await stage.etcdBytes();
  await createResources(stage, size, connections);
  const created = await stage.etcdBytes();
  const cold = await measureStart(stage, size, "cold start");
  const synced = await stage.etcdBytes();
  stage.progress.note(`${resources} resources are in sync`);
  return {
    ...cold,
    ...(resources > 0 && {
      "etcd, KiB per resource as created": (created - empty) / KIB / resources,
      "etcd, KiB more per resource in sync": (synced - created) / KIB / resources,
      ...(await listedSizes(stage, size)),
      ...(await measureStart(stage, size, "warm restart")),
    }),
    "vault: resident memory, MiB": (await residentMiB(stage.vault.pid)).now,
  };
}

async function createResources(
  stage: Stage,
  { namespace, resources, entries }: Size,
  connections: readonly number[],
): Promise<void> {
  const share = (connection: number): string[] =>
    Array.from(
      { length: Math.ceil((resources - connection) / connections.length) },
      (_, at) => `s-${connection}-${at}`,
    );
  const unrelated = Array.from({ length: entries }, (_, at) => `unrelated-${at}`);
  for (const connection of connections) {
    const client = await stage.client(accountOf(connection));
    await stage.fill(client, [...share(connection), ...unrelated]);
    stage.progress.update(`${connection + 1} of ${connections.length} accounts are filled`);
  }
  const specs = connections.map(
    (connection) => [`c-${connection}`, { email: accountOf(connection) }] as const,
  );
  await stage.connections(namespace, new Map(specs));
  for (const connection of connections)
    await stage.secrets(namespace, `c-${connection}`, share(connection));
  stage.progress.note(`${resources} resources of ${connections.length} connections are created`);
}

/** Measures the memory and CPU time of a start, and of a time without changes after it. */
async function measureStart(stage: Stage, size: Size, name: string): Promise<Figures> {
  const { snapshots, limitMiB } = size;
  const start = await requestsSince(stage);
  const nodeArgs = snapshots === undefined ? [] : heapSnapshots(snapshots);
  const from = performance.now();
  await using operator = await stage.operator([], { nodeArgs, limitMiB });
  await settled(stage, size, operator);
  const seconds = (performance.now() - from) / 1_000;
  const cpu = await cpuSeconds(operator.pid);
  const { api, vault } = await start();
  await sleep(SETTLING_MS);
  const idle = await measureIdle(stage, size.seconds, operator);
  const { now, anonymous, peak } = await residentMiB(operator.pid);
  if (snapshots !== undefined) await takeSnapshot(operator, snapshots);
  const figures = {
    "time until all are in sync, s": seconds,
    "CPU until all are in sync, s": cpu,
    "requests to the API server": api,
    "requests to the vault": vault,
    "peak of the resident memory, MiB": peak,
    "resident memory at rest, MiB": now,
    "without files, MiB": anonymous,
    ...idle,
  };
  return Object.fromEntries(
    Object.entries(figures).map(([figure, value]) => [`${name}: ${figure}`, value]),
  );
}

async function measureIdle(
  stage: Stage,
  seconds: number,
  operator: OperatorProcess,
): Promise<Figures> {
  const end = await requestsSince(stage);
  const before = await cpuSeconds(operator.pid);
  await sleep(seconds * 1_000);
  const cpu = (await cpuSeconds(operator.pid)) - before;
  const { api, vault } = await end();
  const minutes = seconds / 60;
  return {
    "CPU per minute at rest, s": cpu / minutes,
    "requests to the API server per minute at rest": api / minutes,
    "requests to the vault per minute at rest": vault / minutes,
  };
}

/** Returns a function that counts the operator's requests since this call. */
async function requestsSince(
  stage: Stage,
): Promise<() => Promise<{ readonly api: number; readonly vault: number }>> {
  const since = await stage.plane.auditMark();
  const vaultTotal = async (): Promise<number> =>
    (await stage.vaultRequests()).values().reduce((sum, one) => sum + one, 0);
  const before = await vaultTotal();
  return async () => {
    const events = await stage.plane.auditEvents({ since });
    const api = events.filter(({ user }) => user.username === OPERATOR_USER).length;
    return { api, vault: (await vaultTotal()) - before };
  };
}

async function settled(
  stage: Stage,
  { namespace, resources, connections }: Size,
  operator: OperatorProcess,
): Promise<void> {
  if (resources === 0) return;
  const isDone = async (): Promise<boolean> => {
    const { isQuiet } = await workOf(operator, resources, connections);
    return isQuiet && (await stage.readyCount("VaultSecret", namespace)) === resources;
  };
  await waitUntil(`${resources} resources are Ready`, isDone, TIMEOUT_MS, 1_000);
}

/**
 * Returns the sizes of a resource and of a target's metadata as a list contains them, and an event
 * of a watch nearly so.
 */
async function listedSizes(stage: Stage, { namespace, resources }: Size): Promise<Figures> {
  return {
    "bytes of a resource in a list or watch":
      (await stage.kube.listedBytes("VaultSecret", namespace)) / resources,
    "bytes of a target's metadata in a list or watch":
      (await stage.kube.listedBytes("Secret", namespace, true)) / resources,
  };
}

const heapSnapshots = (directory: string): string[] => [
  "--heapsnapshot-signal=SIGUSR2",
  `--diagnostic-dir=${directory}`,
];

async function takeSnapshot(operator: OperatorProcess, directory: string): Promise<void> {
  const before = (await readdir(directory)).length;
  operator.signal("SIGUSR2");
  await waitUntil(
    "a heap snapshot is written",
    async () => (await readdir(directory)).length > before,
    TIMEOUT_MS,
    1_000,
  );
  await sleep(SETTLING_MS);
}
