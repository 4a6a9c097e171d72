import { freeBuffer } from "../../lib/free-buffer.ts";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ALGORITHM = "aes-256-gcm";

/** What a sealed text belongs to; any two different lists are different associated data. */
export type Identity = readonly (string | number)[];

function associatedData(identity: Identity): Uint8Array {
  return Buffer.from(JSON.stringify(identity), "utf8");
}

/** AES-256-GCM under a 32-byte key: nonce, ciphertext and tag in one piece. */
export function sealBytes(key: Uint8Array, identity: Identity, plain: Uint8Array): Uint8Array {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(associatedData(identity));
  const secret = cipher.update(plain);
  // A stream cipher has no bytes left to give.
  cipher.final();
  const sealed = Buffer.concat([nonce, secret, cipher.getAuthTag()]);
  freeBuffer(secret);
  return sealed;
}

/** @throws Error when key, identity or bytes are not those it was sealed with */
export function openBytes(key: Uint8Array, identity: Identity, sealed: Uint8Array): Uint8Array {
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(associatedData(identity));
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  const plain = decipher.update(sealed.subarray(NONCE_BYTES, sealed.length - TAG_BYTES));
  // Checks the tag; a stream cipher has no bytes left to give.
  decipher.final();
  return plain;
}
