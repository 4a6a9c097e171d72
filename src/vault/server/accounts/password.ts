import { argon2, randomBytes, timingSafeEqual } from "node:crypto";
import type { PasswordCost } from "../limits.ts";

const SALT_BYTES = 16;
const HASH_BYTES = 32;
const PHC =
  /^\$argon2id\$v=19\$m=([0-9]{1,9}),t=([0-9]{1,9}),p=([0-9]{1,9})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{16,86})$/u;
/**
 * Highest cost that is read from a row, so that an altered row cannot take all memory or threads.
 */
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
