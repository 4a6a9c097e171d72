import type { Random } from "../../src/lib/random.ts";

/** Lines of a range: few, because a sample should have parts of many files. */
const RANGE_LINES = 12;

export interface SourceFile {
  readonly path: string;
  /** Number of lines. */
  readonly lines: number;
}

/**
 * Returns random ranges of lines with about `percent` of the lines of the files, as patterns of
 * Stryker (`path:from-to`), in the order of the files. 100 returns whole files, and a smaller share
 * at least one range if there is any line.
 */
export function sample(files: readonly SourceFile[], percent: number, random: Random): string[] {
  if (percent >= 100) return files.map(({ path }) => path);
  const ranges = files.flatMap(rangesOf);
  const count = Math.ceil((ranges.length * percent) / 100);
  const chosen = ranges
    .map((range, index) => ({ range, index, rank: random() }))
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, count);
  return chosen.toSorted((one, other) => one.index - other.index).map(({ range }) => range);
}

function rangesOf({ path, lines }: SourceFile): string[] {
  return Array.from({ length: Math.ceil(lines / RANGE_LINES) }, (_, index) => {
    const from = index * RANGE_LINES + 1;
    return `${path}:${from}-${Math.min(lines, from + RANGE_LINES - 1)}`;
  });
}

/** A result of Stryker. */
interface Mutant {
  /** Absolute path. */
  readonly fileName: string;
  readonly status: string;
}

interface Score {
  /** Mutants that ran or that no test covers. */
  readonly mutants: number;
  /** Mutants that a test noticed. */
  readonly noticed: number;
}

/** Returns the score of a file, or of all files below a folder. */
export function scoreOf(mutants: readonly Mutant[], path: string): Score {
  const statuses = mutants
    .filter(({ fileName }) => fileName === path || fileName.startsWith(`${path}/`))
    .map(({ status }) => status);
  const noticed = countOf(statuses, ["Killed", "Timeout"]);
  return { noticed, mutants: noticed + countOf(statuses, ["Survived", "NoCoverage"]) };
}

function countOf(statuses: readonly string[], counted: readonly string[]): number {
  return statuses.filter((status) => counted.includes(status)).length;
}

/** Returns the share of noticed mutants in percent, 100 without a mutant. */
export function percentOf({ mutants, noticed }: Score): number {
  return mutants === 0 ? 100 : (100 * noticed) / mutants;
}
