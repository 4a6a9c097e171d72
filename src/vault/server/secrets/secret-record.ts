import type { ExposedSecret, SecretRecord, VersionRecord } from "../../../protocol/responses.ts";
import type { Metadata } from "../../../protocol/metadata.ts";
import type { Secret, SecretAccess, SecretVersion, ListedSecret } from "../store/records.ts";
import { timestamp } from "../http/timestamp.ts";

const DAY_MS = 86_400_000;

/**
 * Returns the expiry: `expiration_time` days after creation
 * (docs/design/vault-contract.md#removal-and-expiry).
 */
export function expiresAt(version: SecretVersion): number {
  const days = version.metadata.expiration_time;
  return typeof days === "number" ? version.createdAt + days * DAY_MS : Infinity;
}

export function isExpired(version: SecretVersion, now: number): boolean {
  return expiresAt(version) <= now;
}

/** Returns one version as listed for a user with access to the secret. */
export function secretRecord(
  { secret, shared, permission }: Pick<SecretAccess, "secret" | "shared" | "permission">,
  version: SecretVersion,
  now: number,
): SecretRecord {
  const createdAt = timestamp(version.createdAt);
  return {
    key_name: secret.name,
    key_version: version.version,
    owner: secret.owner,
    shared,
    permission,
    metadata: version.metadata,
    delete_time: secret.deleteMinutes,
    created_at: createdAt,
    updated_at: version.updatedAt === version.createdAt ? createdAt : timestamp(version.updatedAt),
    expires_at: timestamp(expiresAt(version)),
    expired: isExpired(version, now),
    delete_at: timestamp(secret.deleteAt),
  };
}

/** Returns one version as listed among the versions of its secret, with the user who wrote it. */
export function versionRecord(
  access: Pick<SecretAccess, "secret" | "shared" | "permission">,
  version: SecretVersion,
  now: number,
): VersionRecord {
  const record = secretRecord(access, version, now);
  return version.createdBy === "" ? record : { ...record, created_by: version.createdBy };
}

/** Returns one version with its UTF-8 value. */
export function exposedSecret(
  secret: Secret,
  version: SecretVersion,
  value: Uint8Array,
  now: number,
): ExposedSecret {
  const metadata: Metadata = version.metadata;
  return {
    key_name: secret.name,
    key_value: Buffer.from(value).toString("utf8"),
    key_version: version.version,
    metadata,
    owner: secret.owner,
    expired: isExpired(version, now),
  };
}

function timestampText(ms: number): string {
  const time = timestamp(ms);
  return typeof time === "string" ? `"${time}"` : JSON.stringify(time);
}

/**
 * Returns the JSON text of `secretRecord` for the latest version. A list has up to hundreds of
 * thousands of them: the metadata, most of the text, is stored as JSON.
 */
export function secretText(
  { secret, shared, permission, latest, metadataText }: ListedSecret,
  now: number,
): string {
  const createdAt = timestampText(latest.createdAt);
  const updatedAt =
    latest.updatedAt === latest.createdAt ? createdAt : timestampText(latest.updatedAt);
  return (
    `{"key_name":${JSON.stringify(secret.name)},"key_version":${latest.version},"owner":${JSON.stringify(secret.owner)}` +
    `,"shared":${shared},"permission":"${permission}","metadata":${metadataText},"delete_time":${secret.deleteMinutes}` +
    `,"created_at":${createdAt},"updated_at":${updatedAt},"expires_at":${timestampText(expiresAt(latest))}` +
    `,"expired":${isExpired(latest, now)},"delete_at":${timestampText(secret.deleteAt)}}`
  );
}
