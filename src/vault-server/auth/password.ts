import { argon2, randomBytes, timingSafeEqual } from "node:crypto";

/** OWASP's minimum for argon2id: 19 MiB, two passes, one lane. Source: design, "security". */
const MEMORY_KIB = 19_456;
const PASSES = 2;
const LANES = 1;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

const PHC = /^\$argon2id\$v=19\$m=([0-9]+),t=([0-9]+),p=([0-9]+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/u;

interface Cost {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** Runs on the thread pool. */
function derive(password: string, salt: Uint8Array, tagLength: number, cost: Cost): Promise<Uint8Array> {
  const parameters = { message: Buffer.from(password, "utf8"), nonce: salt, tagLength, ...cost };
  return new Promise((resolve, reject) => {
    argon2("argon2id", parameters, (error, hash) => (error ? reject(error) : resolve(hash)));
  });
}

function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64").replace(/=+$/u, "");
}

function phc(salt: Uint8Array, hash: Uint8Array): string {
  return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${unpadded(salt)}$${unpadded(hash)}`;
}

/** The password's hash as a PHC string. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  return phc(salt, await derive(password, salt, HASH_BYTES, { memory: MEMORY_KIB, passes: PASSES, parallelism: LANES }));
}

/** @throws Error when the stored text is no argon2id PHC string */
export async function verifyPassword(stored: string, password: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt = "", hash = ""] = PHC.exec(stored) ?? [];
  const expected = Buffer.from(hash, "base64");
  if (expected.length === 0) throw new Error("a stored password hash is not readable");
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  return timingSafeEqual(await derive(password, Buffer.from(salt, "base64"), expected.length, cost), expected);
}

/** A hash no password has; verifying against it takes as long as against a real one, so unknown users cannot be told apart. */
export const unmatchableHash = phc(randomBytes(SALT_BYTES), randomBytes(HASH_BYTES));
