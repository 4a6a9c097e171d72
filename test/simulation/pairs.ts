import { type Episode, episodeFeatures, fieldsIn, specFeatures } from "./features.ts";

/** The names of all features, the features of a spec first. */
const featureNames: readonly string[] = [
  ...Object.keys(specFeatures),
  ...Object.keys(episodeFeatures),
];

const pairOf = (a: string, b: string): string =>
  featureNames.indexOf(a) < featureNames.indexOf(b) ? `${a} × ${b}` : `${b} × ${a}`;

/** Features that no user can write together, each with its reason. */
const exclusive: readonly (readonly [string, readonly string[], string])[] = [
  [
    "VaultFile",
    [
      "VaultSecret",
      "data",
      "extract",
      "find by metadata",
      "property",
      "decoding",
      "optional",
      "owner",
    ],
    "fields of a VaultSecret",
  ],
  ["VaultFile", ["basic-auth", "tls", "dockerconfigjson"], "a Secret of a VaultFile has no type"],
  ["VaultSecret", ["target ConfigMap", "files"], "fields of a VaultFile"],
  [
    "files",
    ["data", "extract", "find by metadata", "property", "decoding", "optional", "owner"],
    "fields of two kinds",
  ],
  ["files", ["basic-auth", "tls", "dockerconfigjson"], "fields of two kinds"],
  [
    "target ConfigMap",
    ["data", "extract", "find by metadata", "property", "decoding", "optional", "owner"],
    "fields of two kinds",
  ],
  ["target ConfigMap", ["basic-auth", "tls", "dockerconfigjson"], "a ConfigMap has no type"],
  [
    "Merge",
    ["Orphan", "immutable", "labels", "annotations", "basic-auth", "tls", "dockerconfigjson"],
    "rejected by a rule of the API",
  ],
  [
    "ClusterVaultSecret",
    [
      "VaultSecret",
      "VaultFile",
      "ClusterVaultFile",
      "target ConfigMap",
      "files",
      "Merge",
      "rolloutRestart",
      "windows of restarts",
    ],
    "fields of another kind",
  ],
  [
    "ClusterVaultFile",
    [
      "VaultSecret",
      "VaultFile",
      "Merge",
      "rolloutRestart",
      "windows of restarts",
      "data",
      "extract",
      "find by metadata",
      "property",
      "decoding",
      "optional",
      "owner",
      "basic-auth",
      "tls",
      "dockerconfigjson",
    ],
    "fields of another kind",
  ],
  [
    "namespaces",
    ["VaultSecret", "VaultFile", "Merge", "rolloutRestart", "windows of restarts"],
    "fields of two kinds",
  ],
  [
    "namespaceSelector",
    ["VaultSecret", "VaultFile", "Merge", "rolloutRestart", "windows of restarts"],
    "fields of two kinds",
  ],
  ["basic-auth", ["tls", "dockerconfigjson"], "one type"],
  ["tls", ["dockerconfigjson"], "one type"],
];

const impossible = new Set(exclusive.flatMap(([a, others]) => others.map((b) => pairOf(a, b))));

/** Returns all pairs of features that a user can write. */
export function possiblePairs(): readonly string[] {
  const all = featureNames.flatMap((a, index) =>
    featureNames.slice(index + 1).map((b) => `${a} × ${b}`),
  );
  return all.filter((pair) => !impossible.has(pair));
}

/**
 * Counts in how many episodes each pair of features was reached: of two features of a spec, in one
 * spec.
 */
export class PairCounts {
  readonly #counts = new Map<string, number>();

  add(episode: Episode): void {
    const seen = new Set<string>();
    const inEpisode = new Set(
      Object.keys(episodeFeatures).filter((name) => episodeFeatures[name]!(episode)),
    );
    for (const command of episode.commands) {
      const fields = fieldsIn(command);
      if (fields.size === 0) continue;
      const inSpec = Object.keys(specFeatures).filter((name) =>
        specFeatures[name]!(command, fields),
      );
      for (const a of inSpec)
        for (const b of [...inSpec, ...inEpisode]) if (a !== b) seen.add(pairOf(a, b));
    }
    for (const a of inEpisode) for (const b of inEpisode) if (a !== b) seen.add(pairOf(a, b));
    for (const pair of seen) this.#counts.set(pair, this.of(pair) + 1);
  }

  of(pair: string): number {
    return this.#counts.get(pair) ?? 0;
  }

  /** Returns the pairs that a user can write and that no episode has. */
  missing(): readonly string[] {
    return possiblePairs().filter((pair) => this.of(pair) === 0);
  }

  /**
   * Formats the counts as a table: a row for each feature, with the numbers of its pairs with the
   * features before it.
   */
  table(): string {
    const width = Math.max(...featureNames.map((name) => name.length)) + 4;
    const rows = featureNames.map((name, row) => {
      const cells = featureNames.slice(0, row).map((other) => {
        const pair = pairOf(name, other);
        return (impossible.has(pair) ? "-" : `${this.of(pair)}`).padStart(4);
      });
      return `${`${row + 1} ${name}`.padEnd(width)}${cells.join("")}`;
    });
    const head = `${"".padEnd(width)}${featureNames
      .slice(0, -1)
      .map((_, index) => `${index + 1}`.padStart(4))
      .join("")}`;
    return [head, ...rows].join("\n");
  }
}
