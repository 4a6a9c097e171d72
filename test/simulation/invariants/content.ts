import { accountOf, CLUSTER_ACCOUNT, CREATOR, Violation } from "../world.ts";
import { findOwner } from "../fanned-out.ts";
import type { Origin } from "../simulated-vaults.ts";
import { requiredKeys } from "../simulated-values.ts";
import { wasListedWith } from "./removals.ts";
import { type Item, type Output, outputsOf, type Spec } from "./spec-items.ts";
import {
  claimedVersions,
  isReaddressed,
  isSameSource,
  mergedInto,
  type TargetWrite,
  versionIn,
  versionOf,
} from "./target-write.ts";

const outputsFor = (specs: readonly Spec[], key: string): Output[] =>
  specs.flatMap((spec) => outputsOf(spec)).filter((output) => output.key === key);

/** Reports whether a template of these specs makes a key: then it is no part of a value. */
const isRendered = (specs: readonly Spec[], key: string): boolean =>
  specs.some(
    ({ target }) => target?.template !== undefined && Object.hasOwn(target.template.data, key),
  );

/**
 * Reports whether a user edited the versions that a target claims for these items, and a merge that
 * begins copied them. The next read shows the edit: their digest does not match them.
 */
function isCopied(
  { before, owner, isMerge, isTampered, versions }: TargetWrite,
  ids: readonly string[],
): boolean {
  const edited = claimedVersions(before);
  const isNew = isMerge && !mergedInto(before).has(owner);
  return isNew && isTampered && ids.every((id) => edited[id] === versions[id]);
}

/**
 * Reports whether the rule of an item, if it has one, finds these bytes. A list shows the metadata of
 * the latest version: a hold also names versions that were written without it.
 */
const isMatched = ({ metadata, version }: Item, origin: Origin): boolean =>
  metadata === undefined ||
  wasListedWith(origin, metadata) ||
  (typeof version === "number" && origin.versions.has(version));

/**
 * Every key has the bytes that the vault holds, or held, for the version that the annotation claims
 * (I2, I12).
 */
export function checkContent(write: TargetWrite): void {
  const { world, history, name, namespace, after, owner, was, is, versions } = write;
  if (!after) return;
  const specs = history.recent(namespace, owner);
  for (const [key, base64] of Object.entries(is)) {
    const origins = world.vaults.originsIn(base64);
    const rendersKey = isRendered(specs, key);
    if (origins.length === 0 && was[key] !== base64 && !rendersKey)
      throw new Violation("I2", `${name}: key ${key} has bytes that no vault has ever held`);
    const items = outputsFor(specs, key).flatMap((output) => output.items);
    for (const origin of origins) {
      const ofSource = items.filter(({ source }) => source === origin.name);
      // Kept bytes may be of a spec that is long gone: its resource was deleted, and created again
      // under the same name, or a template made them of items with other ids.
      const kept = was[key] === base64 ? Object.keys(versions) : [];
      const ids = [key, ...ofSource.map(({ id }) => id), ...kept];
      const labels = ids.map((id) => versions[id] ?? -1);
      const isRight = labels.some((version) => origin.versions.has(version));
      if (!isRight && !(was[key] === base64 && isCopied(write, ids))) {
        const labeled = `labeled version ${labels.join(" or ")}, but has the bytes of ${[...origin.versions].join()}`;
        throw new Violation("I2", `${name}: key ${key} is ${labeled}`);
      }
      const isRequested =
        rendersKey || ofSource.some((item) => world.vaults.isPart(base64, item.member));
      if (!isRequested && was[key] !== base64)
        throw new Violation(
          "I2",
          `${name}: key ${key} has bytes of another part of ${origin.name}`,
        );
      const isUnmatched = ofSource.every((item) => !isMatched(item, origin));
      if (isUnmatched && !rendersKey && was[key] !== base64)
        throw new Violation(
          "I2",
          `${name}: key ${key} has bytes of ${origin.name} without the metadata of its rule`,
        );
      if (![accountOf(namespace), CREATOR, CLUSTER_ACCOUNT].includes(origin.owner))
        throw new Violation("I12", `${name}: key ${key} has bytes of another namespace's account`);
    }
  }
}

/** Returns the lowest version that bytes of a source may be of: a VaultPush may repeat them. */
function lowestIn(origins: readonly Origin[], origin: Origin): number | undefined {
  const versions = origins
    .filter((other) => isSameSource(other, origin))
    .map((other) => Math.min(...other.versions));
  return versions.length === 0 ? undefined : Math.max(...versions);
}

/**
 * A source never goes back to a lower version, unless the spec pins it or a user accepts it (I4).
 */
export function checkVersions(write: TargetWrite): void {
  const { world, history, name, namespace, owner, last, is } = write;
  if (!history.isSettled(namespace)) return;
  const specs = history.recent(namespace, owner);
  for (const [key, base64] of Object.entries(is)) {
    const [before, now] = [world.vaults.originsIn(last[key] ?? ""), world.vaults.originsIn(base64)];
    for (const origin of now) {
      const [was, version] = [
        lowestIn(before, origin),
        versionIn(now, origin) ?? versionOf(origin),
      ];
      if (was === undefined || version >= was) continue;
      const items = outputsFor(specs, key).flatMap((output) => output.items);
      const accepted = world.acceptedBy(namespace, owner).has(`${origin.name}@${version}`);
      if (
        accepted ||
        items.some((item) => item.version !== "latest") ||
        items.some(({ id }) => isForgotten(write, id) || isReaddressed(write, id))
      )
        continue;
      throw new Violation(
        "I4",
        `${name}: key ${key} went from version ${was} of ${origin.name} to ${version}`,
      );
    }
  }
}

/**
 * Reports whether nothing says which version a target had: its annotations do not count any more,
 * and the status is of another vault.
 */
function isForgotten({ world, namespace, owner, isTampered }: TargetWrite, id: string): boolean {
  const { items = [] } = (findOwner(world.server, namespace, owner)?.["status"] ?? {}) as {
    readonly items?: readonly {
      readonly secretKey?: string;
      readonly key?: string;
      readonly version?: number;
    }[];
  };
  const item = items.find((each) => (each.secretKey ?? each.key) === id);
  return isTampered && item?.version === undefined;
}

/**
 * Reports whether a spec requests the source of a key: one that is missing keeps the key that an
 * earlier spec made.
 */
const isRenamed = ({ world, was }: TargetWrite, outputs: readonly Output[], key: string): boolean =>
  world.vaults
    .originsIn(was[key] ?? "")
    .some(({ name }) => outputs.some(({ items }) => items.some(({ source }) => source === name)));

/** Reports whether the Secret that keys are merged into would be invalid without one of them. */
const isRequiredThere = ({ isMerge, after, was, is }: TargetWrite, key: string): boolean =>
  isMerge &&
  was[key] === is[key] &&
  requiredKeys(after?.["type"]).some(
    (any) => any.includes(key) && any.every((one) => one === key || !(one in is)),
  );

/**
 * Checks that a target is created with all keys of a spec, except keys whose source may be removed
 * (I3).
 */
export function checkComplete(write: TargetWrite): void {
  const { world, history, name, namespace, before, owner, was, is, versions } = write;
  // A former target that is kept is released unchanged. Bytes that are gone leave a target also
  // while the present spec cannot be followed: it keeps the other keys of an earlier one.
  if (before && Object.entries(is).every(([key, base64]) => was[key] === base64)) return;
  // What a user wrote over a merged key is the user's.
  const isOthers = (key: string): boolean =>
    write.isMerge && write.isTampered && !(key in versions);
  const problems = history.recent(namespace, owner).map((spec) => {
    const outputs = outputsOf(spec);
    const other = Object.keys(is).find(
      (key) =>
        !isOthers(key) &&
        !isRequiredThere(write, key) &&
        !outputs.some((output) => output.key === key) &&
        !(was[key] === is[key] && isRenamed(write, outputs, key)),
    );
    if (other !== undefined) return `has the key ${other}, which the spec lacks`;
    if (before || spec.target?.whenMissing === "Delete") return undefined;
    const lacking = outputs.find(
      ({ key, items, absence }) =>
        absence === "never" &&
        !(key in is) &&
        !items.some(({ source }) => world.vaults.hasDeadline(source)),
    );
    return lacking && `was created without the key ${lacking.key}`;
  });
  if (problems.length > 0 && problems.every((problem) => problem !== undefined))
    throw new Violation("I3", `${name} ${problems.join("; or ")}`);
}
