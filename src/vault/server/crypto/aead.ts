import { freeBuffer } from "../free-buffer.ts";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ALGORITHM = "aes-256-gcm";

/**
 * Identifies the record a sealed text belongs to, as associated data. Different lists are different
 * associated data.
 */
export type Identity = readonly (string | number)[];

function associatedData(identity: Identity): Uint8Array {
  return Buffer.from(JSON.stringify(identity), "utf8");
}

/** Encrypts with AES-256-GCM and a 32-byte key; returns nonce, ciphertext and tag. */
export function sealBytes(key: Uint8Array, identity: Identity, plain: Uint8Array): Uint8Array {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(associatedData(identity));
  const secret = cipher.update(plain);
  // Returns no bytes: GCM is a stream cipher.
  cipher.final();
  const sealed = Buffer.concat([nonce, secret, cipher.getAuthTag()]);
  freeBuffer(secret);
  return sealed;
}

/** @throws Error when `sealBytes` did not seal these bytes with this key and identity */
export function openBytes(key: Uint8Array, identity: Identity, sealed: Uint8Array): Uint8Array {
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(associatedData(identity));
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  const plain = decipher.update(sealed.subarray(NONCE_BYTES, sealed.length - TAG_BYTES));
  // Checks the tag; returns no bytes: GCM is a stream cipher.
  decipher.final();
  return plain;
}
