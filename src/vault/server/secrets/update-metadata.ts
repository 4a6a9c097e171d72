import type { VersionRecord } from "../../../protocol/responses.ts";
import type { Metadata } from "../../../protocol/metadata.ts";
import { type Caller, type Charge, writeAs } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { requireWrite, requireReach } from "../access/permission.ts";
import { pickAny, authenticAccess } from "../access/pick-secret.ts";
import { withinQuota } from "../protection/within-quota.ts";
import { withinUnaccepted } from "../protection/within-unaccepted.ts";
import { requireVersion, changedMetadata, deadline } from "./change-rules.ts";
import { versionRecord } from "./secret-record.ts";
import { candidates, ownCandidates, ownerOf } from "./find-secret.ts";
import { errors } from "../errors.ts";
import type { Transaction } from "../store/store.ts";

export interface MetadataUpdate {
  readonly name: string;
  /** Selects one of several secrets with this name. */
  readonly owner: string | undefined;
  readonly version: number;
  /** Changed metadata with canonical names; other metadata is kept. */
  readonly changes: Metadata;
  /** Custom names to remove. */
  readonly removed: readonly string[];
  /** Removal time of the secret, in minutes. */
  readonly deleteMinutes: number | undefined;
  /** Latest version that the caller knows; any without it. */
  readonly expectedVersion: number | undefined;
}

/** Metadata that scopes match, and the expiry. */
const AUTHORITY = [
  "cloud_type",
  "environment_type",
  "application_type",
  "classification",
  "expiration_time",
];

/** Returns the size of metadata in bytes. */
const sizeOf = (metadata: Metadata): number => Buffer.byteLength(JSON.stringify(metadata));

/** @throws ServiceError `forbidden` for metadata that decides who reads the secret */
function requireNoAuthority(changes: Metadata): void {
  if (Object.keys(changes).some((name) => AUTHORITY.includes(name)))
    throw errors.creatorOnlyMetadata();
}

/**
 * Changes the metadata of one version of a shared or an unshared secret, and the removal time of
 * the secret (docs/design/vault-contract.md#secret-metadata).
 * @throws ServiceError `secret_not_found`, `ambiguous_name`; `out_of_scope`, before or after;
 * `forbidden` without W, and for a removal time of another user's secret; of `requireVersion`;
 * `version_not_found`; of `changedMetadata`; `quota_exceeded`
 */
export async function updateMetadata(
  context: VaultContext,
  caller: Caller,
  update: MetadataUpdate,
): Promise<VersionRecord> {
  const now = context.clock.now();
  const isOfAnother = update.owner !== undefined && update.owner !== caller.email;
  const find = isOfAnother ? candidates : ownCandidates;
  const write = async (transaction: Transaction, charge: Charge): Promise<VersionRecord> => {
    const picked = pickAny(await find(transaction, caller, update.name, now), update.owner);
    const { secret, latest } = picked;
    requireReach(caller.scope, secret.name, latest.metadata);
    const found = authenticAccess(transaction, caller.email, picked);
    requireWrite(found);
    if (context.scopeAttributesBy === "creator" && secret.owner !== caller.email)
      requireNoAuthority(update.changes);
    if (update.deleteMinutes !== undefined && secret.owner !== caller.email)
      throw errors.creatorOnly();
    requireVersion(found, update.expectedVersion);
    const version = await transaction.secrets.version(secret.id, update.version);
    if (!version) throw errors.secretVersionNotFound();
    const kept = Object.fromEntries(
      Object.entries(version.metadata).filter(([name]) => !update.removed.includes(name)),
    );
    const changed = {
      ...version,
      metadata: changedMetadata(context.limits, kept, update.changes),
      updatedAt: now,
    };
    if (version.version === latest.version)
      requireReach(caller.scope, secret.name, changed.metadata);
    const grows = sizeOf(changed.metadata) > sizeOf(version.metadata);
    const isListed = found.shared && version.version === latest.version;
    const emails = grows && isListed ? await transaction.grants.recipients(secret.id) : [];
    charge(emails.length);
    await withinUnaccepted(context, transaction, emails, () =>
      withinQuota(context, transaction, { owner: secret.owner, writer: caller.email }, () =>
        transaction.secrets.updateVersion(secret.id, changed),
      ),
    );
    if (update.deleteMinutes === undefined) return versionRecord(found, changed, now);
    const rescheduled = { ...secret, ...deadline(now, update.deleteMinutes) };
    await transaction.secrets.update(rescheduled);
    return versionRecord({ ...found, secret: rescheduled }, changed, now);
  };
  return writeAs(context, caller, write, {
    ownerOf: ownerOf(context, caller, update.name, update.owner),
  });
}
