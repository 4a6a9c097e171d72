import type { Change } from "./cluster-view.ts";
import { formatFingerprint, isEqual, type ShownObject } from "./shown-object.ts";
import { Interrupted } from "./preparation.ts";
import { bad, bold, dim, good, screen, seconds } from "./output.ts";
import type { Stage } from "./setup.ts";
import { messageOf } from "../../src/lib/errors.ts";

/** A step whose expectation was not met. */
export class StepFailure extends Error {
  constructor({ title, expected }: StepHead, seen: string) {
    super(
      [
        `${bad("✗")} This step failed: ${title}`,
        `  expected  ${expected}`,
        `  seen      ${seen}`,
      ].join("\n"),
    );
    this.name = "StepFailure";
  }
}

/**
 * The action of a step and its expected effect. The step fails when it takes longer than `limitMs`.
 */
export interface StepHead {
  readonly title: string;
  readonly expected: string;
  readonly limitMs: number;
}

/** Runs one step and prints it. @throws StepFailure for any failure; Interrupted */
export async function runStep<T>(
  stage: Stage,
  head: StepHead,
  run: (step: Step) => Promise<T>,
): Promise<T> {
  using step = new Step(stage, head);
  try {
    return await run(step);
  } catch (error) {
    if (error instanceof Interrupted || error instanceof StepFailure) throw error;
    throw step.failure(messageOf(error));
  }
}

/**
 * Prints the title, each change of a target and each restart (with --verbose: each change of every
 * object) as it arrives, and the result.
 */
export class Step implements Disposable {
  readonly #stage: Stage;
  readonly #head: StepHead;
  readonly #listener: Disposable;
  readonly #signal: AbortSignal;
  readonly #deadline: AbortSignal;
  /** Start of the printed times, in ms since the epoch. */
  #start = Date.now();

  constructor(stage: Stage, head: StepHead) {
    this.#stage = stage;
    this.#head = head;
    this.#deadline = AbortSignal.timeout(head.limitMs);
    this.#signal = AbortSignal.any([stage.signal, this.#deadline]);
    screen.note(`\n${bold(head.title)}`);
    this.detail(`expected: ${head.expected}`);
    this.#listener = stage.view.onChange((change) => this.#show(change));
  }

  /** Records the step's action; later times are relative to `at`. */
  acted(what: string, at = Date.now()): void {
    this.#start = at;
    this.detail(what, "0.00 s");
  }

  /** Aborted with the demo, and at the step's time limit. */
  get signal(): AbortSignal {
    return this.#signal;
  }

  /** Prints a line with --verbose only. */
  detail(what: string, time = ""): void {
    if (this.#stage.options.verbose) screen.note(`  ${time.padStart(8)}   ${dim(what)}`);
  }

  /**
   * Prints the progress of a wait: rewritten in place on a terminal, an occasional line elsewhere.
   */
  waiting(what: string): void {
    screen.update(`${" ".repeat(13)}${what}`);
  }

  /**
   * Returns the first change from `since` on that matches. @throws StepFailure after the step's
   * time limit
   */
  async until(what: string, matches: (change: Change) => boolean, since: number): Promise<Change> {
    try {
      return await this.#stage.view.until(matches, since, this.#signal);
    } catch (error) {
      if (error !== this.#deadline.reason) throw error;
      throw this.failure(`not within ${seconds(this.#head.limitMs)}: ${what}`);
    }
  }

  /** Prints the result of a step that succeeded. */
  done(what: string): void {
    screen.note(`  ${good("✓")} ${what}`);
  }

  failure(seen: string): StepFailure {
    return new StepFailure(this.#head, seen);
  }

  [Symbol.dispose](): void {
    this.#listener[Symbol.dispose]();
  }

  #show(change: Change): void {
    const line = describeChange(change);
    const isResult = ["Secret", "ConfigMap", "Deployment"].includes(change.object.kind);
    if (line === undefined || !(isResult || this.#stage.options.verbose)) return;
    screen.note(`  ${seconds(Math.max(0, change.at - this.#start)).padStart(8)}   ${line}`);
  }
}

/**
 * Describes a change in one line without a value. Returns undefined when nothing visible to a user
 * has changed.
 */
export function describeChange({ type, before, object }: Change): string | undefined {
  const name = `${object.kind} ${object.name}`;
  if (type === "deleted") return `${name} deleted`;
  if (object.kind === "Secret" || object.kind === "ConfigMap") {
    const keys = changedKeys(before, object);
    if (keys.length === 0 && type !== "added") return undefined;
    return `${name} ${type}: ${keys.join("; ")}`;
  }
  const { ready, waits, restart } = object;
  if (type === "added") return `${name} added`;
  if (restart !== before?.restart) return `${name} restarted: its pod template changed`;
  if (waits !== undefined && waits.message !== before?.waits?.message)
    return `${name} waits, ${waits.reason}: ${waits.message}`;
  if (
    ready === undefined ||
    (ready.status === before?.ready?.status && ready.reason === before.ready.reason)
  )
    return undefined;
  return `${name} is Ready=${ready.status}, ${ready.reason}${ready.status === "True" ? "" : `: ${ready.message}`}`;
}

function changedKeys(before: ShownObject | undefined, { content }: ShownObject): string[] {
  const changed = [...content]
    .filter(([key, print]) => !isEqual(before?.content.get(key), print))
    .map(([key, print]) => `${key} ${formatFingerprint(print)}`);
  const removed = [...(before?.content.keys() ?? [])]
    .filter((key) => !content.has(key))
    .map((key) => `${key} removed`);
  return [...changed, ...removed];
}
