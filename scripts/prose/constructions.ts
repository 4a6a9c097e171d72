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

export type ConstructionName = keyof typeof constructions;

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
