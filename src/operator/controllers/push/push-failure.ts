import { isVaultError } from "../../vault-client/vault-error.ts";
import { vaultFailure } from "../sync/failures.ts";
import { type Failure, lasting } from "../sync/sync-result.ts";
import type { WritableEntry } from "./listed-entry.ts";
import { entryOf, type PushItem } from "./push-resource.ts";

/** Maps an error of the vault while an entry is compared or written. @throws any other error */
export function pushFailure(error: unknown, item: PushItem, { owner }: WritableEntry): Failure {
  if (!isVaultError(error)) throw error;
  const failure = vaultFailure(error, entryOf(item));
  if (error.kind !== "permanent") return failure;
  const explained = (message: string): Failure => lasting(failure.condition.reason, `${entryOf(item)}: ${message}`, failure.next);
  switch (error.code) {
    case "forbidden":
      return owner === undefined
        ? failure
        : explained(`the account may only read it: ask ${owner} to share it with permission RW`);
    case "out_of_scope":
      return explained("it is outside spec.scope of the VaultConnection, by its name or its metadata: extend the scope");
    case "quota_exceeded":
      return explained(
        "the account, or the creator of the secret, has used up a quota of the vault: raise it, or free some of it",
      );
    case "too_large":
      return explained("the vault rejected it as too large: push it as a file, or split it");
    default:
      return failure;
  }
}

/** Reports whether a failure concerns the whole connection, so that pushing further keys would fail as well. */
export function concernsConnection(error: unknown): boolean {
  return !isVaultError(error) || (error.kind !== "permanent" && error.kind !== "unexpected-response");
}
