import { isDeepStrictEqual } from "node:util";
import { RESTART_STATE_ANNOTATION } from "../../../src/operator/api/names.ts";
import { workloadDescriptor } from "../../../src/operator/controllers/restart/workload.ts";
import {
  parseRestartState,
  type RestartState,
} from "../../../src/operator/restart/restart-state.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import type { Change } from "../../lab/simulated/api-server/collection.ts";
import { isFanOut } from "../fanned-out.ts";
import { isServed } from "../reach.ts";
import { Violation, type World } from "../world.ts";
import type { KnownSpecs } from "./spec-history.ts";
import { areClosed } from "./spec-items.ts";
import { asksForRestart, AUTO_WORKLOAD, WORKLOAD } from "../workloads.ts";

/** Time in ms in which two leaders write the record of a workload over each other's even later. */
const OVERWRITTEN_MS = 15_000;

/** Longest time of a request, in milliseconds: the window may have closed since. */
const SENT_MS = 60_000;

const templateOf = ({ spec }: KubeObject): unknown =>
  (spec as { readonly template: unknown }).template;

/** Returns the fields of a workload that the operator never changes. */
function othersOf({ spec, status, metadata }: KubeObject): unknown {
  const { template, ...others } = spec as { readonly template: { readonly spec: unknown } };
  return { ...others, pod: template.spec, status, labels: metadata.labels };
}

const stateOf = ({ metadata }: KubeObject): RestartState =>
  parseRestartState(metadata.annotations?.[RESTART_STATE_ANNOTATION]);

/**
 * A write to a workload changes two annotations and nothing else. A restart has a reason, and is a
 * quiet window after the last one (I15).
 */
export function checkWorkload(
  world: World,
  history: KnownSpecs,
  { before, after, user }: Change,
): void {
  const windowMs = world.replicas.configOf(user).restartWindow;
  if (before === undefined || after === undefined)
    throw new Violation("I15", "the operator created or deleted a workload");
  const name = `${after.kind} ${after.metadata.namespace}/${after.metadata.name}`;
  if (!isDeepStrictEqual(othersOf(before), othersOf(after)))
    throw new Violation("I15", `${name} was changed`);
  const isAuto = before.metadata.name === AUTO_WORKLOAD;
  const [former, now] = [stateOf(before), stateOf(after)];
  // The rollout that a process with another flag started gets its result.
  const isOpen = former.restart !== undefined && former.restart.result === undefined;
  if (isAuto && !isOpen && world.replicas.configOf(user).autoRestart === "off")
    throw new Violation("I15", `${name} was written in spite of --auto-restart=off`);
  const changed = [...now.sources].filter(
    ([source, digest]) => (former.sources.get(source) ?? digest) !== digest,
  );
  if (isDeepStrictEqual(templateOf(before), templateOf(after))) {
    // A leader that restarted the workload for what its watch shows repeats its record instead of
    // restarting it again.
    if (changed.length === 0 || world.mayHaveTwoLeaders(OVERWRITTEN_MS + windowMs)) return;
    throw new Violation(
      "I15",
      `${name} was not restarted although the content of ${changed[0]?.[0]} has changed`,
    );
  }
  if (changed.length === 0)
    throw new Violation("I15", `${name} was restarted although no content has changed`);
  if (changed.every(([source]) => waitsForWindow(world, history, after, source)))
    throw new Violation("I15", `${name} was restarted outside of its windows`);
  const sinceMs = (now.restart?.at ?? 0) - (former.restart?.at ?? 0);
  // Each replica measures the window with its own clock. Two leaders do not restart it twice: a
  // restart requires the version that was read.
  if (world.greatestSkewMs === 0 && sinceMs < windowMs)
    throw new Violation("I15", `${name} was restarted again after ${sinceMs} ms`);
}

interface Restarting {
  readonly rolloutRestart?: readonly {
    readonly kind: string;
    readonly windows?: readonly { readonly schedule: string; readonly duration: string }[];
  }[];
}

/**
 * Reports whether a change of a resource must not restart a workload now, whichever of its recent
 * specs the operator knows.
 */
function waitsForWindow(
  { clock, greatestSkewMs }: World,
  history: KnownSpecs,
  { kind, metadata: { namespace, name } }: KubeObject,
  source: string,
): boolean {
  const specs = history.recent(namespace, source) as readonly Restarting[];
  if (greatestSkewMs > 0 || name !== WORKLOAD || specs.length === 0) return false;
  return specs.every(({ rolloutRestart = [] }) => {
    const own = rolloutRestart.filter((reference) => reference.kind === kind);
    const windows = own.flatMap((reference) => reference.windows ?? []);
    const isAlways = own.some((reference) => reference.windows === undefined);
    return !isAlways && [0, SENT_MS].every((ms) => areClosed(windows, clock.now() - ms));
  });
}

/**
 * Returns the resource whose content a workload does not have, although nothing happens any more;
 * `undefined` if there is none.
 */
export function outdatedWorkload(world: World): string | undefined {
  const { server } = world;
  for (const resource of world.resources) {
    const { namespace = "" } = resource.metadata;
    if (!isServed(world, resource)) continue;
    const workloads = Object.values(workloadDescriptor).flatMap((kind) => server.all(kind));
    for (const workload of workloads.filter(({ metadata }) => metadata.namespace === namespace)) {
      const problem = isRestartedFor(world, workload, resource) && outdated(workload, resource);
      if (problem) return problem;
    }
  }
  return undefined;
}

/**
 * Reports whether a workload is restarted for the content of a resource: the resource names it, or
 * it asks for it.
 */
function isRestartedFor(
  { replicas }: World,
  workload: KubeObject,
  { kind, spec, status }: KubeObject,
): boolean {
  const { rolloutRestart = [] } = spec as { rolloutRestart?: readonly { readonly kind: string }[] };
  const { target } = (status ?? {}) as { target?: { kind: string; name: string; digest?: string } };
  const { shards, targetWatch } = replicas.config;
  const isUnseen =
    isFanOut(kind) && target?.kind === "Secret" && shards > 1 && targetWatch === "off";
  if (target?.digest === undefined || isUnseen) return false;
  const isNamed =
    workload.metadata.name === WORKLOAD && rolloutRestart.some((one) => one.kind === workload.kind);
  return isNamed || (replicas.config.autoRestart === "on" && asksForRestart(workload, target));
}

function outdated(
  workload: KubeObject,
  { kind, metadata: { name }, status }: KubeObject,
): string | undefined {
  const { target } = status as { target: { digest: string } };
  const state = stateOf(workload);
  const shown = `${workload.kind} ${workload.metadata.namespace}/${workload.metadata.name}`;
  if (state.sources.get(`${kind}/${name}`) !== target.digest)
    return `${shown} was not restarted for ${kind} ${name}`;
  const isOpen = state.restart !== undefined && state.restart.result === undefined;
  return isOpen ? `the rollout of ${shown} has no result` : undefined;
}
