import type { Kind } from "../api/kinds.ts";
import { fansOut, SYNC_KINDS, type SyncKind } from "../sync/sync-key.ts";

/** Returns the kind of a resource that has targets; VaultSecret for an object of any other kind. */
export const syncKindOf = ({ kind }: { readonly kind: string }): SyncKind =>
  SYNC_KINDS.find((one) => one === kind) ?? "VaultSecret";

/** Reports whether a name is of a resource with a target in each of several namespaces. */
export const isFannedOut = ({ kind }: { readonly kind: Kind }): boolean =>
  fansOut(syncKindOf(kind));
