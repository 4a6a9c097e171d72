import type { ClusterConnectionSpec } from "../api/vault-connection.ts";
import { isSelected, type Labels, type NamespaceSelector } from "../api/namespace-selector.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";
import type { SyncResource } from "./sync-resource.ts";
import { firstOf } from "../lib/first-of.ts";

/**
 * Returns a function that reports whether a text matches a glob: `*` stands for any characters,
 * including none and `/`; every other character stands for itself. There is no escaping and no
 * backtracking: the time is linear.
 */
export function globMatcher(glob: string): (text: string) => boolean {
  const [first = "", ...rest] = glob.split("*");
  const last = rest.pop();
  if (last === undefined) return (text) => text === glob;
  return (text) => {
    if (!text.startsWith(first)) return false;
    let end = first.length;
    for (const part of rest) {
      const at = text.indexOf(part, end);
      if (at < 0) return false;
      end = at + part.length;
    }
    return text.length >= end + last.length && text.endsWith(last);
  };
}

type EntryKind = "secret" | "file";

/** One entry of `spec.access` of a ClusterVaultConnection. */
export type AccessEntry = NonNullable<ClusterConnectionSpec["access"]>[number];

/** Reports whether a namespace may read an entry of the vault. */
type Grant = (kind: EntryKind, name: string) => boolean;

/**
 * The names that a namespace may read through a connection. `none`: no entry of its access selects
 * the namespace. `unknown`: the labels of the namespace are not known, or the spec is invalid.
 * Nothing may be read then, and nothing reported as lost.
 */
export type NamespaceAccess = Grant | "none" | "unknown";

/** An entry of `spec.access` whose names are compiled. */
export interface AccessRule {
  readonly selector: NamespaceSelector;
  readonly names: Readonly<Record<EntryKind, readonly ((name: string) => boolean)[]>>;
}

/** Access through a VaultConnection: it is in the same namespace. */
export const everything: Grant = () => true;

/** Compiles the entries of `spec.access`. */
export const accessRules = (access: readonly AccessEntry[]): readonly AccessRule[] =>
  access.map(({ namespaceSelector, secrets = [], files = [] }) => ({
    selector: namespaceSelector,
    names: { secret: secrets.map(globMatcher), file: files.map(globMatcher) },
  }));

/**
 * Returns what the entries of `spec.access` together allow a namespace with these labels to read.
 */
export function accessOf(rules: readonly AccessRule[], labels: Labels): Grant | "none" {
  const selected = rules.filter(({ selector }) => isSelected(selector, labels));
  if (selected.length === 0) return "none";
  return (kind, name) => selected.some(({ names }) => names[kind].some((matches) => matches(name)));
}

const fieldOf: Readonly<Record<EntryKind, string>> = { secret: "secrets", file: "files" };

/**
 * Returns whether a resource may read all of its sources, `unknown` if that cannot be decided, or
 * the condition that says what it may not read. A single name that is not allowed is enough: a
 * target never has a part of its keys only.
 */
export function checkAccess(
  { connection, namespace, items }: Pick<SyncResource, "connection" | "namespace" | "items">,
  kind: EntryKind,
  access: NamespaceAccess,
): "allowed" | "unknown" | ReadyCondition {
  if (access === "unknown") return "unknown";
  const of = `of ${connection.kind} ${connection.name}`;
  if (access === "none") {
    const message = `spec.access ${of} has no entry for the namespace ${namespace}: add one, or label the namespace; existing content is kept`;
    return notReady("NamespaceNotAllowed", message);
  }
  const denied = [
    ...new Set(items.map(({ source }) => source).filter((source) => !access(kind, source))),
  ];
  if (denied.length === 0) return "allowed";
  const message = `spec.access[].${fieldOf[kind]} ${of} does not allow the namespace ${namespace} to read ${firstOf(denied)}: add the name there, or remove the key; existing content is kept`;
  return notReady("NamespaceNotAllowed", message);
}
