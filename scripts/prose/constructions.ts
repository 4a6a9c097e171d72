import { proseIn } from "./prose-in.ts";

/** A construction that is correct English and hard to read, with what replaces it. */
interface Construction {
  readonly pattern: RegExp;
  readonly instead: string;
  /** Number that one Markdown page may have. */
  readonly perPage: number;
}

/** Matches the words of a phrase, also across the lines of a comment. */
const phrase = (source: string): RegExp =>
  new RegExp(`\\b(?:${source.replaceAll(" ", String.raw`[\s*/]+`)})\\b`, "gi");

const constructions = {
  "that of": { pattern: phrase("that of|those of"), instead: "repeat the noun", perPage: 0 },
  "the others": {
    pattern: phrase("of others|the others"),
    instead: "name them",
    perPage: 0,
  },
  "of its own": {
    pattern: phrase("this very|of its own"),
    instead: "omit it, or write separate",
    perPage: 0,
  },
  meanwhile: { pattern: phrase("meanwhile"), instead: "until then, or omit it", perPage: 0 },
  ", which": {
    pattern: new RegExp(String.raw`,[\s*/]+which\b`, "gi"),
    instead: "start another sentence",
    perPage: 0,
  },
  "so that": { pattern: phrase("so that"), instead: "a colon, or the reason first", perPage: 2 },
} as const satisfies Record<string, Construction>;

type ConstructionName = keyof typeof constructions;

/** A use of a construction. */
export interface Use {
  readonly path: string;
  /** 1-based. */
  readonly line: number;
  readonly construction: ConstructionName;
  readonly instead: string;
}

const names = Object.keys(constructions) as ConstructionName[];

/** Returns the uses of constructions in a file that count, in the order of the constructions. */
export function usesIn(path: string, content: string): Use[] {
  const pieces = proseIn(path, content);
  return names.flatMap((construction) => {
    const { pattern, instead, perPage } = constructions[construction];
    const uses = pieces.flatMap(({ text, offset }) =>
      Array.from(text.matchAll(pattern), ({ index }) => ({
        path,
        line: content.slice(0, offset + index).split("\n").length,
        construction,
        instead,
      })),
    );
    return path.endsWith(".md") ? uses.slice(perPage) : uses;
  });
}

/** Maximum number of uses, by the part of the repository and the construction; none if absent. */
export type Budget = Readonly<Record<string, Partial<Record<ConstructionName, number>>>>;

/** Returns the part of the repository whose budget a file counts for. */
function partOf(path: string): string {
  const folders = path.split("/").slice(0, -1);
  if (folders.length === 0) return path.endsWith(".md") ? "docs" : "root";
  return folders.slice(0, folders[0] === "docs" ? 2 : 1).join("/");
}

function count(uses: readonly Use[]): Map<string, Map<ConstructionName, number>> {
  const counts = new Map<string, Map<ConstructionName, number>>();
  for (const { path, construction } of uses) {
    const part = partOf(path);
    const ofPart = counts.get(part) ?? new Map<ConstructionName, number>();
    counts.set(part, ofPart.set(construction, (ofPart.get(construction) ?? 0) + 1));
  }
  return counts;
}

/** Returns a line for each part that uses a construction more often than its budget allows. */
export function overBudget(uses: readonly Use[], budget: Budget): string[] {
  return [...count(uses)].flatMap(([part, counts]) =>
    [...counts].flatMap(([construction, used]) => {
      const allowed = budget[part]?.[construction] ?? 0;
      if (used <= allowed) return [];
      const found = uses.filter(
        (use) => use.construction === construction && partOf(use.path) === part,
      );
      const places = allowed === 0 ? found.map(({ path, line }) => `\n  ${path}:${line}`) : [];
      return [
        `${part}: "${construction}" ${used} times, ${allowed} allowed: ${found[0]?.instead}${places.join("")}`,
      ];
    }),
  );
}

/** Returns the budget with each number lowered to the uses that are left. It never rises. */
export function lowered(uses: readonly Use[], budget: Budget): Budget {
  const counts = count(uses);
  return Object.fromEntries(
    Object.entries(budget).map(([part, allowed]) => [
      part,
      Object.fromEntries(
        Object.entries(allowed)
          .map(([construction, limit]) => [
            construction,
            Math.min(limit, counts.get(part)?.get(construction as ConstructionName) ?? 0),
          ])
          .filter(([, limit]) => limit !== 0),
      ),
    ]),
  );
}
