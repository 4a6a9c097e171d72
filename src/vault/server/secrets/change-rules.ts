import { errors } from "../errors.ts";
import type { SecretAccess, Secret } from "../store/records.ts";
import { mergeMetadata, type Metadata } from "../../../protocol/metadata.ts";
import type { Limits } from "../limits.ts";

/**
 * Requires that the latest version is the one that the caller knows: a change never undoes one that
 * the caller has not seen (docs/design/vault-contract.md#versions). 0 expects that there is no
 * secret; without a number there is no requirement.
 * @throws ServiceError `version_changed`; `secret_not_found` when a secret was expected
 */
export function requireVersion(
  found: Pick<SecretAccess, "latest"> | undefined,
  expected: number | undefined,
): void {
  const latest = found?.latest.version ?? 0;
  if (expected === undefined || expected === latest) return;
  if (!found) throw errors.secretNotFound();
  throw errors.versionChanged(`the latest version is ${latest}`);
}

/**
 * Returns the metadata of a version with the changes of a request. The result is limited, because
 * it grows with each request, every new version copies it, and lists contain it.
 * @throws ServiceError `too_large`; `invalid_request` when it has too many names
 */
export function changedMetadata(
  { metadataBytes, metadataNames }: Limits,
  base: Metadata,
  changes: Metadata,
): Metadata {
  const metadata = mergeMetadata(base, changes);
  if (Object.keys(metadata).length > metadataNames)
    throw errors.invalidRequest(
      "metadata",
      `a version has at most ${metadataNames} names, those that it had included`,
    );
  if (Buffer.byteLength(JSON.stringify(metadata), "utf8") > metadataBytes)
    throw errors.metadataTooLarge(metadataBytes);
  return metadata;
}

const MINUTE_MS = 60_000;

/**
 * Returns the removal time of a secret: minutes from the request that sets it
 * (docs/design/vault-contract.md#removal-and-expiry).
 */
export function deadline(now: number, minutes: number): Pick<Secret, "deleteMinutes" | "deleteAt"> {
  return { deleteMinutes: minutes, deleteAt: now + minutes * MINUTE_MS };
}
