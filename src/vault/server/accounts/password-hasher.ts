import type { Verified } from "../context.ts";
import type { PasswordCost } from "../limits.ts";
import { argon2, randomBytes, timingSafeEqual } from "node:crypto";

const SALT_BYTES = 16;
const HASH_BYTES = 32;
const PHC =
  /^\$argon2id\$v=19\$m=([0-9]{1,9}),t=([0-9]{1,9}),p=([0-9]{1,9})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{16,86})$/u;
/** Highest cost that is read from a row: an altered row cannot take all memory or threads. */
const MAX_COST: PasswordCost = { memoryKib: 262_144, passes: 16, lanes: 16 };

/** The parts of a PHC string. */
interface StoredHash {
  readonly cost: PasswordCost;
  readonly salt: Uint8Array;
  readonly hash: Uint8Array;
}

/** Runs on the thread pool. */
function derive(
  password: string,
  salt: Uint8Array,
  tagLength: number,
  cost: PasswordCost,
): Promise<Uint8Array> {
  const parameters = {
    message: Buffer.from(password, "utf8"),
    nonce: salt,
    tagLength,
    memory: cost.memoryKib,
    passes: cost.passes,
    parallelism: cost.lanes,
  };
  return new Promise((resolve, reject) => {
    argon2("argon2id", parameters, (error, hash) => (error ? reject(error) : resolve(hash)));
  });
}

function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64").replaceAll("=", "");
}

/** Hashes a password into a PHC string. */
export async function hashPassword(password: string, cost: PasswordCost): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt, HASH_BYTES, cost);
  return `$argon2id$v=19$m=${cost.memoryKib},t=${cost.passes},p=${cost.lanes}$${unpadded(salt)}$${unpadded(hash)}`;
}

/** Parses a PHC string. @throws Error when it is not one of argon2id, or its cost is too high */
function parseHash(stored: string): StoredHash {
  const [, memory, passes, lanes, salt = "", hash = ""] = PHC.exec(stored) ?? [];
  if (hash === "") throw new Error("malformed stored password hash");
  const cost = { memoryKib: Number(memory), passes: Number(passes), lanes: Number(lanes) };
  if (
    cost.memoryKib > MAX_COST.memoryKib ||
    cost.passes > MAX_COST.passes ||
    cost.lanes > MAX_COST.lanes
  ) {
    throw new Error("the cost of a stored password hash is too high");
  }
  return { cost, salt: Buffer.from(salt, "base64"), hash: Buffer.from(hash, "base64") };
}

/**
 * Returns the cost of a stored hash. @throws Error when it is not an argon2id PHC string, or its
 * cost is too high
 */
export function costOf(stored: string): PasswordCost {
  return parseHash(stored).cost;
}

/**
 * Reports whether a password has the stored hash. @throws Error when it is not an argon2id PHC
 * string, or its cost is too high
 */
export async function verifyPassword(stored: string, password: string): Promise<boolean> {
  const { cost, salt, hash } = parseHash(stored);
  return timingSafeEqual(await derive(password, salt, hash.length, cost), hash);
}

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
 * time of all costs in use: its duration does not reveal which users exist
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
