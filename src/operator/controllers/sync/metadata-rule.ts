import type { Find } from "../../sync/sync-resource.ts";

/**
 * Identifies the metadata that a rule requests: equal for rules that request the same, `undefined`
 * if it requests none.
 */
export function metadataRule({ metadata }: Pick<Find, "metadata">): string | undefined {
  const attributes = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
  return attributes.length === 0 ? undefined : JSON.stringify(attributes);
}
