import {
  currentContent,
  decideRestart,
  type RestartDecision,
  type RestartInput,
} from "../../restart/decide-restart.ts";
import { contentOf, type RestartState } from "../../restart/restart-state.ts";

/**
 * Facts about one workload that are kept between two reconciles. The cluster has everything that
 * must survive this process.
 */
export interface RestartMemory {
  readonly uid: string;
  pendingSince?: number | undefined;
  /** Content of the last restart by this process, until another one is recorded. */
  restartedFor?: string | undefined;
  /** Time at which the rollout was last seen paused, in milliseconds since the epoch. */
  pausedAt?: number;
  /** The rollout was paused when it was last read. */
  paused?: boolean;
  /** Time at which the window opens that the restart waits for, in milliseconds since the epoch. */
  opensAt?: number | undefined;
  /** The restart waits for the rollouts of other workloads. */
  queued?: boolean;
  /** Monotonic time of the last read during a rollout. */
  readAt?: number;
  /** The last record that was seen, and the generation of the workload that had it. */
  known?: { readonly sources: RestartState["sources"]; readonly generation: number };
  /** Digest of the pod template that was read or written last with a record. */
  template?: string;
  /** Text of the last record without a restart, and its monotonic time. */
  recorded?: { readonly text: string; readonly at: number };
  /** Message of a restart that the API server rejected, until one succeeds. */
  failure?: string | undefined;
  /** Message about a rollout in progress. */
  progress?: string | undefined;
}

/** State of a workload and content of its sources at a time. */
type Shown = Omit<RestartInput, "pendingSince" | "restartedFor">;

/** Decides by what is shown, and remembers what the next decision needs. */
function decideAndRemember(memory: RestartMemory, shown: Shown): RestartDecision {
  const { pendingSince, restartedFor } = memory;
  const decision = decideRestart({ ...shown, pendingSince, restartedFor });
  memory.opensAt = decision.action === "wait" ? decision.opensAt : undefined;
  if (decision.action === "wait") memory.pendingSince = decision.since;
  if (decision.action === "none") {
    memory.pendingSince = undefined;
    // Pods that started since may have the recorded content: the former one is a change again.
    const isOther = contentOf(currentContent(shown)) !== restartedFor;
    if (restartedFor !== undefined && isOther) memory.restartedFor = undefined;
  }
  return decision;
}

/** Reports whether a pod template is another one than before, as far as known. */
const isOther = (template: string | undefined, before: string | undefined): boolean =>
  template === undefined || template !== before;

/**
 * Decides about a workload, and remembers what the next decision needs. A record that another
 * writer removed is restored before anything else: without it, a change that waits for the end of
 * its window would be the first content. Where the pod template changed with it, the pods have
 * started since, with the current content.
 *
 * @param generation of the workload that shows the state
 * @param template digest of its pod template, if it was read
 */
export function decideWithMemory(
  memory: RestartMemory,
  shown: Shown,
  generation: number,
  template?: string,
): RestartDecision {
  const { state, now } = shown;
  // Without a source the workload is restarted for nothing any more, and not written.
  if (shown.sources.size === 0) return decideAndRemember(memory, shown);
  if (state.sources.size > 0) {
    memory.known = { sources: state.sources, generation };
    if (template !== undefined) memory.template = template;
    return decideAndRemember(memory, shown);
  }
  const { known, template: before = template } = memory;
  if (known === undefined || (known.generation !== generation && isOther(template, before)))
    return decideAndRemember(memory, shown);
  const { sources } = known;
  const decision = decideAndRemember(memory, { ...shown, state: { ...state, sources } });
  if (decision.action === "restart") memory.pendingSince ??= now;
  return decision.action === "record" ? decision : { action: "record", sources };
}
