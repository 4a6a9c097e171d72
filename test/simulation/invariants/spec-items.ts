import { APPROVE_ANNOTATION, HOLD_ANNOTATION } from "../../../src/operator/api/names.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import type { Rules } from "../simulated-rules.ts";
import { membersOf, partName } from "../simulated-values.ts";

interface Rewrite {
  readonly regexp: { readonly source: string; readonly target: string };
}

interface Reference {
  readonly key: string;
  readonly owner?: string;
  readonly version?: number | "latest" | "previous";
}

/** The spec of a resource with a target, as far as the invariants concern it. */
export interface Spec {
  /** With a kind, a ClusterVaultConnection. */
  readonly connectionRef: { readonly kind?: string; readonly name: string };
  readonly refreshInterval?: string;
  readonly suspend?: boolean;
  readonly updates?: {
    readonly approval?: string;
    readonly windows?: readonly { readonly schedule: string; readonly duration: string }[];
  };
  readonly data?: readonly {
    readonly secretKey: string;
    readonly remoteRef: Reference & { readonly property?: string; readonly decoding?: string };
    readonly optional?: boolean;
    readonly validate?: Rules;
  }[];
  readonly dataFrom?: readonly {
    readonly extract?: Reference;
    readonly find?: {
      readonly name?: { readonly regexp: string };
      readonly metadata?: Readonly<Record<string, string>>;
    };
    readonly rewrite?: readonly Rewrite[];
  }[];
  readonly files?: readonly {
    readonly filename: string;
    readonly key?: string;
    readonly version?: number | "latest";
    readonly validate?: Rules;
  }[];
  readonly filesFrom?: readonly {
    readonly find: { readonly filename: { readonly regexp: string } };
    readonly rewrite?: readonly Rewrite[];
  }[];
  readonly target?: {
    readonly name?: string;
    readonly kind?: string;
    readonly type?: string;
    readonly creationPolicy?: "Owner" | "Orphan" | "Merge";
    readonly immutable?: boolean;
    readonly whenMissing?: string;
    readonly whenRemoved?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly template?: { readonly data: Readonly<Record<string, string>> };
    readonly validate?: Readonly<Record<string, Rules>>;
  };
  /**
   * The versions that the annotation vaultsync.dev/hold names, by the id of the item; it holds all
   * items.
   */
  readonly hold?: Readonly<Record<string, number>>;
  /** The digest that the annotation vaultsync.dev/approve has. */
  readonly approved?: string;
}

/** Returns the versions of a hold; none if it names none or is not valid. */
function heldVersions(text: string): Readonly<Record<string, number>> {
  try {
    const { versions } = JSON.parse(text) as { versions?: Readonly<Record<string, number>> };
    return typeof versions === "object" ? versions : {};
  } catch {
    return {};
  }
}

/** Returns the spec of a resource, with its hold and its approval. */
export function specOf({ spec, metadata }: KubeObject): Spec {
  const { [HOLD_ANNOTATION]: hold, [APPROVE_ANNOTATION]: approved } = metadata.annotations ?? {};
  return {
    ...(spec as Spec),
    ...(hold !== undefined && { hold: heldVersions(hold) }),
    ...(approved !== undefined && { approved }),
  };
}

/** Reports whether a resource has a gate for newer versions. */
export const hasGate = (spec: Spec): boolean =>
  needsApproval(spec) || (spec.updates?.windows ?? []).length > 0;

type Windows = NonNullable<NonNullable<Spec["updates"]>["windows"]>;

/** Reports whether all windows of a resource are closed. */
export const isOutside = ({ updates: { windows = [] } = {} }: Spec, now: number): boolean =>
  areClosed(windows, now);

/** Reports whether there are windows, and all are closed. They open every 10 or 30 minutes. */
export function areClosed(windows: Windows, now: number): boolean {
  const isOpen = ({ schedule, duration }: (typeof windows)[number]): boolean => {
    const period = schedule.startsWith("*/10") ? 10 : 30;
    return (now / 60_000) % period < Number.parseInt(duration, 10);
  };
  return windows.length > 0 && !windows.some(isOpen);
}

/** Reports whether a resource follows newer versions only when a user approves them. */
export const needsApproval = ({ updates }: Spec): boolean => updates?.approval === "Required";

/** One value that a spec requests: a key of the target or, with a template, a variable. */
export interface Item {
  readonly key: string;
  /** Name under which the operator reports the source. */
  readonly id: string;
  /** Part of the source; `undefined`: its whole value. */
  readonly member: string | undefined;
  /**
   * The target may lack the key: its source is optional or found by its name, or some versions lack
   * the member.
   */
  readonly absence: "never" | "optional" | "found" | "member";
  /** Name of the source in the vault. */
  readonly source: string;
  readonly owner: string | undefined;
  readonly version: number | "latest" | "previous";
  /** The item whose version a previous version is below. */
  readonly leader?: Item | undefined;
  /** A hold keeps the version that the target has. */
  readonly isHeld?: boolean;
  /** Metadata that a rule requires of the source. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Rules that the bytes must fit. */
  readonly rules?: Rules | undefined;
}

/** One key that a target may have, and the items that its bytes are made of. */
export interface Output {
  readonly key: string;
  readonly absence: Item["absence"];
  readonly items: readonly Item[];
  /** Rules that the bytes of a rendered key must fit. */
  readonly rules?: Rules | undefined;
}

/** The names of all secrets that a simulation has. */
export const SECRET_NAMES = ["s1", "s2", "s3"] as const;
/** The names of secrets that disappear together. */
export const MANY_NAMES = ["m1", "m2", "m3", "m4", "m5", "m6"] as const;
/** The names of secrets that only sequences with a single change have, in the order of their use there. */
export const CHANGE_NAMES = ["r1", "r2", "r3", "r4", "r5", "r6"] as const;
/** The names of secrets that only VaultPushes write, and sequences with these. */
export const PUSHED_NAMES = ["p1", "p2", "p3", "p4", "p5", "p6"] as const;
/** The names of secrets of chains and loops: no other resource reads two entries of the same bytes. */
export const CHAIN_NAMES = ["h1", "l1", "l2"] as const;
const ALL_SECRETS = [
  ...SECRET_NAMES,
  ...MANY_NAMES,
  ...CHANGE_NAMES,
  ...PUSHED_NAMES,
  ...CHAIN_NAMES,
];
export const FILE_NAMES = ["f1", "f2"] as const;

const latestOf = (source: string) => ({ source, owner: undefined, version: "latest" }) as const;

/** Returns the key that rules make of a name. */
const rewritten = (rules: readonly Rewrite[] = [], name: string): string =>
  rules.reduce((key, { regexp: { source, target } }) => {
    // JavaScript writes the group of a name in another way.
    return key.replaceAll(new RegExp(source, "g"), target.replaceAll(/\$\{(\w+)\}/g, "$<$1>"));
  }, name);

const matching = (names: readonly string[], regexp = ""): string[] =>
  names.filter((name) => new RegExp(regexp).test(name));

const foundItem = (
  name: string,
  rules: readonly Rewrite[] | undefined,
  metadata?: Item["metadata"],
): Item => {
  const key = rewritten(rules, name);
  return {
    key,
    id: key,
    member: undefined,
    absence: "found",
    ...latestOf(name),
    ...(metadata && { metadata }),
  };
};

/**
 * Returns the items of an entry of `dataFrom`: all members that an object may have, or every name
 * that a rule may find.
 */
function derivedItems(
  { extract, find, rewrite }: NonNullable<Spec["dataFrom"]>[number],
  index: number,
): Item[] {
  if (find)
    return matching(ALL_SECRETS, find.name?.regexp).map((name) =>
      foundItem(name, rewrite, find.metadata),
    );
  if (!extract) return [];
  const { key: source, owner, version = "latest" } = extract;
  const { always, ...others } = membersOf(source);
  const item = { id: `dataFrom[${index}]`, source, owner, version };
  return [
    { key: rewritten(rewrite, always), member: always, absence: "never", ...item },
    ...Object.values(others).map((member): Item => ({
      key: rewritten(rewrite, member),
      member,
      absence: "member",
      ...item,
    })),
  ];
}

/** Returns the items of a spec. What a hold names has that version. */
export function itemsOf(spec: Spec): Item[] {
  const { hold } = spec;
  const requested = requestedItems(spec);
  const items = requested.map((item) => {
    if (hold === undefined || typeof item.version === "number") return item;
    const version = hold[item.id];
    return version === undefined ? { ...item, isHeld: true } : { ...item, version };
  });
  return items.map((item) => {
    if (item.version !== "previous") return item;
    const isLeader = ({ source, owner, version, absence }: Item): boolean =>
      source === item.source && owner === item.owner && version === "latest" && absence !== "found";
    return { ...item, leader: items[requested.findIndex(isLeader)] };
  });
}

function requestedItems({ data = [], dataFrom = [], files = [], filesFrom = [] }: Spec): Item[] {
  return [
    ...data.map(({ secretKey, remoteRef, optional = false, validate: rules }): Item => {
      const { key, owner, version = "latest" as const, property, decoding } = remoteRef;
      const member = partName(property?.slice(1), decoding);
      return {
        key: secretKey,
        id: secretKey,
        member,
        absence: optional ? "optional" : "never",
        source: key,
        owner,
        version,
        rules,
      };
    }),
    ...dataFrom.flatMap(derivedItems),
    ...files.map(({ filename, key = filename, version = "latest" as const, validate }): Item => ({
      key,
      id: key,
      member: undefined,
      absence: "never",
      source: filename,
      owner: undefined,
      version,
      rules: validate,
    })),
    ...filesFrom.flatMap(({ find, rewrite }) =>
      matching(FILE_NAMES, find.filename.regexp).map((name) => foundItem(name, rewrite)),
    ),
  ];
}

/** A variable in the templates of the simulation, and what stands for it if there is none. */
const VARIABLE = /\{\{ vars\["([^"]+)"\](?: \| default: "([^"]*)")? \}\}/g;

/**
 * Returns the text of a template with these variables; `undefined` if one does not exist and has no
 * default.
 */
export function rendered(
  template: string,
  variables: ReadonlyMap<string, string>,
): string | undefined {
  let isComplete = true;
  const text = template.replaceAll(VARIABLE, (_, name: string, otherwise: string | undefined) => {
    const value = variables.get(name) ?? otherwise;
    isComplete &&= value !== undefined;
    return value ?? "";
  });
  return isComplete ? text : undefined;
}

/** Returns the keys of the target of a spec. */
export function outputsOf(spec: Spec): Output[] {
  const items = itemsOf(spec);
  const { template, validate = {} } = spec.target ?? {};
  if (template === undefined)
    return items.map((item) => ({ key: item.key, absence: item.absence, items: [item] }));
  return Object.entries(template.data).map(([key, text]) => {
    const names = new Set(Array.from(text.matchAll(VARIABLE), ([, name]) => name));
    const used = items.filter((item) => names.has(item.key));
    return { key, absence: "never", items: used, rules: validate[key] };
  });
}

/** Reports whether the content of the target is made of all items together. */
export const isDerived = ({ target, dataFrom = [] }: Spec): boolean =>
  target?.template !== undefined || dataFrom.some(({ extract }) => extract !== undefined);

/** Reports whether a kind of resources reads files of a vault. */
export const readsFiles = (kind: string): boolean => kind.endsWith("VaultFile");

/** Reports whether a resource reads through a ClusterVaultConnection. */
export const isOfCluster = ({ connectionRef: { kind } }: Pick<Spec, "connectionRef">): boolean =>
  kind === "ClusterVaultConnection";

/** Returns the target that a spec names. */
export function targetOf(
  kind: string,
  name: string,
  { target = {} }: Spec,
): { readonly kind: string; readonly name: string } {
  return { kind: readsFiles(kind) ? (target.kind ?? "") : "Secret", name: target.name ?? name };
}
