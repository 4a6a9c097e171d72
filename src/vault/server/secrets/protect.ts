import type { Limits } from "../limits.ts";
import { errors } from "../errors.ts";
import { randomUUID } from "node:crypto";
import type { SecretRecord } from "../../../protocol/responses.ts";
import { defaultMetadata, type Metadata } from "../../../protocol/metadata.ts";
import { type Caller, writeAs } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { requireWrite, requireReach } from "../access/permission.ts";
import { pickOwnUnshared, authenticAccess } from "../access/pick-secret.ts";
import { reachableQuota, withinQuota } from "../protection/within-quota.ts";
import { currentKey } from "../store/current-key.ts";
import { removeDue } from "../protection/removal.ts";
import { requireVersion, changedMetadata, deadline } from "./change-rules.ts";
import { secretRecord } from "./secret-record.ts";
import type { Secret, SecretVersion } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { findSecret, ownCandidates, type SecretAddress, ownerOf } from "./find-secret.ts";
import { sealValue } from "./secret-value.ts";

/** A thousand years: `docs/design/vault-contract.md#limits`. */
const DEFAULT_DELETE_MINUTES = 525_600_000;

export interface ProtectRequest {
  readonly name: string;
  readonly value: string;
  /** Metadata of the request, with canonical names. */
  readonly metadata: Metadata;
  readonly deleteMinutes: number | undefined;
  /** Latest version that the caller knows, 0 for a new secret; any without it. */
  readonly expectedVersion: number | undefined;
}

/** Content of a version that is added. */
interface NewVersion {
  readonly value: string;
  readonly metadata: Metadata;
  readonly deleteMinutes: number | undefined;
  /** Canonical address of the user who wrote the value. */
  readonly createdBy: string;
}

async function createSecret(
  transaction: Transaction,
  owner: string,
  request: ProtectRequest,
  now: number,
): Promise<Secret> {
  const { secrets } = transaction;
  const minutes = request.deleteMinutes ?? DEFAULT_DELETE_MINUTES;
  await removeDue(transaction, owner, request.name, now);
  const secret = {
    id: randomUUID(),
    owner,
    name: request.name,
    nextVersion: 1,
    ...deadline(now, minutes),
  };
  await secrets.insert(secret);
  return secret;
}

/** Maximum number of old versions that one new version removes, when there were more before. */
const REMOVED_PER_VERSION = 10;

/** Removes the oldest versions of a secret: with the next one it then has `keep`. */
async function removeOldVersions(
  secrets: Transaction["secrets"],
  { id, nextVersion }: Secret,
  keep: number,
): Promise<void> {
  if (nextVersion <= keep) return;
  const excess = (await secrets.countVersions(id)) + 1 - keep;
  if (excess > 0) await secrets.removeVersions(id, Math.min(excess, REMOVED_PER_VERSION));
}

/** Adds a version, and resets the deadline if the request has one. */
async function addVersion(
  context: VaultContext,
  transaction: Transaction,
  secret: Secret,
  { value, metadata, deleteMinutes, createdBy }: NewVersion,
  now: number,
): Promise<{ secret: Secret; latest: SecretVersion }> {
  const { secrets } = transaction;
  if (context.keepVersions !== undefined)
    await removeOldVersions(secrets, secret, context.keepVersions);
  const { secret_versions: quota } = context.limits.quotas;
  const most = reachableQuota(quota, secret.owner, createdBy);
  // Counted only when the numbers in use could be too many.
  if (secret.nextVersion > most && (await secrets.countVersions(secret.id)) >= most)
    throw errors.quotaExceeded("secret_versions", quota);
  const masterKey = await currentKey(context.keys, transaction);
  const latest = {
    version: secret.nextVersion,
    metadata,
    createdAt: now,
    createdBy,
    updatedAt: now,
  };
  const changed = {
    ...secret,
    nextVersion: secret.nextVersion + 1,
    ...(deleteMinutes !== undefined && deadline(now, deleteMinutes)),
  };
  const sealed = sealValue(masterKey, secret, latest.version, value);
  await Promise.all([secrets.insertVersion(secret.id, latest, sealed), secrets.update(changed)]);
  return { secret: changed, latest };
}

/**
 * Creates the caller's secret, or a new version of it whose metadata is merged with the metadata of
 * the latest version (docs/design/vault-contract.md#secrets).
 * @throws ServiceError `use_link_operation` when it is shared; `out_of_scope` when it lies outside
 *   the scope, before or after; of `requireVersion`; of `changedMetadata`; `quota_exceeded`
 */
export async function protect(
  context: VaultContext,
  caller: Caller,
  request: ProtectRequest,
): Promise<SecretRecord> {
  const now = context.clock.now();
  return writeAs(context, caller, async (transaction) => {
    const known = pickOwnUnshared(await ownCandidates(transaction, caller, request.name, now));
    if (known) requireReach(caller.scope, request.name, known.latest.metadata);
    requireVersion(known, request.expectedVersion);
    const metadata = changedMetadata(
      context.limits,
      known?.latest.metadata ?? defaultMetadata,
      request.metadata,
    );
    requireReach(caller.scope, request.name, metadata);

    const added = await withinQuota(context, transaction, { owner: caller.email }, async () => {
      const secret = known?.secret ?? (await createSecret(transaction, caller.email, request, now));
      return addVersion(
        context,
        transaction,
        secret,
        { ...request, metadata, createdBy: caller.email },
        now,
      );
    });
    return secretRecord(
      { secret: added.secret, shared: false, permission: "RW" },
      added.latest,
      now,
    );
  });
}

/**
 * Adds a version to a shared secret, with the metadata of the latest one.
 * @throws ServiceError of `findSecret`; `forbidden` without W; of `requireVersion`;
 * `quota_exceeded`
 */
export async function protectLinked(
  context: VaultContext,
  caller: Caller,
  address: SecretAddress,
  { value, expectedVersion }: Pick<ProtectRequest, "value" | "expectedVersion">,
): Promise<SecretRecord> {
  const now = context.clock.now();
  const write = async (transaction: Transaction): Promise<SecretRecord> => {
    const found = authenticAccess(
      transaction,
      caller.email,
      await findSecret(transaction, caller, address, now),
    );
    requireWrite(found);
    requireVersion(found, expectedVersion);
    const request = {
      value,
      metadata: found.latest.metadata,
      deleteMinutes: undefined,
      createdBy: caller.email,
    };
    // The secret counts for its creator.
    const written = { owner: found.secret.owner, writer: caller.email };
    const added = await withinQuota(context, transaction, written, () =>
      addVersion(context, transaction, found.secret, request, now),
    );
    return secretRecord({ ...found, secret: added.secret }, added.latest, now);
  };
  const named = address.family === "link" ? address.owner : caller.email;
  return writeAs(context, caller, write, {
    ownerOf: ownerOf(context, caller, address.name, named),
  });
}

/** @throws ServiceError `too_large`; sizes are counted in UTF-8 */
export function checkValueSize({
  secretValueBytes,
}: Limits): (body: { readonly key_value: string }) => void {
  return ({ key_value: value }) => {
    if (Buffer.byteLength(value, "utf8") <= secretValueBytes) return;
    throw errors.valueTooLarge(secretValueBytes);
  };
}
