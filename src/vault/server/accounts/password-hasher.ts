import type { Verified } from "../context.ts";
import type { PasswordCost } from "../limits.ts";
import { costOf, hashPassword, verifyPassword } from "./password.ts";

/** Maximum number of outdated costs that every login takes the time of. */
const MAX_OUTDATED = 3;

interface HasherOptions {
  /** Cost of new hashes. */
  readonly cost: PasswordCost;
  /** Stored hashes, one for each cost in use. */
  readonly stored: readonly string[];
  readonly onHash: (cost: PasswordCost) => void;
}

function isSame(one: PasswordCost, other: PasswordCost): boolean {
  return (
    one.memoryKib === other.memoryKib && one.passes === other.passes && one.lanes === other.lanes
  );
}

/** Returns the cost of a stored hash, `undefined` when it cannot be used. */
function usableCost(stored: string): PasswordCost | undefined {
  try {
    return costOf(stored);
  } catch {
    return undefined;
  }
}

/**
 * Hashes and verifies passwords. While stored hashes have an outdated cost, every login takes the
 * time of all costs in use, so that it does not reveal which users exist
 * (docs/design/security.md#account-enumeration).
 */
export class PasswordHasher {
  readonly #cost: PasswordCost;
  readonly #outdated: PasswordCost[] = [];
  readonly #onHash: (cost: PasswordCost) => void;

  constructor({ cost, stored, onHash }: HasherOptions) {
    this.#cost = cost;
    this.#onHash = onHash;
    for (const hash of stored) this.#remember(usableCost(hash));
  }

  #remember(cost: PasswordCost | undefined): void {
    if (cost === undefined || [this.#cost, ...this.#outdated].some((known) => isSame(known, cost)))
      return;
    if (this.#outdated.length < MAX_OUTDATED) this.#outdated.push(cost);
  }

  /** Hashes a new password. */
  hash(password: string): Promise<string> {
    return this.#hash(password, this.#cost);
  }

  #hash(password: string, cost: PasswordCost): Promise<string> {
    this.#onHash(cost);
    return hashPassword(password, cost);
  }

  /**
   * Verifies a password; without a stored hash, for an unknown user, it matches none and takes as
   * long.
   * @throws Error when the stored hash is malformed or its cost is too high
   */
  async verify(stored: string | undefined, password: string): Promise<Verified> {
    const own = stored === undefined ? undefined : costOf(stored);
    this.#remember(own);
    let matches = false;
    let renewed: string | undefined;
    for (const cost of [this.#cost, ...this.#outdated]) {
      if (stored !== undefined && own && isSame(own, cost)) {
        this.#onHash(cost);
        matches = await verifyPassword(stored, password);
      } else {
        const hash = await this.#hash(password, cost);
        if (own && cost === this.#cost) renewed = hash;
      }
    }
    return { matches, renewed };
  }
}
