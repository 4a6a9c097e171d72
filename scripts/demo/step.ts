import type { Change, ClusterView } from "./cluster-view.ts";
import { describeChange } from "./describe-change.ts";
import { screen } from "./screen.ts";
import { bad, bold, dim, good, seconds } from "./style.ts";

/** Something the story promised did not happen. */
export class StepFailure extends Error {
  constructor(title: string, expected: string, seen: string) {
    super([`${bad("✗")} This step failed: ${title}`, `  expected  ${expected}`, `  seen      ${seen}`].join("\n"));
    this.name = "StepFailure";
  }
}

/** One step of the story on the screen: what is done, what is expected, every change as it arrives, and how it ended. */
export class Step implements Disposable {
  readonly #view: ClusterView;
  readonly #title: string;
  readonly #expected: string;
  readonly #listening: Disposable;
  readonly #signal: AbortSignal;
  readonly #deadline: AbortSignal;
  readonly #limitMs: number;
  /** Times are counted from here, in milliseconds since the epoch. */
  #from = Date.now();

  constructor(view: ClusterView, head: { title: string; expected: string; limitMs: number }, signal: AbortSignal) {
    this.#view = view;
    this.#title = head.title;
    this.#expected = head.expected;
    this.#limitMs = head.limitMs;
    this.#deadline = AbortSignal.timeout(head.limitMs);
    this.#signal = AbortSignal.any([signal, this.#deadline]);
    screen.note(`\n${bold(head.title)}\n  expected   ${head.expected}`);
    this.#listening = view.onChange((change) => this.#show(change));
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
    screen.update(indented(what));
  }

  /** The first change from `since` on that `isIt`. @throws StepFailure when the step's time is over */
  async until(what: string, isIt: (change: Change) => boolean, since: number): Promise<Change> {
    try {
      return await this.#view.until(isIt, since, this.#signal);
    } catch (error) {
      if (error !== this.#deadline.reason) throw error;
      throw this.failure(`not within ${seconds(this.#limitMs)}: ${what}`);
    }
  }

  done(what: string): void {
    screen.note(`  ${good("✓")} ${what}`);
  }

  failure(seen: string): StepFailure {
    return new StepFailure(this.#title, this.#expected, seen);
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
