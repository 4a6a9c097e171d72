import { findCondition } from "../../../src/operator/api/conditions.ts";
import { PUSH_FINALIZER } from "../../../src/operator/api/names.ts";
import type { PushItemStatus, PushStatus } from "../../../src/operator/api/vault-push.ts";
import { readPushStatus } from "../../../src/operator/push/push-status.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import { vaultAt } from "../cast.ts";
import { Violation } from "../world.ts";
import { entryKey, type EntryRef } from "./entry-journal.ts";
import { entryOf, isNamed, mayPushTo, pushesTo, pushStateOf } from "./push-specs.ts";
import type { PushWorld } from "./push-world.ts";

/** A status that begins to show Ready shows only bytes that the Secret had a short time ago (P10). */
export function checkReady(
  scene: PushWorld,
  user: string,
  before: KubeObject,
  after: KubeObject,
): void {
  const [was, is] = [readPushStatus(before["status"]), readPushStatus(after["status"])];
  const ready = findCondition(is.conditions, "Ready");
  if (ready?.status !== "True") return;
  const isSame =
    findCondition(was.conditions, "Ready")?.status === "True" &&
    JSON.stringify(was.items) === JSON.stringify(is.items);
  if (isSame) return;
  const { namespace, name, spec } = pushStateOf(after);
  const slackMs = scene.slackMs(user, namespace);
  const secrets = scene.secrets.during(`${namespace}/${spec.secret.name}`, slackMs);
  if (slackMs === Infinity || ready.observedGeneration !== after.metadata.generation) return;
  for (const item of spec.data ?? []) {
    const entry = entryOf(item);
    const shown = shownOf(is, entry);
    const connection = scene.connections.throughout(
      `${namespace}/${spec.connectionRef.name}`,
      slackMs,
    );
    if (connection === undefined) continue;
    const vault = vaultAt(connection.url);
    const ref = { vault, owner: shown?.owner ?? connection.email, ...entry };
    const latest = scene.journal.latest(ref);
    const stored = [...scene.journal.recent(ref, slackMs), ...(latest ? [latest.base64] : [])];
    const isPushed = secrets.some(
      ({ [item.secretKey]: value }) => value !== undefined && stored.includes(value),
    );
    if (!isPushed)
      throw new Violation("P10", `${user}: ${namespace}/${name} is Ready without ${entryKey(ref)}`);
  }
}

/** Returns what a status shows of an entry, whatever key was pushed to it. */
const shownOf = (
  { items = [] }: PushStatus,
  { kind, name }: Pick<EntryRef, "kind" | "name">,
): PushItemStatus | undefined =>
  items.find((one) => (kind === "file" ? one.filename : one.key) === name);

const isHeld = (object: KubeObject | undefined): boolean =>
  object?.metadata.finalizers?.includes(PUSH_FINALIZER) === true;

/**
 * A VaultPush with `Delete` leaves no entry that its status shows as created and pushed last (P9). A
 * restored backup may have another entry of the same name, version and bytes in its place.
 */
export function checkGone(
  scene: PushWorld,
  user: string,
  before: KubeObject,
  after: KubeObject | undefined,
): void {
  const { uid, namespace, name, isDeleting, spec } = pushStateOf(before);
  if (!isDeleting || !isHeld(before) || isHeld(after)) return;
  const slackMs = scene.slackMs(user, namespace);
  const state = scene.pushes.during(`${namespace}/${name}`, slackMs);
  const isDelete = state.every(
    (one) => one.spec.deletionPolicy === "Delete" && one.spec.suspend !== true,
  );
  const connection = scene.connections.throughout(
    `${namespace}/${spec.connectionRef.name}`,
    slackMs,
  );
  if (slackMs === Infinity || !isDelete || connection === undefined) return;
  const status = readPushStatus(before["status"]);
  for (const item of spec.data ?? []) {
    const entry = entryOf(item);
    const ref = { vault: vaultAt(connection.url), owner: connection.email, ...entry };
    const shown = shownOf(status, entry);
    const latest = scene.journal.latest(ref);
    const isOwn =
      shown?.created === true &&
      pushesTo(item, connection, ref) &&
      shown.owner === undefined &&
      shown.createdAt !== undefined &&
      latest?.by.has(uid) === true &&
      latest.version === shown.version &&
      !scene.world.vaults.restored.has(ref.vault);
    if (isOwn && !mayBeShared(scene, uid, slackMs, ref))
      throw new Violation("P9", `${user}: ${namespace}/${name} is gone, and left ${entryKey(ref)}`);
  }
}

/**
 * Reports whether another VaultPush may have pushed to an entry during the last `ms`. Without a
 * connection, the operator takes it for one of the vault that its status shows.
 */
const mayBeShared = (
  { pushes, connections }: PushWorld,
  uid: string,
  ms: number,
  ref: EntryRef,
): boolean =>
  [...pushes.keys()]
    .flatMap((key) => pushes.during(key, ms))
    .some(({ uid: other, namespace, spec }) => {
      const known = connections.during(`${namespace}/${spec.connectionRef.name}`, ms);
      const names = (spec.data ?? []).filter((item) => isNamed(item, ref));
      const isSame = names.some((item) => known.some((one) => mayPushTo(item, one, ref)));
      return other !== uid && (isSame || (known.length === 0 && names.length > 0));
    });
