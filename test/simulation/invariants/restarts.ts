import { isDeepStrictEqual } from "node:util";
import { RESTART_STATE_ANNOTATION } from "../../../src/operator/api/names.ts";
import { vaultFileKind, vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { workloadDescriptor } from "../../../src/operator/controllers/restart/workload.ts";
import { parseRestartState, type RestartState } from "../../../src/operator/restart/restart-state.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import type { Change } from "../../support/kube/in-memory/collection.ts";
import { Violation, type World } from "../world.ts";
import { WORKLOAD } from "../workloads.ts";

/** The quiet window of the operator. */
const WINDOW_MS = 30_000;
/** Time after a user has deleted the Lease in which two leaders may write the record of a workload over each other's. */
const TWO_LEADERS_MS = 75_000;

const templateOf = ({ spec }: KubeObject): unknown => (spec as { readonly template: unknown }).template;

/** Returns the fields of a workload that the operator never changes. */
function othersOf({ spec, status, metadata }: KubeObject): unknown {
  const { template, ...others } = spec as { readonly template: { readonly spec: unknown } };
  return { ...others, pod: template.spec, status, labels: metadata.labels };
}

const stateOf = ({ metadata }: KubeObject): RestartState => parseRestartState(metadata.annotations?.[RESTART_STATE_ANNOTATION]);

/**
 * A write to a workload changes two annotations and nothing else. A restart has a reason, and is a quiet window after the last one
 * (I15).
 */
export function checkWorkload(world: World, { before, after }: Change): void {
  if (before === undefined || after === undefined) throw new Violation("I15", "the operator created or deleted a workload");
  const name = `${after.metadata.namespace}/${after.metadata.name}`;
  if (!isDeepStrictEqual(othersOf(before), othersOf(after))) throw new Violation("I15", `${name} was changed`);
  const [former, now] = [stateOf(before), stateOf(after)];
  const changed = [...now.sources].filter(([source, digest]) => (former.sources.get(source) ?? digest) !== digest);
  if (isDeepStrictEqual(templateOf(before), templateOf(after))) {
    // A leader that restarted the workload for what its watch shows repeats its record instead of restarting it again.
    const hasOneLeader = world.clock.monotonic() - world.leaseDeletedAt > TWO_LEADERS_MS + WINDOW_MS;
    if (changed.length === 0 || !hasOneLeader) return;
    throw new Violation("I15", `${name} was not restarted although the content of ${changed[0]?.[0]} has changed`);
  }
  if (changed.length === 0) throw new Violation("I15", `${name} was restarted although no content has changed`);
  const sinceMs = (now.restart?.at ?? 0) - (former.restart?.at ?? 0);
  // Each replica measures the window with its own clock. Two leaders do not restart it twice: a restart requires the version that was read.
  if (world.greatestSkewMs === 0 && sinceMs < WINDOW_MS)
    throw new Violation("I15", `${name} was restarted again after ${sinceMs} ms`);
}

/** Returns the resource whose content a workload does not have, although nothing happens any more; `undefined` if there is none. */
export function outdatedWorkload({ server }: World): string | undefined {
  for (const resource of [...server.all(vaultSecretKind), ...server.all(vaultFileKind)]) {
    const { namespace, name } = resource.metadata;
    const { rolloutRestart } = resource["spec"] as { rolloutRestart?: unknown };
    const { target } = (resource["status"] ?? {}) as { target?: { digest?: string } };
    const workload = server.find(workloadDescriptor.Deployment, { namespace, name: WORKLOAD });
    if (rolloutRestart === undefined || target?.digest === undefined || workload === undefined) continue;
    const state = stateOf(workload);
    const recorded = state.sources.get(`${resource.kind}/${name}`);
    if (recorded !== target.digest) return `Deployment ${namespace}/${WORKLOAD} was not restarted for ${resource.kind} ${name}`;
    if (state.restart !== undefined && state.restart.result === undefined)
      return `the rollout of ${namespace}/${WORKLOAD} has no result`;
  }
  return undefined;
}
