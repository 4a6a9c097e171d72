import { TemplateFault } from "./template-fault.ts";

/** Work for one target in the thread of the event loop: less than 50 ms. */
export const INLINE_UNITS = 512 * 1024;
/** Work for one target: 32 hashes of passwords, some 2 s. */
export const MAX_UNITS = 16 * 1024 * 1024;

/** More work than this rendering may do. */
export class BudgetExceeded extends TemplateFault {
  override name = "BudgetExceeded";

  constructor() {
    super(
      "the templates do more work than one target may take: use fewer loops and functions, or several targets",
    );
  }
}

/**
 * The work that one rendering may do, independently of the speed of the machine. One unit is about
 * one byte that is read or written, some 10 ns.
 */
export class Budget {
  #left: number;

  constructor(units: number) {
    this.#left = units;
  }

  /** @throws BudgetExceeded */
  spend(units: number): void {
    this.#left -= units;
    if (this.#left < 0) throw new BudgetExceeded();
  }
}
