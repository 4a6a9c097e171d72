import { type EntryRef } from "./entry-journal.ts";
import { pushesTo, type PushState } from "./push-specs.ts";
import type { PushWorld } from "./push-world.ts";

/** A VaultPush that pushes to an entry. */
export interface Rival {
  readonly push: PushState;
  /** The operator may list the namespace. If not, it knows that it may not. */
  readonly isKnown: boolean;
}

/** Returns the VaultPushes that the operator must know to push to an entry, or to be unknown. */
export function rivalsOf(scene: PushWorld, user: string, ref: EntryRef): Rival[] {
  const { world, pushes, connections } = scene;
  return [...pushes.keys()].flatMap((key) => {
    const namespace = key.slice(0, key.indexOf("/"));
    if (!world.rights.isListed(namespace) || !scene.isListFollowed) return [];
    const isKnown = !world.rights.wasUnwatched(namespace, 300_000);
    const slackMs = isKnown ? scene.slackMs(user, namespace) : 300_000;
    if (slackMs === Infinity || (!isKnown && world.mayLag)) return [];
    const push = pushes.throughout(key, slackMs);
    const connection =
      push && connections.throughout(`${namespace}/${push.spec.connectionRef.name}`, slackMs);
    if (push === undefined || connection === undefined) return [];
    const isRival = push.spec.data?.some((item) => pushesTo(item, connection, ref)) === true;
    return isRival ? [{ push, isKnown }] : [];
  });
}
