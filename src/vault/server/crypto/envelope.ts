import { openBytes, sealBytes, type Identity } from "./aead.ts";
import type { KeyRing } from "./key-ring.ts";
import { newKey, type MasterKey, type WrappedKey } from "./master-key.ts";

/**
 * Bytes sealed with a data key, and that key wrapped by the master key. Both are bound to the
 * identity of the record.
 */
export interface Envelope extends WrappedKey {
  readonly sealed: Uint8Array;
}

export function sealEnvelope(master: MasterKey, identity: Identity, plain: Uint8Array): Envelope {
  const dataKey = newKey();
  try {
    return { ...master.wrap(dataKey, identity), sealed: sealBytes(dataKey, identity, plain) };
  } finally {
    dataKey.fill(0);
  }
}

/**
 * @throws Error when the row was altered, belongs to another record, or its master key is unknown
 */
export function openEnvelope(keys: KeyRing, identity: Identity, envelope: Envelope): Uint8Array {
  const dataKey = keys.get(envelope.keyId).unwrap(envelope, identity);
  try {
    return openBytes(dataKey, identity, envelope.sealed);
  } finally {
    dataKey.fill(0);
  }
}
