/** A result of Stryker. */
export interface Mutant {
  /** Absolute path. */
  readonly fileName: string;
  readonly status: string;
}

export interface Score {
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
