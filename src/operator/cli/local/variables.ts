import { utf8Text } from "../../lib/utf8-text.ts";
import { entriesOf } from "../../sync/sync-key.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import { type Problem, problemAt } from "../manifests/manifest.ts";
import type { LocalTarget } from "./local-targets.ts";

/** Values by the name of their environment variable. */
export type Variables = ReadonlyMap<string, string>;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/u;

/** Variables that change which code a program runs: a vault must not set them unnamed. */
const LOADED =
  /^(?:PATH|IFS|ENV|HOME|SHELL|SHELLOPTS|PS4|PROMPT_COMMAND|EDITOR|PAGER|GLIBC_TUNABLES|GCONV_PATH|_?JAVA_.*|JDK_JAVA_OPTIONS|(?:LD|DYLD|BASH|NODE|NPM_CONFIG|GIT|SSH)_.*|(?:PYTHON|PERL|RUBY|GEM).*)$/iu;

/** Reports whether the keys of a target become environment variables; otherwise they are files. */
export const isOfEnvironment = ({ kind, target: { type = "Opaque" } }: SyncResource): boolean =>
  entriesOf(kind) === "secret" && type === "Opaque";

/** Reports whether the spec names a key, and not the vault. */
const isWritten = ({ items, template }: SyncResource, key: string): boolean =>
  template !== undefined
    ? Object.hasOwn(template.data, key)
    : items.some(({ id, foundBy }) => id === key && foundBy === undefined);

/** Names a key in a message. The names of the members of a value are a part of it. */
function keyText(resource: SyncResource, key: string): string {
  const { items } = resource;
  if (isWritten(resource, key) || items.some(({ id }) => id === key)) return `the key ${key}`;
  const sources = items.filter(({ isExtracted }) => isExtracted === true);
  return `a member of ${sources.map(({ source }) => source).join(" or ")}`;
}

/** Limit of Linux for one variable of a process, with its name and a final zero. */
const MAX_BYTES = 128 * 1024;

/** The environment of a process, or a file of variables. */
type VariableUse = "process" | "file";

/** Returns a valid name that is similar to a key. */
const similar = (key: string): string =>
  key
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/gu, "_")
    .replace(/^(?=[0-9])/u, "_");

/** Returns a character that Node, a shell and the kubelet do not read alike between quotes. */
function unclearIn(value: string): string | undefined {
  if (value.includes("'")) return "single quote";
  return value.includes("\r") ? "carriage return" : undefined;
}

const RENAME = "spec.data[].secretKey, rewrite or target.template";

/** Says why a key cannot be a variable, or returns its value. */
function valueOf(
  resource: SyncResource,
  key: string,
  bytes: Uint8Array,
  use: VariableUse,
): { readonly value: string } | { readonly why: string } {
  const named = keyText(resource, key);
  if (!NAME.test(key)) {
    const example = named.endsWith(key) ? `, for example to ${similar(key)}` : "";
    const why = `${named} is not a valid name of an environment variable, of letters, digits and '_': rename it${example} (${RENAME})`;
    return { why };
  }
  if (!isWritten(resource, key) && LOADED.test(key))
    return {
      why: `${named} would set a variable that changes which code programs run: name it in spec.data, or rename it`,
    };
  const value = utf8Text(bytes);
  if (value === undefined || value.includes("\0"))
    return { why: `${named} has bytes that an environment variable cannot have: use a VaultFile` };
  if (use === "process" && Buffer.byteLength(value) + key.length >= MAX_BYTES - 1)
    return {
      why: `${named} is too long for an environment variable (${MAX_BYTES} bytes): use a VaultFile`,
    };
  const unclear = use === "file" ? unclearIn(value) : undefined;
  if (unclear !== undefined)
    return {
      why: `${named} has a ${unclear}, and programs read it in such files differently: use vaultsync run or --dir`,
    };
  return { value };
}

/**
 * Returns the environment variables of targets: the keys of VaultSecrets whose type is Opaque.
 * Messages contain names of manifests and of entries of the vault.
 */
export function variablesOf(
  targets: readonly LocalTarget[],
  use: VariableUse,
): {
  readonly variables: Variables;
  readonly problems: readonly Problem[];
} {
  const variables = new Map<string, string>();
  const from = new Map<string, LocalTarget>();
  const problems: Problem[] = [];
  for (const target of targets.filter(({ resource }) => isOfEnvironment(resource))) {
    const { manifest, resource, content } = target;
    for (const [key, bytes] of content) {
      const result = valueOf(resource, key, bytes, use);
      const first = from.get(key);
      if ("why" in result) problems.push(problemAt(manifest, ["spec"], result.why));
      else if (first !== undefined) {
        const place = `${first.manifest.file}:${first.manifest.lineOf("metadata", "name")}`;
        const why = `${keyText(resource, key)} has the name of one of the resource at ${place}: rename one of them (${RENAME})`;
        problems.push(problemAt(manifest, ["spec"], why));
      } else {
        from.set(key, target);
        variables.set(key, result.value);
      }
    }
  }
  return { variables, problems };
}
