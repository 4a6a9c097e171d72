import { Violation } from "../world.ts";
import { outputsOf, type Spec } from "./spec-items.ts";
import { type TargetWrite, versionIn } from "./target-write.ts";

/** Returns a spec that equals another one if they differ in nothing but their hold. */
export const withoutHold = (spec: Spec): string => JSON.stringify({ ...spec, hold: undefined });

/**
 * While a resource is held, no key of its target goes to a version that the hold does not name
 * (I23). A changed spec, a changed target and an accepted version are decisions of users.
 */
export function checkHold(write: TargetWrite): void {
  const { world, history, name, namespace, before, owner, was, is, isTampered, writtenAt } = write;
  const specs = history.recent(namespace, owner);
  if (!before || isTampered || specs.some(({ hold }) => hold === undefined)) return;
  if (new Set(history.since(namespace, owner, writtenAt).map(withoutHold)).size > 1) return;
  for (const [key, base64] of Object.entries(is)) {
    const had = was[key] === base64 ? [] : world.vaults.originsIn(was[key] ?? "");
    const items = specs
      .flatMap(outputsOf)
      .filter((output) => output.key === key)
      .flatMap((output) => output.items);
    for (const origin of world.vaults.originsIn(base64)) {
      const earlier = versionIn(had, origin);
      if (earlier === undefined || origin.versions.has(earlier)) continue;
      const ofSource = items.filter(({ source }) => source === origin.name);
      const isNamed = ofSource.some(
        // The version before one that is named.
        ({ version, leader }) =>
          version === "previous"
            ? typeof leader?.version === "number"
            : version !== "latest" && origin.versions.has(version),
      );
      const isAccepted = [...origin.versions].some((version) =>
        world.acceptedBy(namespace, owner).has(`${origin.name}@${version}`),
      );
      if (isNamed || isAccepted || ofSource.length === 0) continue;
      throw new Violation(
        "I23",
        `${name}: key ${key} went from version ${earlier} of ${origin.name} to ${[...origin.versions].join()}, although ${owner} is held`,
      );
    }
  }
}
