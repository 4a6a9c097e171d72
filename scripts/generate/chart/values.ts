import {
  isMap,
  isNode,
  isScalar,
  parseDocument,
  type Document,
  type Pair,
  type YAMLMap,
} from "yaml";

/** A value of a chart, or a map of them. */
export interface ChartValue {
  /** Names from the root, such as `["image", "tag"]`. */
  readonly path: readonly string[];
  /** The comment above it, in Markdown; empty without one. */
  readonly description: string;
  readonly fallback: unknown;
}

function textOf(comment: string | null | undefined): string {
  const lines = (comment ?? "").split("\n").map((line) => line.trim());
  return lines.join(" ").trim();
}

/**
 * Returns the comment above a pair. The comment above the first pair belongs to its map, and at the
 * root to the document.
 */
function commentOf({ items, commentBefore }: YAMLMap, pair: Pair, document: Document): string {
  const own = isNode(pair.key) ? pair.key.commentBefore : undefined;
  const isFirst = items[0] === pair;
  const isRoot = items === (isMap(document.contents) ? document.contents.items : undefined);
  return textOf(
    own ?? (isFirst ? (commentBefore ?? (isRoot ? document.commentBefore : undefined)) : undefined),
  );
}

/**
 * Returns all values of values.yaml in its order, with the maps that contain them.
 * @throws Error when it is not a map with names that are strings
 */
export function chartValues(yaml: string): ChartValue[] {
  const document = parseDocument(yaml);
  const valuesOf = (map: YAMLMap, parents: readonly string[]): ChartValue[] =>
    map.items.flatMap((pair) => {
      const { key, value } = pair;
      if (!isScalar(key) || typeof key.value !== "string")
        throw new Error("values.yaml: expected names that are strings");
      const path = [...parents, key.value];
      const fallback: unknown = isNode(value) ? value.toJS(document) : value;
      const inner = isMap(value) ? valuesOf(value, path) : [];
      return [{ path, description: commentOf(map, pair, document), fallback }, ...inner];
    });
  if (!isMap(document.contents)) throw new Error("values.yaml: expected a map");
  return valuesOf(document.contents, []);
}
