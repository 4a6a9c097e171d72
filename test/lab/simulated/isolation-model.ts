import type { ObjectRef } from "../../../src/operator/kube/resource.ts";
import { accountOf } from "./simulated-world.ts";

export type Labels = Readonly<Record<string, string>>;

/** One entry of an access, in a form that the model evaluates without the code under test. */
export interface ModelEntry {
  readonly key: string;
  readonly operator: "matchLabels" | "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly value: string;
  readonly secrets: readonly string[] | undefined;
  readonly files: readonly string[] | undefined;
}

export interface ModelResource {
  readonly kind: "secret" | "file";
  readonly namespace: string;
  readonly name: string;
  readonly connection: ObjectRef;
  readonly names: readonly string[];
  /** A rule finds the names: names without access are not found instead of not allowed. */
  readonly isFound?: boolean;
}

export interface ModelConnection {
  readonly connection: ObjectRef;
  /** Name whose account it uses: its own one, or another one. */
  readonly account: string;
  readonly access: readonly ModelEntry[];
}

/** The state of the API server at one time. */
export interface ModelState {
  readonly labels: ReadonlyMap<string, Labels>;
  readonly connections: readonly ModelConnection[];
  readonly resources: readonly ModelResource[];
}

/** Returns the entry in the form of a spec. */
export function specOf({ key, operator, value, secrets, files }: ModelEntry): object {
  const values = operator === "In" || operator === "NotIn" ? { values: [value] } : {};
  const namespaceSelector =
    operator === "matchLabels"
      ? { matchLabels: { [key]: value } }
      : { matchExpressions: [{ key, operator, ...values }] };
  return { namespaceSelector, ...(secrets && { secrets }), ...(files && { files }) };
}

function selects({ key, operator, value }: ModelEntry, labels: Labels): boolean {
  const actual = new Map(Object.entries(labels)).get(key);
  if (operator === "Exists") return actual !== undefined;
  if (operator === "DoesNotExist") return actual === undefined;
  return operator === "NotIn" ? actual !== value : actual === value;
}

const matches = (glob: string, name: string): boolean =>
  new RegExp(`^${glob.split("*").join(".*")}$`, "s").test(name);

export const accountFor = ({ connection, account }: ModelConnection): string =>
  accountOf({ ...connection, name: account });

/** Returns the connection that a resource refers to. */
export function connectionOf(
  { connections }: ModelState,
  { connection: { namespace, name } }: ModelResource,
) {
  return connections.find(
    ({ connection: one }) => one.namespace === namespace && one.name === name,
  );
}

/**
 * Returns the account with which the operator may read `names` for a resource; `undefined` if it
 * may not.
 */
export function rightOf(
  state: ModelState,
  resource: ModelResource,
  names: readonly string[] = resource.names,
): string | undefined {
  const found = connectionOf(state, resource);
  if (found === undefined) return undefined;
  if (resource.connection.namespace !== undefined) return accountFor(found);
  const labels = state.labels.get(resource.namespace) ?? {};
  const globs = found.access
    .filter((entry) => selects(entry, labels))
    .flatMap((entry) => (resource.kind === "file" ? entry.files : entry.secrets) ?? []);
  const mayRead = (name: string): boolean => globs.some((glob) => matches(glob, name));
  return names.every(mayRead) ? accountFor(found) : undefined;
}

/**
 * Reports whether any resource has a right to read this name as this account; in `namespace`, if
 * given.
 */
export function hasRight(
  state: ModelState,
  account: string,
  name: string,
  namespace?: string,
): boolean {
  return state.resources.some(
    (resource) =>
      (namespace === undefined || resource.namespace === namespace) &&
      resource.names.includes(name) &&
      rightOf(state, resource, resource.isFound === true ? [name] : resource.names) === account,
  );
}

export const keyOfResource = ({
  kind,
  namespace,
  name,
}: Pick<ModelResource, "kind" | "namespace" | "name">): string => `${kind} ${namespace}/${name}`;
