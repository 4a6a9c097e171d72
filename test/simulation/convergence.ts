import { findCondition } from "../../src/operator/api/conditions.ts";
import { MANAGED_BY, MANAGED_BY_LABEL, OWNER_ANNOTATION } from "../../src/operator/api/names.ts";
import { CONFIG_MAPS, type KubeObject, NAMESPACES, SECRETS } from "../../src/operator/kube/resource.ts";
import { clusterVaultConnectionKind, vaultConnectionKind, vaultFileKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { SILENCE_MS, urlOf, VAULTS, Violation, type World } from "./world.ts";
import { isAllowed } from "./invariants/access.ts";
import { type ConnectionSpec, type Item, itemsOf, type Spec } from "./invariants/spec-history.ts";
import { outdatedWorkload } from "./invariants/restarts.ts";
import { contentOf } from "./invariants/target-write.ts";
import type { WriteRules } from "./write-rules.ts";

/** Time in ms after which everything must have converged: the longest pause of a login, and a resync. */
const LIMIT_MS = 7_200_000;
const STEP_MS = 60_000;
/** Steps without a write after which everything has converged: another replica has taken over a Lease by then. */
const CALM_STEPS = 3;
/**
 * Time in ms in which nothing may happen. Half of the time of a simulation would be spent in the longer one, which only finds what
 * the operator does after its longest wait: one seed in so many has it.
 */
const QUIET_MS = { usual: 120_000, long: 600_000, seedsPerLong: 5 };

type ConnectionState = { readonly conditions?: [] } | undefined;

/** The outcome that a resource must reach. */
type Expected =
  | { readonly ready: true; readonly content: Readonly<Record<string, string>> }
  | { readonly ready: false; readonly reasons: readonly string[] }
  | "anything";

const MISSING = ["SourceMissing", "SourceRemoved", "VersionNotFound", "AmbiguousName", "VersionRegressed", "SourceSuspicious"];

/**
 * Ends all faults, and throws a `Violation` unless every resource reaches its expected state in time (I5, I13), and the operator is
 * quiet from then on (I9).
 */
export async function settle(world: World, rules: WriteRules): Promise<void> {
  world.calm();
  await converge(world, rules);
  const [writes, requests, start] = [rules.writes, world.vaultRequests, world.clock.now()];
  const quietMs = world.seed % QUIET_MS.seedsPerLong === 1 ? QUIET_MS.long : QUIET_MS.usual;
  await world.advance(quietMs);
  const deadlines = world.vaults.hasDeadlineBetween(start - STEP_MS, world.clock.now());
  if (rules.writes > writes && !deadlines) throw new Violation("I9", `${rules.writes - writes} writes although nothing changed`);
  const connections = connectionsOf(world).length;
  const most = connections * 2 * (quietMs / 5_000 + 4) * 1.3;
  if (world.vaultRequests - requests > most)
    throw new Violation("I9", `${world.vaultRequests - requests} requests to the vaults of ${connections} connections`);
}

/** Waits until every resource has its expected state, and no write has followed for a while. */
export async function converge(world: World, rules: WriteRules): Promise<void> {
  let calm = world.hasSilentWatches ? -SILENCE_MS / STEP_MS : 0;
  for (let waited = 0; calm < CALM_STEPS; waited += STEP_MS) {
    const { writes } = rules;
    await world.advance(STEP_MS);
    const wrong =
      difference(world) ??
      outdatedWorkload(world) ??
      (rules.writes > writes ? `${rules.writes - writes} more writes` : undefined);
    if (wrong !== undefined && waited >= LIMIT_MS) throw new Violation("I5", wrong);
    calm = wrong === undefined ? calm + 1 : Math.min(calm + 1, 0);
  }
}

const connectionsOf = ({ server }: World): KubeObject[] => [
  ...server.all(vaultConnectionKind),
  ...server.all(clusterVaultConnectionKind),
];

/** Returns what is not as expected; `undefined` if everything is. */
function difference(world: World): string | undefined {
  const connections = connectionsOf(world);
  const failing = connections.find(
    ({ status }) => findCondition((status as ConnectionState)?.conditions, "Ready")?.status !== "True",
  );
  if (failing) return `VaultConnection ${failing.metadata.namespace}/${failing.metadata.name} is not ready`;
  const stale = connections.find(
    ({ status }) => findCondition((status as ConnectionState)?.conditions, "Stale")?.status === "True",
  );
  if (stale) return `VaultConnection ${stale.metadata.namespace}/${stale.metadata.name} is stale`;
  const objects = [...world.server.all(vaultSecretKind), ...world.server.all(vaultFileKind)];
  for (const object of objects) {
    const expected = expectedOf(world, object, objects);
    const wrong = expected === "anything" ? undefined : differenceOf(world, object, expected);
    if (wrong !== undefined) return `${object.kind} ${object.metadata.namespace}/${object.metadata.name}: ${wrong}`;
  }
  return undefined;
}

function differenceOf(world: World, object: KubeObject, expected: Exclude<Expected, "anything">): string | undefined {
  const status = object["status"] as { observedGeneration?: number; conditions?: [] } | undefined;
  const ready = findCondition(status?.conditions, "Ready");
  const { generation } = object.metadata;
  if (status?.observedGeneration !== generation)
    return `generation ${generation} was not observed, but ${status?.observedGeneration}`;
  if (findCondition(status?.conditions, "Stale")?.status === "True") return "Stale=True";
  const seen = `Ready=${ready?.status} ${ready?.reason}: ${ready?.message}`;
  if (!expected.ready)
    return expected.reasons.includes(ready?.reason ?? "") ? undefined : `${seen}; expected ${expected.reasons.join(" or ")}`;
  if (ready?.status !== "True") return `${seen}; expected Ready=True`;
  const target = world.server.find(targetOf(object).kind === "Secret" ? SECRETS : CONFIG_MAPS, {
    namespace: object.metadata.namespace,
    name: targetOf(object).name,
  });
  if (!target) return Object.keys(expected.content).length === 0 ? undefined : "Ready=True, but there is no target";
  const content = contentOf(target);
  const wrong = [...new Set([...Object.keys(content), ...Object.keys(expected.content)])].filter(
    (key) => content[key] !== expected.content[key],
  );
  if (wrong.length === 0) return undefined;
  const found = wrong.map((key) => `${key} (${decoded(content[key])}, expected ${decoded(expected.content[key])})`);
  return `Ready=True, but the target has other bytes under ${found.join()}`;
}

const decoded = (base64: string | undefined): string =>
  base64 === undefined ? "none" : Buffer.from(base64, "base64").toString();

function targetOf({ kind, metadata, spec }: KubeObject): { readonly kind: string; readonly name: string } {
  const { target = {} } = spec as { target?: { kind?: string; name?: string } };
  return { kind: kind === "VaultFile" ? (target.kind ?? "") : "Secret", name: target.name ?? metadata.name };
}

const isFound = ({ item }: { readonly item: Item }): boolean => item.absence === "found";

function expectedOf(world: World, object: KubeObject, all: readonly KubeObject[]): Expected {
  const { namespace = "" } = object.metadata;
  const spec = object["spec"] as Spec & { suspend?: boolean };
  if (spec.suspend) return { ready: false, reasons: ["Suspended"] };
  const { kind: connectionKind, name: connectionName } = spec.connectionRef;
  const connection =
    connectionKind === undefined
      ? world.server.find(vaultConnectionKind, { namespace, name: connectionName })
      : world.server.find(clusterVaultConnectionKind, { name: connectionName });
  if (!connection) return { ready: false, reasons: ["ConnectionNotFound"] };
  const connectionSpec = connection["spec"] as ConnectionSpec;
  const { url, email, scope } = connectionSpec;
  const { labels = {} } = world.server.get(NAMESPACES, { name: namespace }).metadata;
  if (connectionKind !== undefined && !isAllowed(object.kind, spec, connectionSpec, labels))
    return { ready: false, reasons: ["NamespaceNotAllowed"] };
  // A scope hides names.
  if (scope && !("onlyReferenced" in scope)) return "anything";
  const vault = VAULTS.find((name) => urlOf(name) === url)!;
  const resolved = itemsOf(spec).map((item) => ({
    item,
    ...resolve(world, vault, email, object.kind, item),
  }));
  const isIrregular = resolved.some(({ irregular }) => irregular);
  const { kind, name } = targetOf(object);
  const existing = world.server.find(kind === "Secret" ? SECRETS : CONFIG_MAPS, { namespace, name });
  const rivals = all.filter(
    (other) => other !== object && other.metadata.namespace === namespace && sameTarget(targetOf(other), { kind, name }),
  );
  // Without a key to write, no object is in the way.
  const isEmpty = resolved.every(({ item, isListed }) => item.absence === "optional" && isListed !== true);
  if (existing && !belongsTo(object, existing))
    return isEmpty ? "anything" : { ready: false, reasons: ["TargetConflict", ...MISSING] };
  if (rivals.length > 0 || isIrregular) return "anything";
  // A namespace finds what it may read, and what it found earlier may not be allowed any more.
  if (connectionKind !== undefined && resolved.some(isFound)) return "anything";
  // A rule that finds nothing, and a name that it found at another vault.
  if (resolved.some(isFound) && resolved.every((one) => !isFound(one) || one.base64 === undefined)) return "anything";
  if (resolved.some((one) => isFound(one) && one.base64 === undefined)) return "anything";
  const present = resolved.filter(
    ({ item, base64, isListed }) => base64 !== undefined || isListed || item.absence !== "optional",
  );
  if (present.some(({ base64 }) => base64 === undefined)) return { ready: false, reasons: MISSING };
  const content = present.flatMap(({ item, base64 }): [string, string][] => {
    const bytes = item.member === undefined ? base64 : world.vaults.origin(base64!)?.members.get(item.member);
    return bytes === undefined ? [] : [[item.key, bytes]];
  });
  return { ready: true, content: Object.fromEntries(content) };
}

/** A tool that removed both the label and the owner reference has taken the target away, whatever its annotation says. */
function belongsTo({ kind, metadata: { name, uid } }: KubeObject, { metadata }: KubeObject): boolean {
  const { labels = {}, annotations = {}, ownerReferences = [] } = metadata;
  const isMarked = labels[MANAGED_BY_LABEL] === MANAGED_BY || ownerReferences.some((owner) => owner.uid === uid);
  return isMarked && annotations[OWNER_ANNOTATION] === `${kind}/${name}`;
}

const sameTarget = (a: { kind: string; name: string }, b: { kind: string; name: string }): boolean =>
  a.kind === b.kind && a.name === b.name;

interface Resolved {
  readonly base64?: string;
  readonly irregular: boolean;
  readonly isListed?: boolean;
}

/** Returns the value that an item must have; none if its source is missing or ambiguous. */
function resolve(world: World, vault: string, account: string, kind: string, item: Item): Resolved {
  const { vaults } = world;
  // Whatever was deleted, unshared or restored may have been served before.
  const irregular = vaults.hasDeadline(item.source) || [...vaults.irregular].some((id) => id.endsWith(` ${item.source}`));
  if (kind === "VaultFile") {
    const file = vaults.files(vault, account).find(({ filename }) => filename === item.source);
    return bytesOf(world, vault, "file", account, item, file?.version, irregular);
  }
  const entries = vaults
    .list(vault, account)
    .filter(({ key_name, owner }) => key_name === item.source && (item.owner ?? owner) === owner);
  const isListed = entries.length > 0;
  const entry = entries.find(({ owner }) => owner === account) ?? (entries.length === 1 ? entries[0] : undefined);
  return { ...bytesOf(world, vault, "secret", entry?.owner ?? "", item, entry?.key_version, irregular), isListed };
}

function bytesOf(
  world: World,
  vault: string,
  kind: "secret" | "file",
  owner: string,
  { source, version }: Item,
  latest: number | undefined,
  irregular: boolean,
): Resolved {
  const number = version === "latest" ? latest : version;
  const bytes =
    latest === undefined || number === undefined ? undefined : world.vaults.vault(vault).bytesOf(kind, owner, source, number);
  return bytes ? { base64: Buffer.from(bytes).toString("base64"), irregular } : { irregular };
}
