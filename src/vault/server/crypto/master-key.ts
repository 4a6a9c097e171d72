import {
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type Hmac,
  type KeyObject,
} from "node:crypto";
import { Redacted } from "../../../lib/redacted.ts";
import { openBytes, sealBytes, type Identity } from "./aead.ts";

export const KEY_BYTES = 32;

/** A data key, wrapped by the master key with this id. */
export interface WrappedKey {
  readonly keyId: string;
  readonly wrappedKey: Uint8Array;
}

/** The key that wraps all data keys (envelope encryption). It never leaves this object. */
export class MasterKey {
  readonly #key: Redacted<Uint8Array>;
  /** Derived keys by purpose. */
  readonly #derived = new Map<string, KeyObject>();
  /** Identifies the key without revealing anything about it. */
  readonly id: string;

  constructor(key: Redacted<Uint8Array>) {
    if (key.reveal().length !== KEY_BYTES)
      throw new RangeError(`a master key is ${KEY_BYTES} bytes`);
    this.#key = key;
    this.id = createHash("sha256")
      .update("vaultsync master key id\0")
      .update(key.reveal())
      .digest("hex")
      .slice(0, 16);
  }

  /** Returns an HMAC-SHA256 under a key that is derived for this purpose only (HKDF). */
  mac(purpose: string): Hmac {
    let derived = this.#derived.get(purpose);
    if (!derived) {
      const key = hkdfSync(
        "sha256",
        this.#key.reveal(),
        new Uint8Array(),
        `vaultsync ${purpose}`,
        KEY_BYTES,
      );
      derived = createSecretKey(new Uint8Array(key));
      this.#derived.set(purpose, derived);
    }
    return createHmac("sha256", derived);
  }

  wrap(dataKey: Uint8Array, identity: Identity): WrappedKey {
    return {
      keyId: this.id,
      wrappedKey: sealBytes(this.#key.reveal(), ["key", ...identity], dataKey),
    };
  }

  /** @throws Error when the data key was wrapped for another record or by another master key */
  unwrap(wrapped: WrappedKey, identity: Identity): Uint8Array {
    return openBytes(this.#key.reveal(), ["key", ...identity], wrapped.wrappedKey);
  }
}

export function newKey(): Uint8Array {
  return randomBytes(KEY_BYTES);
}

/** Returns a random master key. */
export function generateMasterKey(): Redacted<Uint8Array> {
  return new Redacted(newKey());
}
