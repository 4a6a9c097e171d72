import { argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { defaultPasswordCost, type PasswordCost } from "../limits.ts";

const SALT_BYTES = 16;
const HASH_BYTES = 32;
const PHC = /^\$argon2id\$v=19\$m=([0-9]+),t=([0-9]+),p=([0-9]+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/u;

/** Runs on the thread pool. */
function derive(password: string, salt: Uint8Array, tagLength: number, cost: PasswordCost): Promise<Uint8Array> {
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
  return Buffer.from(bytes).toString("base64").replace(/=+$/u, "");
}

function phc(salt: Uint8Array, hash: Uint8Array, { memoryKib, passes, lanes }: PasswordCost): string {
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${unpadded(salt)}$${unpadded(hash)}`;
}

/** Hashes a password into a PHC string. */
export async function hashPassword(password: string, cost: PasswordCost = defaultPasswordCost): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  return phc(salt, await derive(password, salt, HASH_BYTES, cost), cost);
}

/** Reports whether a password has the stored hash. @throws Error when the stored hash is not an argon2id PHC string */
export async function verifyPassword(stored: string, password: string): Promise<boolean> {
  const [, memoryKib, passes, lanes, salt = "", hash = ""] = PHC.exec(stored) ?? [];
  const expected = Buffer.from(hash, "base64");
  if (expected.length === 0) throw new Error("malformed stored password hash");
  const cost = { memoryKib: Number(memoryKib), passes: Number(passes), lanes: Number(lanes) };
  return timingSafeEqual(await derive(password, Buffer.from(salt, "base64"), expected.length, cost), expected);
}

/** Returns a hash that no password has. Verifying it takes as long as a real one, so that unknown users are indistinguishable. */
export function unmatchableHash(cost: PasswordCost): string {
  return phc(randomBytes(SALT_BYTES), randomBytes(HASH_BYTES), cost);
}
