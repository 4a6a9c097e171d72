import type { SecretRecord } from "../../protocol/responses.ts";
import type { Metadata } from "../../protocol/metadata.ts";
import type { Caller } from "../accounts/authenticate.ts";
import { writeAs } from "../accounts/write-as.ts";
import type { VaultContext } from "../context.ts";
import { requireWrite, requireReach } from "../access/permission.ts";
import { pickAny } from "../access/pick-secret.ts";
import { withinQuota } from "../quotas/within-quota.ts";
import { changedMetadata } from "./changed-metadata.ts";
import { secretRecord } from "./secret-record.ts";
import { candidates } from "./find-secret.ts";
import { errors } from "../errors.ts";

export interface MetadataUpdate {
  readonly name: string;
  /** Selects one of several secrets with this name. */
  readonly owner: string | undefined;
  readonly version: number;
  /** Changed metadata with canonical names; other metadata is kept. */
  readonly changes: Metadata;
}

/** Metadata that scopes match, and the expiry. */
const AUTHORITY = ["cloud_type", "environment_type", "application_type", "classification", "expiration_time"];

/** @throws ServiceError `forbidden` for metadata that decides who reads the secret */
function requireNoAuthority(changes: Metadata): void {
  if (Object.keys(changes).some((name) => AUTHORITY.includes(name))) throw errors.creatorOnlyMetadata();
}

/**
 * Changes the metadata of one version of a shared or an unshared secret (docs/design/vault-contract.md#secret-metadata).
 * @throws ServiceError `secret_not_found`, `ambiguous_name`; `out_of_scope`, before or after; `forbidden` without W;
 * `version_not_found`; of `changedMetadata`; `quota_exceeded`
 */
export async function updateMetadata(context: VaultContext, caller: Caller, update: MetadataUpdate): Promise<SecretRecord> {
  const now = context.clock.now();
  return writeAs(context, caller, async (transaction) => {
    const found = pickAny(await candidates(transaction, caller, update.name, now), update.owner);
    const { secret, latest } = found;
    requireReach(caller.scope, secret.name, latest.metadata);
    requireWrite(found);
    if (context.scopeAttributesBy === "creator" && secret.owner !== caller.email) requireNoAuthority(update.changes);
    const version = await transaction.secrets.version(secret.id, update.version);
    if (!version) throw errors.secretVersionNotFound();
    const changed = { ...version, metadata: changedMetadata(context.limits, version.metadata, update.changes), updatedAt: now };
    if (version.version === latest.version) requireReach(caller.scope, secret.name, changed.metadata);
    await withinQuota(context, transaction, secret.owner, () => transaction.secrets.updateVersion(secret.id, changed));
    return secretRecord(found, changed, now);
  });
}
