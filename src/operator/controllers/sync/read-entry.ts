import type { Fetch } from "../../sync/decide.ts";
import { foundText } from "../../sync/find-items.ts";
import type { SyncItem } from "../../sync/sync-resource.ts";
import { sourceId, type SyncedKey } from "../../sync/target.ts";
import { isVaultError } from "../../vault-client/vault-error.ts";
import { entryFailure } from "../outcome/entry-failure.ts";
import { AccessChanged } from "./revocable-reads.ts";
import { type Failure, retryable } from "../outcome/outcome.ts";

/** The bytes of one source, as the vault returned them. */
interface ReadEntry {
  readonly bytes: Uint8Array;
  readonly synced: SyncedKey;
  /** The vault returned an earlier version than its list shows. */
  readonly lag: Failure | undefined;
}

/**
 * Reads the source of an item from the vault. `before` is the origin of the bytes that the target
 * has of it.
 */
export async function readEntry(
  item: SyncItem,
  fetch: Fetch,
  before: SyncedKey | undefined,
  signal: AbortSignal,
): Promise<ReadEntry | Failure> {
  const { vault, owner, createdAt, read } = fetch.candidate;
  const source = sourceId(vault, item.source, owner);
  const fetched = await read(fetch.version, signal).catch((error: unknown) =>
    readFailure(error, item.source),
  );
  if ("condition" in fetched) return fetched;
  const { version } = fetched;
  // The response may be older than the list; it must not take the target back to an earlier
  // version.
  const wentBack = before?.source === source && version < Math.min(before.version, fetch.version);
  const message = `${item.source}: the vault returned version ${version} instead of ${fetch.version}`;
  if ((item.version !== "latest" && version !== item.version) || wentBack)
    return retryable("UnexpectedResponse", message);
  const isLagging = version < fetch.version;
  const lag = isLagging
    ? retryable("Progressing", `${message}, which its list shows: the operator retries`)
    : undefined;
  const synced = {
    version,
    source,
    createdAt: createdAt?.get(version),
    form: item.form,
    found: foundText(item),
  };
  return { bytes: fetched.bytes.reveal(), synced, lag };
}

function readFailure(error: unknown, source: string): Failure {
  if (isVaultError(error)) return entryFailure(error, source);
  if (error instanceof AccessChanged)
    return retryable("Progressing", `${error.message}: the operator retries`);
  throw error;
}
