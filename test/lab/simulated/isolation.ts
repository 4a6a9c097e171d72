import type { ObjectRef } from "../../../src/operator/kube/resource.ts";
import { accountOf } from "./simulated-world.ts";
import * as fc from "fast-check";

type Labels = Readonly<Record<string, string>>;

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

export const NAMESPACES = ["a", "b", "c"];
export const NAMES = ["x-1", "x-2", "y-1", "y/2"];
/** The names that the rule of a resource finds, as far as it may. */
const FOUND = ["x-1", "x-2"];
/** The spec of that rule. */
export const RULE = { data: undefined, dataFrom: [{ find: { name: { regexp: "^x-" } } }] };
/** One change of a cluster, of its vault or of the operator. */
export type Command =
  | { readonly do: "label"; readonly namespace: string; readonly labels: Labels }
  | { readonly do: "connect"; readonly connection: ModelConnection }
  | { readonly do: "disconnect"; readonly connection: ObjectRef }
  | { readonly do: "follow"; readonly resource: ModelResource }
  | { readonly do: "delete"; readonly resource: Pick<ModelResource, "kind" | "namespace" | "name"> }
  | { readonly do: "write"; readonly names: readonly string[] }
  | { readonly do: "restart" }
  | { readonly do: "wait"; readonly ms: number };

const namespace = fc.constantFrom(...NAMESPACES);
const labels = fc.dictionary(fc.constantFrom("team", "stage"), fc.constantFrom("1", "2"), {
  maxKeys: 2,
});
const globs = fc.option(
  fc.uniqueArray(fc.constantFrom("*", "*", "x-*", "*1", "y*2", "x-1", "z"), { maxLength: 3 }),
  {
    nil: undefined,
  },
);
const entry: fc.Arbitrary<ModelEntry> = fc.record({
  key: fc.constantFrom("team", "stage"),
  operator: fc.constantFrom("matchLabels", "matchLabels", "In", "NotIn", "Exists", "DoesNotExist"),
  value: fc.constantFrom("1", "2"),
  secrets: globs,
  files: globs,
});
const ofCluster: fc.Arbitrary<ObjectRef> = fc.record({ name: fc.constantFrom("one", "two") });
const ofNamespace: fc.Arbitrary<ObjectRef> = fc.record({
  namespace,
  name: fc.constantFrom("one", "two"),
});
const account = fc.constantFrom("own", "own", "other");
const modelConnection: fc.Arbitrary<ModelConnection> = fc.oneof(
  fc.record({ connection: ofNamespace, account, access: fc.constant([]) }),
  fc.record({ connection: ofCluster, account, access: fc.array(entry, { maxLength: 3 }) }),
  fc.record({ connection: ofCluster, account, access: fc.array(entry, { maxLength: 3 }) }),
);
const resourceName = fc.record({
  kind: fc.constantFrom("secret", "file"),
  namespace,
  name: fc.constantFrom("r", "s"),
});
const modelResource: fc.Arbitrary<ModelResource> = fc
  .tuple(
    resourceName,
    fc.boolean(),
    ofCluster,
    fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 2 }),
    fc.nat(3),
  )
  .map(([identity, isOwn, { name }, names, rule]) => ({
    ...identity,
    connection: isOwn ? { namespace: identity.namespace, name } : { name },
    ...(rule === 0 && identity.kind === "secret" ? { names: FOUND, isFound: true } : { names }),
  }));
/** Commands that create a topology in which some resources have rights. */
export const topology: fc.Arbitrary<Command[]> = fc
  .tuple(
    fc.tuple(labels, labels, labels),
    fc.tuple(
      ...["one", "two"].map((name) =>
        fc
          .array(entry, { minLength: 1, maxLength: 3 })
          .map((access) => ({ connection: { name }, account: "own", access })),
      ),
    ),
    fc.array(modelResource, { minLength: 3, maxLength: 8 }),
  )
  .map(([ofNamespaces, connections, resources]) => [
    ...ofNamespaces.map(
      (of, n) => ({ do: "label", namespace: NAMESPACES[n] ?? "", labels: of }) as const,
    ),
    ...connections.map((connection) => ({ do: "connect", connection }) as const),
    ...resources.map((resource) => ({ do: "follow", resource }) as const),
    { do: "wait", ms: 1_000 } as const,
  ]);
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("label"), namespace, labels }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("connect"), connection: modelConnection }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("disconnect"),
      connection: fc.oneof(ofCluster, ofNamespace),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("follow"), resource: modelResource }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete"), resource: resourceName }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("write"), names: fc.subarray(NAMES, { minLength: 1 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart") }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("wait"), ms: fc.constantFrom(0, 3, 8, 60, 2_000) }),
  },
);
/** A change of access while new versions are read. */
const burst: fc.Arbitrary<Command[]> = fc
  .oneof(fc.record({ namespace, labels }), modelConnection)
  .map((change) => [
    { do: "write", names: NAMES },
    { do: "wait", ms: 60 },
    "labels" in change ? { do: "label", ...change } : { do: "connect", connection: change },
    { do: "wait", ms: 2_000 },
  ]);
/** Random commands. */
export const commands: fc.Arbitrary<Command[]> = fc
  .array(
    fc.oneof(
      { weight: 12, arbitrary: command.map((one) => [one]) },
      { weight: 1, arbitrary: burst },
    ),
    {
      minLength: 5,
      maxLength: 20,
    },
  )
  .map((all) => all.flat());
