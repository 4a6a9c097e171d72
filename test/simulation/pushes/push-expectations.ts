import { MANAGED_BY, MANAGED_BY_LABEL } from "../../../src/operator/api/names.ts";
import { parseDuration } from "../../../src/operator/lib/duration.ts";
import { findCondition } from "../../../src/operator/api/conditions.ts";
import { readPushStatus } from "../../../src/operator/push/push-status.ts";
import { vaultPushKind, vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import type { Reason } from "../../../src/operator/api/reasons.ts";
import { type KubeObject, SECRETS } from "../../../src/operator/kube/resource.ts";
import { vaultAt } from "../cast.ts";
import { itemsOf, type Spec, targetOf } from "../invariants/spec-items.ts";
import { isRefused } from "../reach.ts";
import { isUtf8 } from "node:buffer";
import type { EntryRef } from "./entry-journal.ts";
import {
  type ConnectionSpec,
  entryOf,
  isOlder,
  type Item,
  mayPushTo,
  pushesTo,
  pushStateOf,
  type PushState,
} from "./push-specs.ts";
import type { PushWorld } from "./push-world.ts";

/** Expected outcome of a key of a VaultPush: the bytes in an entry, or one of these reasons. */
interface Expected {
  readonly ref: EntryRef | undefined;
  readonly reasons: readonly Reason[];
  /** The key may also have one of these reasons. */
  readonly allowed: readonly Reason[];
}

/** Longest time in milliseconds between two checks within which everything converges. */
const CHECKED_MS = 3_600_000;

interface Accessible {
  readonly key_name: string;
  readonly owner: string;
  readonly permission: string;
}

/** Returns what is not as expected although everything is calm; `undefined` if everything is. */
export function difference(scene: PushWorld): string | undefined {
  const { world } = scene;
  for (const object of world.server.all(vaultPushKind)) {
    const push = pushStateOf(object);
    if (!world.rights.isServed(push.namespace)) continue;
    const wrong = push.isDeleting ? undeleted(scene, push) : differenceOf(scene, object, push);
    if (wrong !== undefined) return `VaultPush ${push.namespace}/${push.name} ${wrong}`;
  }
  return undefined;
}

/** Reports whether the operator cannot list a namespace that it has to serve. */
const isUnlisted = ({ world: { rights }, namespaces }: PushWorld): boolean =>
  namespaces.some((one) => rights.isListed(one) && !rights.isServed(one));

const connectionOf = (
  { connections }: PushWorld,
  { namespace, spec }: PushState,
): ConnectionSpec | undefined => connections.now(`${namespace}/${spec.connectionRef.name}`);

function undeleted(scene: PushWorld, push: PushState): string | undefined {
  const connection = connectionOf(scene, push);
  const mayWait =
    isUnlisted(scene) || (connection !== undefined && isRefused(scene.world, connection));
  return mayWait ? undefined : "is not gone";
}

function differenceOf(scene: PushWorld, object: KubeObject, push: PushState): string | undefined {
  const { items: shown = [], conditions, observedGeneration } = readPushStatus(object["status"]);
  const ready = findCondition(conditions, "Ready");
  if (observedGeneration !== object.metadata.generation)
    return `has generation ${object.metadata.generation}, and shows ${observedGeneration}`;
  const seen = `is Ready=${ready?.status} ${ready?.reason}: ${ready?.message}`;
  const whole = reasonsOfWhole(scene, push);
  if (whole !== undefined)
    return whole.includes(ready?.reason as Reason)
      ? undefined
      : `${seen}; expected ${whole.join(" or ")}`;
  const former = new Map(shown.map((one) => [one.key, one.owner]));
  const all = (push.spec.data ?? []).map((item) => {
    const formerOwner = former.get(item.remoteRef?.key);
    return [item, expectedOf(scene, push, item, formerOwner)] as const;
  });
  const reasons = all.flatMap(([, expected]) => expected.reasons);
  if (ready?.status !== "True") {
    const allowed = [...reasons, ...all.flatMap(([, expected]) => expected.allowed)];
    return allowed.includes(ready?.reason as Reason)
      ? undefined
      : `${seen}; expected ${[...allowed, "Synced"].join(" or ")}`;
  }
  if (reasons.length > 0) return `${seen}; expected ${reasons.join(" or ")}`;
  for (const [item, { ref }] of all) {
    const wanted = valueOf(scene, push, item);
    const stored = ref && scene.journal.latest(ref);
    if (isUnwatched(scene, push)) continue;
    if (wanted !== stored?.base64)
      return `${seen}; but the key ${item.secretKey} is ${text(wanted)}, and in the vault ${text(stored?.base64)}`;
  }
  return undefined;
}

/** Reports whether no watch shows a change of the Secret, and the next check is far away. */
const isUnwatched = ({ world: { replicas, server } }: PushWorld, push: PushState): boolean => {
  const { namespace, spec } = push;
  const secret = server.find(SECRETS, { namespace, name: spec.secret.name });
  const isTarget = secret?.metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY;
  const isSeen = isTarget && replicas.config.targetWatch !== "off";
  return !isSeen && parseDuration(spec.refreshInterval ?? "1m") > CHECKED_MS;
};

const text = (base64: string | undefined): string =>
  base64 === undefined ? "absent" : Buffer.from(base64, "base64").toString();

const valueOf = (
  { secrets }: PushWorld,
  { namespace, spec }: PushState,
  { secretKey }: Item,
): string | undefined => secrets.now(`${namespace}/${spec.secret.name}`)?.[secretKey];

/** Returns the reasons that concern all keys, if there is one. */
function reasonsOfWhole(scene: PushWorld, push: PushState): readonly Reason[] | undefined {
  const { namespace, spec } = push;
  if (spec.suspend === true) return ["Suspended"];
  const connection = connectionOf(scene, push);
  if (connection === undefined) return ["ConnectionNotFound"];
  // What was pushed before stays Ready.
  if (isRefused(scene.world, connection)) return ["ConnectionNotReady", "Synced"];
  const secret = scene.world.server.find(SECRETS, { namespace, name: spec.secret.name });
  if (secret === undefined) return ["SourceMissing"];
  return secret.type === "Opaque" ? undefined : ["InvalidSpec"];
}

function expectedOf(
  scene: PushWorld,
  push: PushState,
  item: Item,
  formerOwner: string | undefined,
): Expected {
  const connection = connectionOf(scene, push)!;
  const found = entryFor(scene, connection, item, formerOwner);
  if (typeof found === "string")
    return { ref: undefined, reasons: [found], allowed: ["PushConflict"] };
  const { isReadOnly, ref } = found;
  const [older, maybeOlder] = olderThan(scene, push, ref);
  const value = valueOf(scene, push, item);
  const stored = scene.journal.latest(ref);
  const reasons: Reason[] = isLoop(scene, push, item) ? ["PushLoop"] : [];
  if (older) reasons.push("PushConflict");
  else if (value === undefined) reasons.push("SourceMissing");
  else if (value === "") reasons.push("SourceSuspicious");
  else if (ref.kind === "secret" && !isUtf8(Buffer.from(value, "base64")))
    reasons.push("InvalidContent");
  else if (isReadOnly && stored?.base64 !== value && !maybeOlder) reasons.push("ScopeDenied");
  // A status that was lost does not show that the latest version is its own.
  const allowed: Reason[] = [
    ...(maybeOlder ? (["PushConflict"] as const) : []),
    ...(isUnlisted(scene) ? (["TargetForbidden"] as const) : []),
    ...(mayExpire(scene, item, ref) ? (["SourceRemoved"] as const) : []),
    ...(isReadOnly ? (["ScopeDenied"] as const) : []),
  ];
  return { ref, reasons, allowed };
}

/** Reports whether the vault may have removed an entry at a deadline. */
const mayExpire = (scene: PushWorld, { deleteTime }: Item, ref: EntryRef): boolean =>
  deleteTime !== undefined ||
  scene.hasDeadline(ref) ||
  scene.world.vaults.deadlinesOf(ref.vault, ref.name, ref.owner).length > 0;

/** Reports whether a VaultSecret reads an entry into the Secret that is pushed to it. */
const isLoop = ({ world: { server } }: PushWorld, push: PushState, item: Item): boolean =>
  server.all(vaultSecretKind).some(({ kind, metadata, spec }) => {
    const reader = spec as Spec;
    return (
      metadata.namespace === push.namespace &&
      targetOf(kind, metadata.name, reader).name === push.spec.secret.name &&
      reader.connectionRef.name === push.spec.connectionRef.name &&
      itemsOf(reader).some(({ source }) => source === item.remoteRef?.key)
    );
  });

/** Reports whether an older VaultPush certainly pushes to an entry, and whether one may. */
function olderThan(scene: PushWorld, push: PushState, ref: EntryRef): [boolean, boolean] {
  const { rights, server } = scene.world;
  const others = server
    .all(vaultPushKind)
    .map(pushStateOf)
    .filter((one) => one.uid !== push.uid && rights.isListed(one.namespace))
    .filter((one) => isOlder(one, push));
  const matches = (states: readonly PushState[], test: typeof pushesTo): boolean =>
    states.some((one) => {
      const connection = connectionOf(scene, one);
      return (
        connection !== undefined &&
        one.spec.data?.some((item) => test(item, connection, ref)) === true
      );
    });
  // The operator knows what it read in a namespace before its permissions were withdrawn.
  const known = others.flatMap((one) =>
    rights.isServed(one.namespace)
      ? [one]
      : scene.pushes.during(`${one.namespace}/${one.name}`, Infinity),
  );
  const isKnown = others.every((one) => rights.isServed(one.namespace));
  return [isKnown && matches(others, pushesTo), matches(known, mayPushTo)];
}

/** Returns the entry that an item is pushed to, or why there is none. */
function entryFor(
  { world }: PushWorld,
  { url, email, trustedOwners }: ConnectionSpec,
  item: Item,
  formerOwner: string | undefined,
): { readonly ref: EntryRef; readonly isReadOnly: boolean } | Reason {
  const entry = entryOf(item);
  const vault = vaultAt(url);
  const own = { ref: { vault, owner: email, ...entry }, isReadOnly: false };
  if (entry.kind === "file") return own;
  const listed = (world.vaults.list(vault, email) as readonly unknown[] as Accessible[]).filter(
    ({ key_name }) => key_name === entry.name,
  );
  const of = ({ owner, permission }: Accessible) => ({
    ref: { ...own.ref, owner },
    isReadOnly: permission === "R",
  });
  const wanted = item.remoteRef?.owner;
  const named = listed.find(({ owner }) => owner === (wanted ?? email));
  if (named !== undefined) return of(named);
  if (wanted !== undefined) return wanted === email ? own : "SourceMissing";
  const trusted = listed.filter(({ owner }) => trustedOwners?.includes(owner));
  const [first, ...others] = trusted;
  if (first !== undefined && others.length === 0) return of(first);
  if (listed.length > 0 && (first !== undefined || trustedOwners === undefined))
    return "AmbiguousName";
  return formerOwner === undefined ? own : "SourceMissing";
}
