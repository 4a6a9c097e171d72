import { findCondition } from "../../../src/operator/api/conditions.ts";
import { CONFIRM_REMOVALS_ANNOTATION } from "../../../src/operator/api/names.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import { Violation } from "../violation.ts";

/** Time in ms within which a confirmation ends a hold. */
const LIMIT_MS = 300_000;

/** Returns the number of removals that the status of a connection asks a user to confirm. */
export function heldRemovals(connection: KubeObject | undefined): string | undefined {
  const { conditions } = (connection?.["status"] ?? {}) as { readonly conditions?: [] };
  const message = findCondition(conditions, "RemovalsHeld")?.message ?? "";
  return /confirm-removals=(\d+)/.exec(message)?.[1];
}

/** Knows the last confirmation of a user, as long as nothing else happened since. */
export class Confirmations {
  #last: { readonly find: () => KubeObject | undefined; readonly held: string } | undefined;

  /** Records that a user confirmed removals of the connection that `find` returns. */
  confirmed(find: () => KubeObject | undefined, held: string): void {
    this.#last = { find, held };
  }

  /** Forgets the confirmation: another command follows. */
  disturbed(): void {
    this.#last = undefined;
  }

  /**
   * A confirmation that the operator has taken ends the hold (I27). Call it when `forMs` have passed
   * without another command and without faults.
   */
  check(forMs: number): void {
    if (this.#last === undefined || forMs < LIMIT_MS) return;
    const { find, held } = this.#last;
    const connection = find();
    const isTaken = connection?.metadata.annotations?.[CONFIRM_REMOVALS_ANNOTATION] === undefined;
    if (isTaken && heldRemovals(connection) === held)
      throw new Violation(
        "I27",
        `${connection?.kind} ${connection?.metadata.name}: ${held} removals are held, although a user confirmed them`,
      );
  }
}
