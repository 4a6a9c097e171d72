import type { VaultContext } from "../context.ts";
import type { Identity } from "../crypto/aead.ts";
import { openEnvelope, sealEnvelope, type Envelope } from "../crypto/envelope.ts";
import type { MasterKey } from "../crypto/master-key.ts";
import type { Secret } from "../store/records.ts";

/**
 * Returns the identity a value is bound to: rows of other secrets, versions or deleted secrets
 * cannot replace it.
 */
export function valueIdentity(
  secret: Pick<Secret, "id" | "owner" | "name">,
  version: number,
): Identity {
  return ["secret", secret.id, secret.owner, secret.name, version];
}

export function sealValue(
  masterKey: MasterKey,
  secret: Secret,
  version: number,
  value: string,
): Envelope {
  return sealEnvelope(masterKey, valueIdentity(secret, version), Buffer.from(value, "utf8"));
}

/** @throws Error when the row was altered */
export function openValue(
  { keys }: VaultContext,
  secret: Secret,
  version: number,
  envelope: Envelope,
): Uint8Array {
  return openEnvelope(keys, valueIdentity(secret, version), envelope);
}
