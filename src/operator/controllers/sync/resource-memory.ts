import type { Report } from "../../sync/report.ts";
import type { Deadlines } from "./resolve-items.ts";

/** Facts about one resource that are kept between two reconciles, in addition to its status. */
export interface Memory {
  readonly uid: string;
  deadlines: Deadlines | undefined;
  /** Effects of an earlier reconcile that no status shows yet, because writing it failed. */
  unreported: Report | undefined;
}

/** The memory of all resources, by their keys in the queue. */
export class ResourceMemory {
  readonly #memory = new Map<string, Memory>();

  /**
   * Returns the memory of this very object. A reconcile that outlives the object changes only its
   * own copy.
   */
  of(key: string, uid: string): Memory {
    const known = this.#memory.get(key);
    if (known?.uid === uid) return known;
    const memory: Memory = { uid, deadlines: undefined, unreported: undefined };
    this.#memory.set(key, memory);
    return memory;
  }

  forget(key: string): void {
    this.#memory.delete(key);
  }
}
