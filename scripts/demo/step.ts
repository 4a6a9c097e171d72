import type { Change } from "./cluster-view.ts";
import { describeChange } from "./describe-change.ts";
import { Interrupted } from "./interruption.ts";
import { screen } from "./screen.ts";
import type { Stage } from "./stage.ts";
import { bad, bold, dim, good, seconds } from "./style.ts";

/** Something the story promised did not happen. */
export class StepFailure extends Error {
  constructor({ title, expected }: StepHead, seen: string) {
    super([`${bad("✗")} This step failed: ${title}`, `  expected  ${expected}`, `  seen      ${seen}`].join("\n"));
    this.name = "StepFailure";
  }
}

/** What is done and what should come of it; the step fails when it takes longer than `limitMs`. */
export interface StepHead {
  readonly title: string;
  readonly expected: string;
  readonly limitMs: number;
}

/** Tells one step on the screen. @throws StepFailure, whatever went wrong; Interrupted */
export async function tellStep<T>(stage: Stage, head: StepHead, tell: (step: Step) => Promise<T>): Promise<T> {
  using step = new Step(stage, head);
  try {
    return await tell(step);
  } catch (error) {
    if (error instanceof Interrupted || error instanceof StepFailure) throw error;
    throw step.failure(error instanceof Error ? error.message : String(error));
  }
}

/** One step of the story on the screen: what is done, what is expected, every change as it arrives, and how it ended. */
export class Step implements Disposable {
  readonly #stage: Stage;
  readonly #head: StepHead;
  readonly #listening: Disposable;
  readonly #signal: AbortSignal;
  readonly #deadline: AbortSignal;
  /** Times are counted from here, in milliseconds since the epoch. */
  #from = Date.now();

  constructor(stage: Stage, head: StepHead) {
    this.#stage = stage;
    this.#head = head;
    this.#deadline = AbortSignal.timeout(head.limitMs);
    this.#signal = AbortSignal.any([stage.signal, this.#deadline]);
    screen.note(`\n${bold(head.title)}\n  expected   ${head.expected}`);
    this.#listening = stage.view.onChange((change) => this.#show(change));
  }

  /** Says what was done, and counts from the moment it began. */
  did(what: string, at = Date.now()): void {
    this.#from = at;
    screen.note(`  ${"0.00 s".padStart(8)}   ${what}`);
  }

  note(what: string): void {
    screen.note(indented(what));
  }

  /** Where a wait stands: one line that is rewritten on a terminal, and now and then a line elsewhere. */
  waiting(what: string): void {
    screen.update(`${" ".repeat(13)}${what}`);
  }

  /** The first change from `since` on that `isIt`. @throws StepFailure when the step's time is over */
  async until(what: string, isIt: (change: Change) => boolean, since: number): Promise<Change> {
    try {
      return await this.#stage.view.until(isIt, since, this.#signal);
    } catch (error) {
      if (error !== this.#deadline.reason) throw error;
      throw this.failure(`not within ${seconds(this.#head.limitMs)}: ${what}`);
    }
  }

  done(what: string): void {
    screen.note(`  ${good("✓")} ${what}`);
  }

  failure(seen: string): StepFailure {
    return new StepFailure(this.#head, seen);
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
  }

  #show(change: Change): void {
    const line = describeChange(change);
    if (line !== undefined) screen.note(`  ${seconds(Math.max(0, change.at - this.#from)).padStart(8)}   ${line}`);
  }
}

const indented = (text: string): string => `  ${" ".repeat(8)}   ${dim(text)}`;
