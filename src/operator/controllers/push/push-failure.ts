import { isVaultError } from "../../vault-client/vault-error.ts";
import { entryFailure } from "../sync/entry-failure.ts";
import { type Failure, lasting } from "../sync/sync-result.ts";
import type { WritableEntry } from "./listed-entry.ts";
import { entryOf, type PushItem } from "./push-resource.ts";

/** Maps an error of the vault while an entry is compared or written. @throws any other error */
export function pushFailure(error: unknown, item: PushItem, { owner }: WritableEntry): Failure {
  if (!isVaultError(error)) throw error;
  const failure = entryFailure(error, entryOf(item), true);
  if (error.kind !== "permanent" || error.code !== "forbidden" || owner === undefined)
    return failure;
  const message = `${entryOf(item)}: the account may only read it: ask ${owner} to share it with permission RW`;
  return lasting(failure.condition.reason, message, failure.next);
}

/**
 * Reports whether a failure concerns the whole connection, so that pushing further keys would fail
 * as well.
 */
export function concernsConnection(error: unknown): boolean {
  return (
    !isVaultError(error) || (error.kind !== "permanent" && error.kind !== "unexpected-response")
  );
}
