import { type EntryRef } from "./entry-journal.ts";
import {
  type ConnectionSpec,
  type Item,
  mayPushTo,
  pushesTo,
  type PushState,
} from "./push-specs.ts";
import type { PushWorld } from "./push-world.ts";

/** A VaultPush that pushes to an entry. */
export interface Rival {
  readonly push: PushState;
  /** The operator may list the namespace. If not, it knows that it may not. */
  readonly isKnown: boolean;
}

type Test = (item: Item, connection: ConnectionSpec, slackMs: number) => boolean;

/** Returns the VaultPushes that the operator must know to push to an entry, or to be unknown. */
export const rivalsOf = (scene: PushWorld, user: string, ref: EntryRef): Rival[] =>
  rivalsWith(scene, user, (item, connection) => pushesTo(item, connection, ref));

/** Returns also those that push to an entry because its creator, whom they trust, shares it. */
export const sharersOf = (scene: PushWorld, user: string, ref: EntryRef): Rival[] =>
  rivalsWith(
    scene,
    user,
    (item, connection, slackMs) =>
      pushesTo(item, connection, ref) || receives(scene, item, connection, ref, slackMs),
  );

/**
 * Reports whether an item certainly was to be pushed to a shared entry during the last `ms`: its
 * account has no entry of the name, and neither has another creator that it trusts.
 */
function receives(
  scene: PushWorld,
  item: Item,
  connection: ConnectionSpec,
  ref: EntryRef,
  ms: number,
): boolean {
  const { journal, world } = scene;
  const { email, trustedOwners = [] } = connection;
  const isNone = (owner: string): boolean => {
    const other = { ...ref, owner };
    return journal.latest(other) === undefined && journal.recent(other, ms).length === 0;
  };
  return (
    item.remoteRef?.owner === undefined &&
    mayPushTo(item, connection, ref) &&
    scene.wasWritable(ref, email, ms) &&
    [email, ...trustedOwners].every((owner) => owner === ref.owner || isNone(owner)) &&
    !scene.hasDeadline(ref) &&
    !world.vaults.restored.has(ref.vault)
  );
}

function rivalsWith(scene: PushWorld, user: string, test: Test): Rival[] {
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
    const isRival = push.spec.data?.some((item) => test(item, connection, slackMs)) === true;
    return isRival ? [{ push, isKnown }] : [];
  });
}
