import { readContent } from "../../sync/content.ts";
import { targetName } from "../../sync/decide.ts";
import { inputsOf } from "../../sync/derive.ts";
import { requiresKeys, unmetRequirements } from "../../sync/required-keys.ts";
import { isMerged } from "../../sync/sync-resource.ts";
import { DONE, lasting } from "../outcome/outcome.ts";
import { type Gathered, keptKeys } from "./gather-content.ts";
import type { Assembled } from "./new-content.ts";
import type { Planned } from "./stages.ts";

/**
 * Returns content of a merged object with the keys that it has and that the type of a Secret
 * requires: the API server would reject their removal, and with it every other change. Only the
 * owner of the Secret can replace it.
 */
export function keepRequired(
  assembled: Assembled,
  { resource, state, current }: Planned,
): Assembled {
  const { object } = current;
  if (!isMerged(resource) || state.state !== "owned" || typeof object?.type !== "string")
    return assembled;
  const { content, failure } = assembled;
  const target = { type: object.type };
  const foreign = [...readContent(resource.target.kind, object).keys()].filter(
    (key) => !current.keys.has(key),
  );
  const present = [...foreign, ...content.keys.map(({ targetKey }) => targetKey)];
  const kept = unmetRequirements(target, present).flatMap(
    (any) => any.find((key) => current.keys.has(key)) ?? [],
  );
  if (kept.length === 0) return assembled;
  const ids = kept.flatMap((key) => [key, ...inputsOf(resource, key).map(({ id }) => id)]);
  const claims = [...state.synced].filter(([id]) => ids.includes(id));
  const why = `${targetName(resource)} belongs to others, and ${requiresKeys({ target }, kept)}: they stay until its owner replaces them or deletes it`;
  return {
    content: {
      ...content,
      keys: [...content.keys, ...keptKeys(kept, current)],
      claims: new Map([...claims, ...content.claims]),
    },
    failure: failure ?? lasting("TargetRejected", why, DONE),
  };
}

/** Reports whether a merged object has these keys, and what is to be known of them. */
export const isMergedAlready = (
  { claims }: Gathered,
  { resource, state, current }: Planned,
): boolean =>
  isMerged(resource) &&
  state.state === "owned" &&
  state.hasMetadata &&
  current.trusted &&
  claims.size === state.synced.size &&
  [...claims].every(([id, claim]) => state.synced.get(id) === claim);
