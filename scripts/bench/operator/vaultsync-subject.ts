import type { OperatorProcess } from "../../../test/lab/real/processes/operator-process.ts";
import { waitUntil } from "../../../test/lab/clock/wait-until.ts";
import { OPERATOR_USER } from "../../../test/lab/real/world.ts";
import { accountOf } from "./content.ts";
import { workOf, type Stage } from "./stage.ts";
import { INTERVAL_SECONDS, type RunningSubject, type Subject, type Work } from "./subject.ts";

export interface Variant {
  /**
   * `list`: one connection for each account, followed as the vault supports it. `per-key`: a
   * connection for each resource, listed once per interval. The number of requests then grows with
   * the resources, as where every secret is polled.
   */
  readonly mode: "list" | "per-key";
  /** `main.js` of another build, measured as `before`. */
  readonly program?: string;
  /** Measures that program as the present one. */
  readonly isPresent?: boolean;
  /** Directory for a CPU profile of each process that ends. */
  readonly profiles: string | undefined;
  /** Runs it with the ServiceAccount and the memory of a pod. */
  readonly asInPod: boolean;
  /** Measures its live heap. */
  readonly heap?: boolean;
}

/** Prints the size of the heap after a collection whenever the process receives SIGUSR2. */
const PRINT_HEAP = `process.on("SIGUSR2", () => (gc(), console.error("live heap: " + process.memoryUsage().heapUsed)));`;
const HEAP_ARGS = [
  "--expose-gc",
  "--import",
  `data:text/javascript,${encodeURIComponent(PRINT_HEAP)}`,
];

const printedHeaps = ({ stderr }: { readonly stderr: string }): string[] =>
  Array.from(stderr.matchAll(/^live heap: (\d+)$/gmu), ([, bytes = ""]) => bytes);

async function liveHeapMiB(operator: OperatorProcess): Promise<number> {
  const before = printedHeaps(operator).length;
  operator.signal("SIGUSR2");
  const bytes = await operator.waitForOutput((output) => printedHeaps(output)[before]);
  return Number(bytes) / 1024 / 1024;
}

/** Limit of the operator's memory in `deploy/base`, in MiB. */
const LIMIT_MIB = 512;

/** This operator, or another build of it. */
export function vaultsync(variant: Variant): Subject {
  const { mode, program } = variant;
  return {
    label: [
      "vaultsync",
      ...(mode === "list" ? [] : ["per key"]),
      ...(program === undefined || variant.isPresent === true ? [] : ["before"]),
    ].join(" "),
    user: OPERATOR_USER,
    kind: "VaultSecret",
    plural: "vaultsecrets",
    prepare: () => Promise.resolve(),
    create: (stage, work) => (mode === "list" ? createLists(stage, work) : createKeys(stage, work)),
    start: (stage, namespace) => start(stage, namespace, variant),
    setWindows,
  };
}

/** Time within which the operator has read changed specs, in milliseconds. */
const OBSERVED_MS = 1_800_000;

const setWindows: NonNullable<Subject["setWindows"]> = async (stage, namespace, names, windows) => {
  const patch = { spec: { updates: { windows } } };
  await Promise.all(names.map((name) => stage.kube.patch("VaultSecret", namespace, name, patch)));
  await waitUntil(
    "all changed specs are observed",
    async () => (await stage.observedCount("VaultSecret", namespace)) === names.length,
    OBSERVED_MS,
    2_000,
  );
};

const connectionOf = (index: number): string => `c-${index}`;

async function createLists(stage: Stage, { namespace, content, url }: Work): Promise<void> {
  const connections = Array.from({ length: content.connections }, (_, index) => index);
  const specs = connections.map(
    (index) => [connectionOf(index), { url, email: accountOf(index) }] as const,
  );
  await stage.connections(namespace, new Map(specs));
  for (const index of connections) {
    const names = content.names.filter((_, at) => at % content.connections === index);
    await stage.secrets(namespace, connectionOf(index), names);
  }
}

async function createKeys(stage: Stage, { namespace, content, url }: Work): Promise<void> {
  const refreshInterval = `${INTERVAL_SECONDS}s`;
  const specs = content.names.map((_, at) => {
    const email = accountOf(at % content.connections);
    return [connectionOf(at), { url, email, refreshInterval, follow: "Interval" }] as const;
  });
  await stage.connections(namespace, new Map(specs));
  for (const [at, name] of content.names.entries())
    await stage.secrets(namespace, connectionOf(at), [name]);
}

async function start(stage: Stage, namespace: string, variant: Variant): Promise<RunningSubject> {
  const { mode, program, profiles, asInPod, heap = false } = variant;
  const nodeArgs = [
    ...(heap ? HEAP_ARGS : []),
    ...(profiles === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profiles}`]),
  ];
  const operator = await stage.operator([namespace], {
    nodeArgs,
    program,
    ...(asInPod && { limitMiB: LIMIT_MIB }),
  });
  return {
    pid: operator.pid,
    stop: (signal) => operator.stop(signal),
    isQuiet: async ({ names, connections }) =>
      (await workOf(operator, names.length, mode === "list" ? connections : names.length)).isQuiet,
    liveHeapMiB: heap ? () => liveHeapMiB(operator) : undefined,
    [Symbol.asyncDispose]: () => operator[Symbol.asyncDispose](),
  };
}
