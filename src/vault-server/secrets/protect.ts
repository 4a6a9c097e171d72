import { randomUUID } from "node:crypto";
import type { SecretRecord } from "../../protocol/answers.ts";
import { defaultMetadata, mergeMetadata, type Metadata } from "../../protocol/metadata.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { requireReach } from "../rules/reach.ts";
import { secretRecord } from "../rules/secret-record.ts";
import type { Secret, Transaction } from "../store/store.ts";
import { sealValue } from "./secret-value.ts";

/** A thousand years. Source: the interface, "Limits". */
const DEFAULT_DELETE_MINUTES = 525_600_000;
const MINUTE_MS = 60_000;

export interface ProtectRequest {
  readonly name: string;
  readonly value: string;
  /** The names the request gives, by their right spelling. */
  readonly metadata: Metadata;
  readonly deleteMinutes: number | undefined;
}

function deadline(now: number, minutes: number): Pick<Secret, "deleteMinutes" | "deleteAt"> {
  return { deleteMinutes: minutes, deleteAt: now + minutes * MINUTE_MS };
}

async function createSecret({ secrets }: Transaction, owner: string, request: ProtectRequest, now: number): Promise<Secret> {
  const minutes = request.deleteMinutes ?? DEFAULT_DELETE_MINUTES;
  const secret = { id: randomUUID(), owner, name: request.name, nextVersion: 1, ...deadline(now, minutes) };
  // One whose deadline has come may still stand in the way of its name.
  await secrets.removeDue(now);
  await secrets.insert(secret);
  return secret;
}

/**
 * Creates the caller's secret, or a new version of it with the names given laid over the metadata it had.
 * Source: the vault contract, "Secrets".
 * @throws ServiceError `out_of_scope` when the secret lies outside the scope, before or after
 */
export async function protect(context: VaultContext, caller: Caller, request: ProtectRequest): Promise<SecretRecord> {
  const now = context.clock.now();
  return context.store.write(async (transaction) => {
    const { secrets } = transaction;
    const known = await secrets.find(caller.email, request.name, now);
    const latest = known && (await secrets.latest(known.id));
    if (latest) requireReach(caller.scope, request.name, latest.metadata);
    const metadata = mergeMetadata(latest?.metadata ?? defaultMetadata, request.metadata);
    requireReach(caller.scope, request.name, metadata);

    const secret = known ?? (await createSecret(transaction, caller.email, request, now));
    const version = { version: secret.nextVersion, metadata, createdAt: now, updatedAt: now };
    await secrets.insertVersion(secret.id, version, sealValue(context, secret, version.version, request.value));
    const changed = {
      ...secret,
      nextVersion: secret.nextVersion + 1,
      ...(request.deleteMinutes !== undefined && deadline(now, request.deleteMinutes)),
    };
    await secrets.update(changed);
    return secretRecord(changed, version, now);
  });
}
