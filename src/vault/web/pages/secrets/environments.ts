import type { SecretRecord } from "../../../../protocol/responses.ts";
import { foldersIn, metadataChoices, startIn } from "./list-view.ts";

/** Usual names of environments, in the order in which a change reaches them. */
const usual = [
  ..."local dev develop development test testing qa uat stage staging preprod".split(" "),
  ..."live prod production".split(" "),
];

const rankOf = (folder: string): number => usual.indexOf(folder.toLowerCase());

/**
 * Returns the folders in a folder that are environments: named like the environment of a secret, or
 * as usual. None unless there are two to compare.
 */
export function environmentsIn(
  secrets: readonly SecretRecord[],
  folder: string,
): readonly string[] {
  const named = new Set(
    metadataChoices(secrets, "environment_type").map((name) => name.toLowerCase()),
  );
  const folders = foldersIn(secrets, folder)
    .map(({ name }) => name)
    .filter((name) => rankOf(name) >= 0 || named.has(name.toLowerCase()));
  return folders.length < 2 ? [] : folders.sort((left, right) => rankOf(left) - rankOf(right));
}

/** A name in the compared environments. */
export interface ComparedName {
  /** Its part after the folder of the environment. */
  readonly name: string;
  /** The secrets of each environment: several when owners use the same name, none if it lacks it. */
  readonly cells: readonly (readonly SecretRecord[])[];
}

/** Returns the start of the names in an environment. */
export function startOf(folder: string, environment: string): string {
  return startIn(startIn(folder) + environment);
}

/** Returns the names in at least one of the environments in a folder, sorted. */
export function compareEnvironments(
  secrets: readonly SecretRecord[],
  folder: string,
  environments: readonly string[],
): readonly ComparedName[] {
  const starts = environments.map((environment) => startOf(folder, environment));
  const rows = new Map<string, SecretRecord[][]>();
  for (const secret of secrets) {
    const at = starts.findIndex((start) => secret.key_name.startsWith(start));
    const name = secret.key_name.slice(starts[at]?.length);
    if (at < 0 || name === "") continue;
    const cells = rows.get(name) ?? environments.map(() => []);
    cells[at]?.push(secret);
    rows.set(name, cells);
  }
  return [...rows]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, cells]) => ({ name, cells }));
}

/** Reports whether an environment lacks the name. */
export function hasGap({ cells }: ComparedName): boolean {
  return cells.some((secrets) => secrets.length === 0);
}
