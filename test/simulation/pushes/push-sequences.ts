import type { Draw } from "../random-features.ts";
import { CREATOR, NAMESPACES } from "../world.ts";
import type { EntryRef } from "./entry-journal.ts";
import type { PushCommand } from "./push-commands.ts";
import { NAMES, type RandomPushSpecs } from "./random-push-specs.ts";

const base = { connectionRef: { name: "main" }, secret: { name: "source" }, suspend: false };

const setKey = (namespace: string): PushCommand => ({
  type: "set-key",
  namespace,
  name: "source",
  key: "one",
  change: "new",
});
const pause = (draw: Draw, ms: number): PushCommand => ({
  type: "advance",
  ms: Math.floor(draw.random() * ms),
});
const minutes = (count: number): PushCommand => ({ type: "advance", ms: count * 60_000 });

/**
 * Returns commands in which another writer replaces an entry while its VaultPush does not push,
 * before that is deleted.
 *
 * @param other makes any command
 */
export function replacement(
  draw: Draw,
  specs: RandomPushSpecs,
  other: () => PushCommand,
): PushCommand[] {
  const namespace = draw.pick(NAMESPACES);
  const name = draw.pick(NAMES);
  const isFile = draw.below(0.3);
  const target = isFile ? { file: { filename: `${name}.txt` } } : { remoteRef: { key: name } };
  const data = [{ secretKey: "one", ...target }];
  const put = (changes: object = {}): PushCommand =>
    specs.put(namespace, "push", { ...base, data, deletionPolicy: "Delete", ...changes });
  const ref: EntryRef = {
    vault: "a",
    owner: specs.account(namespace),
    kind: isFile ? "file" : "secret",
    name: isFile ? `${name}.txt` : name,
  };
  const write: PushCommand = { type: "write-entry", ...ref };
  return [
    { type: "end-faults" },
    put(),
    setKey(namespace),
    minutes(1),
    draw.pick<PushCommand>([
      put({ suspend: true }),
      put({ data: [{ secretKey: "one", remoteRef: { key: "p3" } }] }),
      { type: "delete-source", namespace, name: "source" },
    ]),
    minutes(1),
    { type: "delete-entry", ...ref },
    pause(draw, 600_000),
    ...(draw.below(0.3) ? [other()] : []),
    write,
    ...(draw.below(0.3) ? [pause(draw, 600_000)] : []),
    write,
    minutes(1),
    setKey(namespace),
    put(),
    minutes(2),
    { type: "delete-push", namespace, name: "push" },
    minutes(1),
  ];
}

/**
 * Returns commands in which a VaultPush waits for the deletion of an older one to a secret that is
 * shared with it.
 *
 * @param other makes any command
 */
export function inheritance(
  draw: Draw,
  specs: RandomPushSpecs,
  other: () => PushCommand,
): PushCommand[] {
  const [older, younger] = draw.below(0.5) ? NAMESPACES : NAMESPACES.toReversed();
  const [owner, to] = [specs.account(older), specs.account(younger)];
  if (owner === to) return [];
  const entry = { vault: "a", kind: "secret", name: "p1" } as const;
  const data = [{ secretKey: "one", remoteRef: { key: "p1" } }];
  const put = (namespace: string): PushCommand =>
    specs.put(namespace, "push", { ...base, data, deletionPolicy: "Delete" });
  const trustedOwners = [draw.below(0.8) ? owner : CREATOR];
  return [
    { type: "end-faults" },
    { type: "delete-push", namespace: older, name: "push" },
    { type: "delete-push", namespace: younger, name: "push" },
    { type: "delete-push", namespace: younger, name: "rival" },
    specs.connect(younger, "main", { trustedOwners }),
    minutes(1),
    { type: "delete-entry", ...entry, owner },
    { type: "delete-entry", ...entry, owner: to },
    put(older),
    setKey(older),
    minutes(1),
    { type: "share-entry", ...entry, owner, to, permission: "RW" },
    put(younger),
    minutes(1),
    pause(draw, 200_000),
    ...(draw.below(0.3) ? [other()] : []),
    { type: "delete-push", namespace: older, name: "push" },
    minutes(1),
  ];
}
