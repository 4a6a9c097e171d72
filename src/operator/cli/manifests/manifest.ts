/** A place in a file, and what is wrong there. */
export interface Problem {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** The fields of `metadata` that any object may have. */
type Metadata = Readonly<Record<string, unknown>>;

/** One object in a file. */
export interface Manifest {
  readonly file: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  readonly metadata: Metadata;
  readonly spec: unknown;
  /** The names of all fields next to `metadata`. */
  readonly fields: readonly string[];
  /** Returns the line of a field, or of the closest field around it that exists. */
  readonly lineOf: (...path: readonly PropertyKey[]) => number;
}

/** An object of the core API, such as a Namespace or a Secret, without its content. */
export type CoreObject = Omit<Manifest, "spec" | "fields">;

/** The file and the lines of an object. */
type Place = Pick<Manifest, "file" | "lineOf">;

/** Returns a problem of a manifest at the line of a field. */
export function problemAt(
  { file, lineOf }: Place,
  path: readonly PropertyKey[],
  message: string,
): Problem {
  return { file, line: lineOf(...path), message };
}

/** Returns a problem whose message starts with the path of the field. */
export const fieldProblem = (
  manifest: Place,
  path: readonly PropertyKey[],
  message: string,
): Problem => problemAt(manifest, path, `${formatPath(path)}: ${message}`);

/** Returns the problems in the order of files and lines. */
export function sortProblems(problems: readonly Problem[]): Problem[] {
  return problems.toSorted((a, b) =>
    a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1,
  );
}

/** Returns the problems without those that say the same at the same place. */
export const distinctProblems = (problems: readonly Problem[]): Problem[] => [
  ...new Map(
    problems.map((one) => [JSON.stringify([one.file, one.line, one.message]), one]),
  ).values(),
];

/** Formats a path in a manifest, such as `spec.data[0].remoteRef`. */
export const formatPath = (path: readonly PropertyKey[]): string =>
  path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^[.]/u, "");
