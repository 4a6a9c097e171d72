import { findCondition, mergeConditions } from "../api/conditions.ts";
import { type Condition, MAX_FORMER_TARGETS } from "../api/status.ts";
import type { Report } from "./report.ts";
import type { SyncResource } from "./sync-resource.ts";

/** The part of a status that concerns the pods that use the target. */
interface Before {
  readonly conditions?: readonly Condition[] | undefined;
  readonly formerTargets?: readonly string[] | undefined;
  readonly target?:
    | { readonly kind: string; readonly name: string; readonly digest?: string | undefined }
    | undefined;
}

interface Input extends Pick<Report, "effect" | "verified"> {
  readonly resource: Pick<SyncResource, "target">;
  readonly provesUse?: boolean;
  readonly now: number;
}

/**
 * Returns the condition Converged after a reconcile. It says nothing about bytes that it was not
 * written for: a change of the target makes it Unknown in the status that reports the change.
 *
 * @param isChanged the bytes of the target may differ from the last status
 */
export function convergedAfter(
  { conditions }: Before,
  { effect, provesUse = false, now }: Input,
  isChanged: boolean,
  generation: number,
): Condition[] {
  const before = findCondition(conditions, "Converged");
  if (before === undefined || effect === "deleted") return [];
  if (!isChanged) return provesUse || before.status === "True" ? [before] : [];
  if (!provesUse) return [];
  const message = "the pods that use the target are being checked";
  const unknown = { type: "Converged", status: "Unknown", reason: "Progressing", message } as const;
  return mergeConditions(conditions, [unknown], generation, new Date(now).toISOString());
}

/**
 * Returns the earlier targets of a resource, `<kind>/<name>`: a change of its name changes no pod
 * that uses the former one.
 */
export function formerTargets(
  { formerTargets: known = [], target: before }: Before,
  { resource, verified, provesUse = false }: Input,
): string[] | undefined {
  const { kind, name } = resource.target;
  const now = `${kind}/${name}`;
  const former = before && `${before.kind}/${before.name}`;
  const isMoved = verified !== undefined && before?.digest !== undefined && former !== now;
  const all = isMoved && former !== undefined && provesUse ? [...known, former] : known;
  const others = [...new Set(all)].filter((one) => verified === undefined || one !== now);
  return others.length === 0 ? undefined : others.slice(-MAX_FORMER_TARGETS);
}
