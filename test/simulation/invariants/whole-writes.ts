import { type Origin } from "../simulated-vaults.ts";
import { vaultAt, Violation, type World } from "../world.ts";
import type { ConnectionSpec } from "./spec-history.ts";
import { type Item, itemsOf, hasGate } from "./spec-items.ts";
import { isUnfit } from "./contracts.ts";
import { wasListedWith, isTrustedOwner } from "./removals.ts";
import { isSameSource, type TargetWrite, versionOf } from "./target-write.ts";

/**
 * Time after a fault of a vault, in milliseconds, during which it may still be too early to read a
 * value again.
 */
const READABLE_AFTER_MS = 600_000;

/** Time after a freeze in which a replica may take it for current, in milliseconds. */
const FROZEN_MS = 90_000;

/**
 * A write contains all changes that its list of the vault shows: it does not leave a key at a
 * version that was outdated before the version of another key was created, if that key can be read
 * (I3).
 */
export function checkWhole(write: TargetWrite): void {
  const { world, history, name, namespace, before, owner, was, is } = write;
  if (!before || !history.isSettled(namespace)) return;
  // Users accept single versions, and a rule finds names that a freeze keeps away.
  if (world.freezes.mayHold(namespace, FROZEN_MS)) return;
  const changed = Object.entries(is).flatMap(([key, base64]) =>
    was[key] === base64 ? [] : world.vaults.originsIn(base64),
  );
  if (changed.length === 0) return;
  const specs = history.recent(namespace, owner);
  const isGated = specs.some(hasGate);
  const isAdded = Object.keys(is).some((key) => was[key] === undefined);
  if (isGated && (isAdded || world.acceptedBy(namespace, owner).size > 0)) return;
  // A pinned version stays, and so do the bytes of a former source while the present one is
  // missing, of one outside of a scope, and of an owner who is not trusted any more, or shares
  // nothing with another account. A rule does not find a version with other metadata, and a version
  // need not fit the rules for its value.
  const mayStay = (key: string, kept: Origin, newer: Origin): boolean =>
    specs.some((spec) => {
      const connections = history.recentConnections(namespace, spec);
      const isUntrusted = (item: Item): boolean =>
        kept.kind === "secret" &&
        connections.some(
          (one) => !isTrustedOwner(one, item, kept.owner) || !isListed(world, one, kept),
        );
      return (
        connections.some(({ scope }) => scope !== undefined) ||
        spec.refreshInterval !== undefined ||
        itemsOf(spec).some(
          (item) =>
            item.key === key &&
            (item.version !== "latest" ||
              item.isHeld === true ||
              item.source !== kept.name ||
              hasOtherOwner(item, kept) ||
              isUntrusted(item) ||
              lacksPart(item, newer) ||
              isUnfit(item, newer) ||
              (item.metadata !== undefined && !wasListedWith(newer, item.metadata))),
        )
      );
    });
  for (const [key, base64] of Object.entries(is)) {
    const kept = was[key] === base64 ? world.vaults.origin(base64) : undefined;
    const newer = kept && world.vaults.latestOf(kept);
    if (!kept || !newer || mayStay(key, kept, newer) || !isReadable(world, kept)) continue;
    if (!isSameSource(newer, kept) || versionOf(newer) <= versionOf(kept)) continue;
    const later = changed.find(
      ({ vault, order, kind }) => vault === kept.vault && kind === kept.kind && order > newer.order,
    );
    if (later)
      throw new Violation(
        "I3",
        `${name}: key ${key} kept an outdated version when ${later.name} was written`,
      );
  }
}

/** Reports whether the list of a connection has the entry of some bytes. */
const isListed = (
  { vaults }: World,
  { url, email }: ConnectionSpec,
  { owner, name }: Origin,
): boolean =>
  vaults
    .list(vaultAt(url), email)
    .some((entry) => entry.key_name === name && entry.owner === owner);

const hasOtherOwner = ({ owner }: Item, kept: Origin): boolean =>
  owner !== undefined && owner !== kept.owner;

/** Reports whether a value has no such part: then a key stays unchanged. */
const lacksPart = ({ member }: Item, { parts }: Origin): boolean =>
  member !== undefined && !parts.has(member);

function isReadable({ vaults, faults, clock }: World, { vault, owner, name }: Origin): boolean {
  if (vaults.irregular.has(`${vault} ${owner} ${name}`)) return false;
  return (
    !faults.vault.has(vault) &&
    clock.monotonic() - (faults.vaultEndedAt.get(vault) ?? -READABLE_AFTER_MS) >= READABLE_AFTER_MS
  );
}
