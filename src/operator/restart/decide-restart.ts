import { nextOpening, type TimeWindow } from "../lib/window.ts";
import { contentOf, type RestartState } from "./restart-state.ts";

/** The content of a target that the pods of a workload use. */
export interface SourceContent {
  /** `<id of the key>.<digest>`; digests under different keys cannot be compared. */
  readonly digest: string;
  /**
   * Time of the last change in milliseconds since the epoch; `undefined`: it counts from the time at
   * which it is seen.
   */
  readonly changedAt: number | undefined;
  /** The times in which its changes restart the workload; none: always. */
  readonly windows?: readonly TimeWindow[] | undefined;
}

export interface RestartInput {
  /**
   * The content of all targets that the workload uses, by source; `undefined` if the source was not
   * synced yet.
   */
  readonly sources: ReadonlyMap<string, SourceContent | undefined>;
  readonly state: RestartState;
  /**
   * Time at which the first change was seen that no restart has followed, in milliseconds since the
   * epoch.
   */
  readonly pendingSince: number | undefined;
  /** Content that this process has restarted this workload for last. */
  readonly restartedFor: string | undefined;
  /** Duration of the quiet window in milliseconds. */
  readonly windowMs: number;
  readonly now: number;
}

export type RestartDecision =
  /** The pods have the current content. */
  | { readonly action: "none" }
  /** Store the content of the sources without a restart. */
  | { readonly action: "record"; readonly sources: ReadonlyMap<string, string> }
  /**
   * The quiet window that began at `since` ends in `ms`; or the first window of what changed opens
   * then, at `opensAt`.
   */
  | {
      readonly action: "wait";
      readonly ms: number;
      readonly since: number;
      readonly opensAt?: number;
    }
  | {
      readonly action: "restart";
      readonly sources: ReadonlyMap<string, string>;
      readonly content: string;
      /** The sources that changed. */
      readonly changed: readonly string[];
    };

/**
 * Returns the digests of the sources. A source that is not synced because it was recreated has its
 * recorded digest.
 */
export function currentContent({
  sources,
  state,
}: Pick<RestartInput, "sources" | "state">): Map<string, string> {
  const current = new Map<string, string>();
  for (const [source, content] of sources) {
    const digest = content?.digest ?? state.sources.get(source);
    if (digest !== undefined) current.set(source, digest);
  }
  return current;
}

/** The sources compared with the record. */
interface Comparison {
  /** The sources that changed since they were recorded. */
  readonly changed: readonly string[];
  /** The record with the sources that it lacks or that are under another key, if there are any. */
  readonly completed: ReadonlyMap<string, string> | undefined;
}

function compare({ sources, state }: RestartInput): Comparison {
  const changed: string[] = [];
  const added: [string, string][] = [];
  for (const [source, content] of sources) {
    const before = state.sources.get(source);
    if (content === undefined || before === content.digest) continue;
    const { digest } = content;
    if (before !== undefined && keyOf(before) === keyOf(digest)) changed.push(source);
    else added.push([source, digest]);
  }
  return {
    changed,
    completed: added.length === 0 ? undefined : new Map([...state.sources, ...added]),
  };
}

const keyOf = (digest: string): string => digest.slice(0, digest.indexOf("."));

/**
 * Decides what to do about a workload; see docs/design/restarts.md#decision. Level-triggered: it
 * compares the current content of the sources with the content that the workload records.
 *
 * - A source without a record is recorded: its first sync is no reason for a restart. So is one
 *   whose record is under another key.
 * - The quiet window begins with the first change, and at the end of the window of the last restart
 *   at the earliest. Further changes do not extend it.
 * - A change whose windows are closed waits for the next one. Nothing waits for the window of
 *   another source.
 * - A record that another writer reverted leads to no second restart for the same content.
 */
export function decideRestart(input: RestartInput): RestartDecision {
  const { sources, state, restartedFor, windowMs, now } = input;
  const { changed, completed } = compare(input);
  if (completed !== undefined) return { action: "record", sources: completed };
  if (changed.length === 0) return { action: "none" };
  const current = currentContent(input);
  const content = contentOf(current);
  if (content === restartedFor) return { action: "record", sources: current };
  // A time in the future, of a clock that was ahead, is unknown.
  const since = Math.min(
    input.pendingSince ?? now,
    ...changed.map((source) => sources.get(source)?.changedAt ?? now),
  );
  const { at = 0 } = state.restart ?? {};
  const ms = Math.max(since, at > now ? since : at) + windowMs - now;
  const opensAt = opening(input, changed);
  if (opensAt !== undefined && opensAt - now > ms)
    return { action: "wait", ms: opensAt - now, since, opensAt };
  return ms > 0
    ? { action: "wait", ms, since }
    : { action: "restart", sources: current, content, changed };
}

/**
 * Returns the time at which the first window of what changed opens; `undefined` if one is open, or
 * if some of it waits for none. The pods that a restart starts use the rest as well.
 */
function opening({ sources, now }: RestartInput, changed: readonly string[]): number | undefined {
  const times = changed.map((source) => nextOpening(sources.get(source)?.windows ?? [], now));
  return times.includes(undefined) ? undefined : Math.min(...times.map((at) => at ?? now));
}
