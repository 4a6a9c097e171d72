import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { type Document, isNode, LineCounter, parseAllDocuments } from "yaml";
import { z } from "zod";

/** A place in a file, and what is wrong there. */
export interface Problem {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

const manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string().min(1), namespace: z.string().optional() }),
  spec: z.unknown(),
});

const namespaceManifest = z.looseObject({
  apiVersion: z.literal("v1"),
  kind: z.literal("Namespace"),
  metadata: z.looseObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()).optional(),
  }),
});

/** One object in a file. */
export interface Manifest {
  readonly file: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: unknown;
  /** Returns the line of a field, or of the closest field around it that exists. */
  readonly lineOf: (...path: readonly PropertyKey[]) => number;
}

/** Returns a problem of a manifest at the line of a field. */
export function problemAt(
  { file, lineOf }: Manifest,
  path: readonly PropertyKey[],
  message: string,
): Problem {
  return { file, line: lineOf(...path), message };
}

/** Returns the problems in the order of files and lines. */
export function sortProblems(problems: readonly Problem[]): Problem[] {
  return problems.toSorted((a, b) =>
    a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1,
  );
}

/** Formats a path in a manifest, such as `spec.data[0].remoteRef`. */
export const formatPath = (path: readonly PropertyKey[]): string =>
  path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^[.]/u, "");

export interface Manifests {
  readonly manifests: readonly Manifest[];
  /** The labels of the Namespaces among the other objects, by name. */
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>;
  readonly problems: readonly Problem[];
}

const EXTENSIONS = new Set([".yaml", ".yml", ".json"]);

/**
 * Returns the manifest files at a path: the file, or all files of a directory, without hidden ones,
 * in the order of their names.
 */
async function filesAt(path: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return [path];
  const entries = await readdir(path, { withFileTypes: true });
  const visible = entries.filter(({ name }) => !name.startsWith(".") && name !== "node_modules");
  const found: string[] = [];
  for (const entry of visible.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const inside = join(path, entry.name);
    if (entry.isDirectory()) found.push(...(await filesAt(inside)));
    else if (EXTENSIONS.has(extname(entry.name))) found.push(inside);
  }
  return found;
}

/** Returns the line of a path in a document, or of the closest part around it. */
function lineIn(document: Document, lines: LineCounter, path: readonly PropertyKey[]): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

/**
 * Returns the content of a document; `undefined` if its aliases expand to more than a manifest can
 * have.
 */
function contentOf(document: Document): unknown {
  try {
    return document.toJS();
  } catch {
    return undefined;
  }
}

function readText(file: string, text: string, group: string, namespace: string): Manifests {
  const lines = new LineCounter();
  const manifests: Manifest[] = [];
  const namespaces = new Map<string, Readonly<Record<string, string>>>();
  const problems: Problem[] = [];
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false });
  for (const document of "empty" in documents ? [] : documents) {
    for (const { pos, message } of document.errors)
      problems.push({ file, line: lines.linePos(pos[0]).line, message });
    const content = document.errors.length === 0 ? contentOf(document) : undefined;
    const isOfGroup = z
      .looseObject({ apiVersion: z.string().startsWith(`${group}/`) })
      .safeParse(content).success;
    if (!isOfGroup) {
      const { success, data } = namespaceManifest.safeParse(content);
      if (success) namespaces.set(data.metadata.name, data.metadata.labels ?? {});
      continue;
    }
    const lineOf = (...path: readonly PropertyKey[]): number => lineIn(document, lines, path);
    const parsed = manifest.safeParse(content);
    if (parsed.success) {
      const { metadata, ...rest } = parsed.data;
      manifests.push({
        ...rest,
        file,
        metadata,
        name: metadata.name,
        namespace: metadata.namespace ?? namespace,
        lineOf,
      });
    } else {
      problems.push(
        ...parsed.error.issues.map(({ path, message }) => ({
          file,
          line: lineOf(...path),
          message: `${path.join(".")}: ${message}`,
        })),
      );
    }
  }
  return { manifests, namespaces, problems };
}

/**
 * Reads the objects of an API group from files and directories. Of other objects, only the labels
 * of Namespaces are read. `namespace` applies to objects without a namespace.
 * @throws Error when a path cannot be read
 */
export async function readManifests(
  paths: readonly string[],
  group: string,
  namespace: string,
): Promise<Manifests> {
  const manifests: Manifest[] = [];
  const namespaces = new Map<string, Readonly<Record<string, string>>>();
  const problems: Problem[] = [];
  for (const path of paths) {
    for (const file of await filesAt(path)) {
      const read = readText(file, await readFile(file, "utf8"), group, namespace);
      manifests.push(...read.manifests);
      for (const [name, labels] of read.namespaces) namespaces.set(name, labels);
      problems.push(...read.problems);
    }
  }
  return { manifests, namespaces, problems };
}
