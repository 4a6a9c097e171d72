import { type Document, isNode, LineCounter, parseAllDocuments } from "yaml";
import { z } from "zod";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { text as textIn } from "node:stream/consumers";
import { isObject } from "../../../lib/is-object.ts";
import { type CoreObject, fieldProblem, type Manifest, type Problem } from "./manifest.ts";
import { codeOf } from "../../../lib/errors.ts";

/** The text of a file, or of standard input. */
interface Input {
  /** Path of the file, or `stdin`. */
  readonly file: string;
  readonly text: string;
}

const EXTENSIONS = new Set([".yaml", ".yml", ".json"]);

/**
 * Returns the manifest files at a path: all files of a directory, without hidden ones, in the order
 * of their names; or what else it is, such as a file or a FIFO.
 */
async function filesAt(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
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

/** Returns the failure to read a path, with what to do. */
function explained(path: string, error: unknown): unknown {
  if (/^https?:/u.test(path))
    return new Error(
      `${path} is a URL: pipe it, for example curl -fsSL ${path} | vaultsync plan -f -`,
    );
  if (codeOf(error) === "ENOENT")
    return new Error(`${path} does not exist: give files, directories, or - for standard input`);
  if (codeOf(error) === "EACCES") return new Error(`${path} cannot be read: permission denied`);
  return error;
}

/**
 * Reads files, FIFOs and directories; `-` is standard input. `/dev/stdin` as well, because a socket
 * cannot be opened by that name.
 * @throws Error that says what to do
 */
async function readInput(paths: readonly string[]): Promise<Input[]> {
  const inputs: Input[] = [];
  for (const path of paths) {
    if (path === "-" || path === "/dev/stdin") {
      inputs.push({ file: "stdin", text: await textIn(process.stdin) });
      continue;
    }
    try {
      for (const file of await filesAt(path))
        inputs.push({ file, text: await readFile(file, "utf8") });
    } catch (error) {
      throw explained(path, error);
    }
  }
  return inputs;
}

const metadata = z.looseObject({
  name: z.string().min(1),
  namespace: z.string().optional(),
});

const manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata,
  spec: z.unknown(),
});

const coreObject = z.looseObject({ apiVersion: z.literal("v1"), kind: z.string(), metadata });

/** The objects of `kubectl get -o yaml` and of some renderers. */
const list = z.looseObject({
  apiVersion: z.string(),
  kind: z.string().endsWith("List"),
  items: z.array(z.unknown()),
});

export interface Manifests {
  readonly manifests: readonly Manifest[];
  /** The objects of the core API, without their content. */
  readonly coreObjects: readonly CoreObject[];
  readonly problems: readonly Problem[];
}

/** One object of a document: the document itself, or an item of a List. */
interface Part {
  readonly content: unknown;
  readonly lineOf: Manifest["lineOf"];
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

/** Returns the objects of a document: one, or the items of a List. */
function partsOf(document: Document, lines: LineCounter): Part[] {
  const content = contentOf(document);
  const lineOf =
    (...prefix: readonly PropertyKey[]) =>
    (...path: readonly PropertyKey[]): number =>
      lineIn(document, lines, [...prefix, ...path]);
  const { success, data } = list.safeParse(content);
  if (!success) return [{ content, lineOf: lineOf() }];
  return data.items.map((item, index) => ({ content: item, lineOf: lineOf("items", index) }));
}

/** Matches the actions of Go and Jinja templates. */
const TEMPLATE = /\{\{-? *(?:[.$(]|[a-z]+ )/u;

const UNRENDERED =
  "a template is not a manifest: render it first, for example helm template CHART | vaultsync plan -f -";

/** Returns the syntax errors of a file; of a template only the first one, with what to do. */
function syntaxProblems(
  { file, text }: Input,
  documents: readonly Document[],
  lines: LineCounter,
): Problem[] {
  const problems = documents.flatMap(({ errors }) =>
    errors.map(({ pos, message }) => ({ file, line: lines.linePos(pos[0]).line, message })),
  );
  const [first] = problems;
  if (first === undefined || !TEMPLATE.test(text)) return problems;
  return [{ ...first, message: UNRENDERED }];
}

/** Reports whether an object is of an API group, whatever else is wrong with it. */
const isOf = (content: unknown, group: string): boolean =>
  isObject(content) &&
  typeof content["apiVersion"] === "string" &&
  content["apiVersion"].startsWith(`${group}/`);

function readText(input: Input, group: string, namespace: string): Manifests {
  const { file, text } = input;
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false });
  const documents = "empty" in parsed ? [] : parsed;
  const manifests: Manifest[] = [];
  const coreObjects: CoreObject[] = [];
  const problems = syntaxProblems(input, documents, lines);
  const whole = documents.filter(({ errors }) => errors.length === 0);
  for (const { content, lineOf } of whole.flatMap((document) => partsOf(document, lines))) {
    const isManifest = isOf(content, group);
    const result = (isManifest ? manifest : coreObject).safeParse(content, { error: required });
    if (result.success) {
      const { apiVersion, kind, metadata: meta, spec, ...rest } = result.data;
      const common = { file, apiVersion, kind, metadata: meta, name: meta.name, lineOf };
      // An empty namespace is none.
      const object = { ...common, namespace: meta.namespace || namespace };
      if (isManifest) manifests.push({ ...object, spec, fields: Object.keys(rest) });
      else coreObjects.push(object);
    } else if (isManifest) {
      const place = { file, lineOf };
      problems.push(
        ...result.error.issues.map(({ path, message }) => fieldProblem(place, path, message)),
      );
    }
  }
  return { manifests, coreObjects, problems };
}

/** The text of zod for a field that is missing. */
export const required = ({ input }: { readonly input?: unknown }): string | undefined =>
  input === undefined ? "is required" : undefined;

/**
 * Reads the objects of an API group from files, directories and standard input, also in a
 * List. Of other objects, only the metadata of the core API is read. `namespace` applies to objects
 * without a namespace.
 * @throws Error that says what to do when a path cannot be read
 */
export async function readManifests(
  paths: readonly string[],
  group: string,
  namespace: string,
): Promise<Manifests> {
  const read = (await readInput(paths)).map((input) => readText(input, group, namespace));
  return {
    manifests: read.flatMap(({ manifests }) => manifests),
    coreObjects: read.flatMap(({ coreObjects }) => coreObjects),
    problems: read.flatMap(({ problems }) => problems),
  };
}
