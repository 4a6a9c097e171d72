import {
  cpuSeconds,
  groupCpuSeconds,
  type Transferred,
  transferredBytes,
} from "./process-usage.ts";
import type { RunningSubject, Subject } from "./subject.ts";
import type { Stage } from "./stage.ts";

const isTarget = (name = ""): boolean => name.startsWith("s-");
const WRITES = ["create", "update", "patch", "delete"];

/**
 * Requests and CPU time of a subject in a phase, counted by the API server, the vault and the
 * kernel.
 */
export interface Costs {
  readonly targetWrites: number;
  readonly targetReads: number;
  readonly statusWrites: number;
  readonly eventWrites: number;
  /** Requests to the vault by operation and status. */
  readonly vault: ReadonlyMap<string, number>;
  readonly vaultRequests: number;
  readonly cpuSeconds: number;
  /** Bytes, with the files that it loads if the phase begins with the start of the process. */
  readonly transferred: Transferred;
  /** CPU time of the API server, etcd and the controller manager. */
  readonly planeCpuSeconds: number;
  /** CPU time of the vault, and of the benchmark with its watches and its proxy. */
  readonly aroundCpuSeconds: number;
}

/** Begins to count, and returns a function that returns the costs since then. */
export async function beginCosts(
  stage: Stage,
  subject: Subject,
  namespace: string,
  running?: RunningSubject,
): Promise<(running: RunningSubject) => Promise<Costs>> {
  const since = await stage.plane.auditMark();
  const before = await stage.vaultRequests();
  const planeBefore = await groupCpuSeconds(stage.plane.processGroup);
  const around = async (): Promise<number> =>
    (await cpuSeconds(stage.vault.pid)) + (await cpuSeconds(process.pid));
  const aroundBefore = await around();
  const cpuBefore = running === undefined ? 0 : await cpuSeconds(running.pid);
  const bytesBefore =
    running === undefined ? { read: 0, written: 0 } : await transferredBytes(running.pid);
  return async (now) => {
    const cpu = (await cpuSeconds(now.pid)) - cpuBefore;
    const { read, written } = await transferredBytes(now.pid);
    const planeCpuSeconds = (await groupCpuSeconds(stage.plane.processGroup)) - planeBefore;
    const aroundCpuSeconds = (await around()) - aroundBefore;
    const after = await stage.vaultRequests();
    const vault = new Map([...after].map(([key, count]) => [key, count - (before.get(key) ?? 0)]));
    const events = (await stage.plane.auditEvents({ since })).filter(
      ({ user, objectRef }) => user.username === subject.user && objectRef?.namespace === namespace,
    );
    const count = (resource: string, verbs: readonly string[]): number =>
      events.filter(
        ({ verb, objectRef }) => objectRef?.resource === resource && verbs.includes(verb),
      ).length;
    return {
      targetWrites: count("secrets", WRITES),
      targetReads: events.filter(
        ({ verb, objectRef }) =>
          verb === "get" && objectRef?.resource === "secrets" && isTarget(objectRef.name),
      ).length,
      statusWrites: count(subject.plural, WRITES),
      eventWrites: count("events", WRITES),
      vault,
      vaultRequests: [...vault.values()].reduce((sum, requests) => sum + requests, 0),
      cpuSeconds: cpu,
      transferred: { read: read - bytesBefore.read, written: written - bytesBefore.written },
      planeCpuSeconds,
      aroundCpuSeconds,
    };
  };
}

/** Returns the requests of an operation, whatever their status. */
export function requestsTo({ vault }: Costs, ...operations: readonly string[]): number {
  return [...vault].reduce(
    (sum, [key, count]) => (operations.includes(key.split(" ")[0] ?? "") ? sum + count : sum),
    0,
  );
}

export const EXPOSES = ["expose", "version_expose", "expose_link", "version_expose_link"];
export const LISTS = ["list_no_dup", "list_file"];
