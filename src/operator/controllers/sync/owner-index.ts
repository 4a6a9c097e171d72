import { namespaceOf } from "../../kube/resource.ts";
import { possibleOwners, type TargetMetadata } from "../../sync/target.ts";
import { parseSyncKey, SYNC_KINDS, syncKey } from "./sync-key.ts";

/**
 * Returns the keys in the queue of the resources that an object, whose key is `<namespace>/<name>`,
 * may belong to.
 */
export function ownerKeys(key: string, metadata: TargetMetadata): string[] {
  return [...possibleOwners(metadata)].flatMap((owner) => {
    const kind = SYNC_KINDS.find((one) => owner.startsWith(`${one}/`));
    return kind === undefined
      ? []
      : [syncKey(kind, `${namespaceOf(key)}/${owner.slice(kind.length + 1)}`)];
  });
}

/**
 * Returns the names of a target in the index by owner. One that has the name of its owner, as most
 * have, is in no index: it is found by that name, which saves memory.
 */
export function ownerIndex(key: string, metadata: TargetMetadata): string[] {
  return ownerKeys(key, metadata).filter((owner) => parseSyncKey(owner).objectKey !== key);
}
