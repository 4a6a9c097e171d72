import { namespaceSelection, type NamespaceSelection } from "../api/fan-out.ts";
import { isSelected, type Labels } from "../api/namespace-selector.ts";

/** Returns what a spec selects; `undefined` if it does not say so validly. */
export const selectionOf = (spec: unknown): NamespaceSelection | undefined =>
  namespaceSelection.safeParse(spec).data;

/**
 * Reports whether a selection selects a namespace; `unknown` if that depends on its labels, and
 * these are not known.
 */
export function selects(
  { namespaces = [], namespaceSelector }: NamespaceSelection,
  namespace: string,
  labels: Labels | undefined,
): boolean | "unknown" {
  if (namespaces.includes(namespace)) return true;
  if (namespaceSelector === undefined) return false;
  return labels === undefined ? "unknown" : isSelected(namespaceSelector, labels);
}
