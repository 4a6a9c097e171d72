import { SYNC_KINDS, syncKey } from "./sync-key.ts";
import { possibleOwners, type TargetMetadata } from "./target.ts";

/**
 * Returns the keys in the queue of the resources that an object, whose key is `<namespace>/<name>`,
 * may belong to.
 */
export function ownerKeys(key: string, metadata: TargetMetadata): string[] {
  const namespace = key.slice(0, key.indexOf("/"));
  return [...possibleOwners(metadata)].flatMap((owner) => {
    const kind = SYNC_KINDS.find((one) => owner.startsWith(`${one}/`));
    return kind === undefined
      ? []
      : [syncKey(kind, `${namespace}/${owner.slice(kind.length + 1)}`)];
  });
}
