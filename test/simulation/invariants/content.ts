import { VERSIONS_ANNOTATION } from "../../../src/operator/api/names.ts";
import { accountOf, CLUSTER_ACCOUNT, CREATOR, Violation } from "../world.ts";
import { itemsOf } from "./spec-history.ts";
import { isSameSource, type TargetWrite, versionOf } from "./target-write.ts";

/** Every key has the bytes that the vault holds, or held, for the version that the annotation claims (I2, I12). */
export function checkContent(write: TargetWrite): void {
  const { world, history, name, namespace, after, owner, was, is } = write;
  if (!after) return;
  const versions = JSON.parse(after.metadata.annotations?.[VERSIONS_ANNOTATION] ?? "{}") as Record<string, number>;
  const specs = history.recent(namespace, owner);
  for (const [key, base64] of Object.entries(is)) {
    const origin = world.vaults.origin(base64);
    if (!origin) {
      if (was[key] === base64) continue;
      throw new Violation("I2", `${name}: key ${key} has bytes that no vault has ever held`);
    }
    const items = specs.flatMap((spec) => itemsOf(spec)).filter((item) => item.key === key && item.source === origin.name);
    const labels = [key, ...items.map(({ id }) => id)].map((id) => versions[id] ?? -1);
    if (!labels.some((version) => origin.versions.has(version))) {
      const labeled = `labeled version ${labels.join(" or ")}, but has the bytes of ${[...origin.versions].join()}`;
      throw new Violation("I2", `${name}: key ${key} is ${labeled}`);
    }
    const member = world.vaults.memberOf(base64);
    const isRequested = items.some((item) => item.member === member);
    if (!isRequested && was[key] !== base64)
      throw new Violation("I2", `${name}: key ${key} has bytes of ${member ?? "the value"} of ${origin.name}`);
    if (![accountOf(namespace), CREATOR, CLUSTER_ACCOUNT].includes(origin.owner))
      throw new Violation("I12", `${name}: key ${key} has bytes of another namespace's account`);
  }
}

/** A source never goes back to a lower version, unless the spec pins it or a user accepts it (I4). */
export function checkVersions({ world, history, name, namespace, owner, last, is }: TargetWrite): void {
  if (!history.isSettled(namespace)) return;
  const specs = history.recent(namespace, owner);
  for (const [key, base64] of Object.entries(is)) {
    const [before, now] = [world.vaults.origin(last[key] ?? ""), world.vaults.origin(base64)];
    if (!before || !now || !isSameSource(before, now) || versionOf(now) >= versionOf(before)) continue;
    const items = specs.flatMap((spec) => itemsOf(spec)).filter((item) => item.key === key);
    const accepted = world.acceptedBy(namespace, owner).has(`${now.name}@${versionOf(now)}`);
    if (accepted || items.some(({ version }) => version !== "latest")) continue;
    throw new Violation("I4", `${name}: key ${key} went from version ${versionOf(before)} of ${now.name} to ${versionOf(now)}`);
  }
}

/** A target is created with all keys of a spec, except for those whose source may be removed (I3). */
export function checkComplete({ world, history, name, namespace, before, owner, is }: TargetWrite): void {
  const problems = history.recent(namespace, owner).map((spec) => {
    const items = itemsOf(spec);
    const other = Object.keys(is).find((key) => !items.some((item) => item.key === key));
    if (other !== undefined) return `has the key ${other}, which the spec lacks`;
    if (before || spec.target?.whenMissing === "Delete") return undefined;
    const lacking = items.find(
      ({ key, source, absence }) => absence === "never" && !(key in is) && !world.vaults.hasDeadline(source),
    );
    return lacking && `was created without the key ${lacking.key}`;
  });
  if (problems.length > 0 && problems.every((problem) => problem !== undefined))
    throw new Violation("I3", `${name} ${problems.join("; or ")}`);
}
