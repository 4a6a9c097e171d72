import { systemClock } from "../../../lib/clock.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import type { VaultClient } from "../../../protocol/client/vault-client.ts";
import type { Content } from "../../sync/content.ts";
import {
  decide,
  type Entry,
  type Fetch,
  MAX_TARGET_BYTES,
  targetName,
  tooLarge,
} from "../../sync/decide.ts";
import type { Input } from "../../sync/derive.ts";
import { makeContent } from "../../sync/make-content.ts";
import { checkAccess, type NamespaceAccess } from "../../sync/namespace-access.ts";
import {
  itemProblems,
  lackingSources,
  type ReadyCondition,
  SUSPENDED,
} from "../../sync/ready-condition.ts";
import type { Resolution } from "../../sync/resolution.ts";
import { shapeProblem } from "../../sync/secret-shape.ts";
import { entriesOf } from "../../sync/sync-key.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import { type Manifest, type Problem, problemAt, sortProblems } from "../manifests/manifest.ts";
import { accessThrough, checkResource, targetWith } from "../plan/check-resources.ts";
import { keyOfReference, pathOf, type PlannedResource } from "../plan/planned-resource.ts";
import { type Recall, References, type ResolvedResource } from "../plan/resolve-references.ts";
import { entryReader } from "./entry-reader.ts";
import type { LocalPlan } from "./local-plan.ts";
import { claimOf, type Origin, originOf } from "../plan/origin.ts";

/** A target that the operator would write, before its values are read. */
interface DecidedTarget {
  readonly manifest: Manifest;
  readonly resource: SyncResource;
  readonly entries: readonly Entry[];
  readonly resolutions: readonly Resolution[];
  /** Condition that the operator would report next to the written target. */
  readonly readyCondition: ReadyCondition;
}

/** A target with the bytes that the operator would write. */
export interface LocalTarget {
  readonly manifest: Manifest;
  readonly resource: SyncResource;
  readonly content: Content;
  /** The sources of the bytes. */
  readonly origin: Origin;
}

/** The decisions for a plan, from the lists of the vault. */
export interface Decided {
  readonly targets: readonly DecidedTarget[];
  /** Reasons why a target would not be written. */
  readonly problems: readonly Problem[];
  /** Reports of the operator next to what it writes, and gaps of this decision. */
  readonly notes: ReadonlySet<string>;
}

/** A resource, and what its references refer to: a condition if they find too much. */
export interface ResolvedPlan {
  readonly planned: PlannedResource;
  readonly access: NamespaceAccess;
  readonly resolved: ResolvedResource | ReadyCondition;
}

export const textOf = ({ file, line, message }: Problem): string => `${file}:${line}: ${message}`;

/**
 * Returns the target of a resource, or why the operator would not write it. There is none, and
 * nothing wrong, without optional sources.
 */
export function decideTarget(
  planned: PlannedResource,
  access: NamespaceAccess,
  resolved: ResolvedResource,
):
  | { readonly target: DecidedTarget | undefined; readonly notes: readonly Problem[] }
  | readonly Problem[] {
  const { manifest } = planned;
  const { resource, resolutions } = resolved;
  const isAllowed = typeof checkAccess(resource, entriesOf(resource.kind), access) !== "object";
  const { plan, readyCondition } = decide(resource, resolutions, targetWith(resource, undefined));
  if (isAllowed && plan.action === "keep" && readyCondition.ready) {
    const why = `${targetName(resource)} is not written, because its optional sources are absent`;
    return { target: undefined, notes: [problemAt(manifest, ["spec"], why)] };
  }
  if (!isAllowed || plan.action !== "write") {
    const found = checkResource(planned, access, resolved);
    return found.length > 0 ? found : [problemAt(manifest, ["spec"], readyCondition.message)];
  }
  const { entries: written } = plan;
  const target = { manifest, resource, entries: written, resolutions, readyCondition };
  const notes = itemProblems(resolutions).map(({ item, message }) =>
    problemAt(manifest, pathOf({ manifest, resource }, item), message),
  );
  return { target, notes };
}

/**
 * Resolves the references of a plan with the lists of the vault, each of which is read once.
 * Suspended resources are problems.
 * @param recall returns what is known of the target of a resource
 */
export async function resolvePlan(
  plan: LocalPlan,
  references: References,
  recall: (resource: SyncResource) => Recall | undefined = () => undefined,
): Promise<{
  readonly resolved: readonly ResolvedPlan[];
  readonly problems: readonly Problem[];
  readonly notes: Set<string>;
}> {
  const resolved: ResolvedPlan[] = [];
  const problems: Problem[] = [];
  const notes = new Set<string>();
  for (const { planned, connection } of plan.resources) {
    const { manifest, resource } = planned;
    if (resource.suspend) {
      problems.push(problemAt(manifest, ["spec", "suspend"], SUSPENDED.message));
      continue;
    }
    const access = accessThrough(connection, manifest.namespace, plan.namespaces);
    if (access === "unknown")
      notes.add(
        `spec.access of ${keyOfReference(planned)} is not checked for the namespace ${manifest.namespace}: add its Namespace to the files`,
      );
    const found = await references.resolve(resource, connection, access, recall(resource));
    resolved.push({ planned, access, resolved: found });
  }
  return { resolved, problems, notes };
}

/**
 * Decides for the resources of a plan as the operator does for targets that do not exist, from the
 * lists of the vault. Reads no value.
 */
export async function decideTargets(plan: LocalPlan, client: VaultClient): Promise<Decided> {
  const references = new References(client, entryReader(client));
  const targets: DecidedTarget[] = [];
  const { resolved: all, problems: suspended, notes } = await resolvePlan(plan, references);
  const problems = [...suspended];
  for (const { planned, access, resolved } of all) {
    if ("reason" in resolved) {
      problems.push(problemAt(planned.manifest, ["spec"], resolved.message));
      continue;
    }
    const decided = decideTarget(planned, access, resolved);
    if ("target" in decided) {
      if (decided.target !== undefined) targets.push(decided.target);
      for (const note of decided.notes) notes.add(textOf(note));
    } else problems.push(...decided);
  }
  return { targets, problems: sortProblems(problems), notes };
}

/**
 * Returns a text that changes whenever the lists show another version, owner or set of sources. It
 * contains no value.
 */
export const versionsOf = ({ targets }: Decided): string =>
  JSON.stringify(
    targets.map(({ resource, entries }) => [
      resource.target,
      entries.map((entry) =>
        entry.from === "vault"
          ? [entry.id, entry.item.source, claimOf(entry.item, entry.fetch)]
          : [],
      ),
    ]),
  );

/** Returns the version that an entry is read from, if the vault lists it. */
export const fetchOf = (entry: Entry): Fetch | undefined =>
  entry.from === "vault" ? entry.fetch : entry.refetch;

/** @throws Error when an entry cannot be read */
export async function readInput(entry: Entry, signal: AbortSignal): Promise<Input> {
  const { item } = entry;
  const fetch = fetchOf(entry);
  if (fetch === undefined) throw new Error(`${item.source}: the vault does not list it`);
  const { bytes, version } = await fetch.candidate.read(fetch.version, signal);
  if (version !== fetch.version)
    throw new Error(
      `${item.source}: the vault returned version ${version} instead of ${fetch.version}`,
    );
  return { item, bytes: bytes.reveal(), version };
}

/** Returns the content that the operator would write, or the condition that it would report. */
async function contentOf(
  { resource, entries, readyCondition }: DecidedTarget,
  key: Redacted<Uint8Array>,
  signal: AbortSignal,
): Promise<Content | ReadyCondition> {
  const inputs = await Promise.all(entries.map((entry) => readInput(entry, signal)));
  const content = await makeContent(resource, inputs, key, systemClock.now());
  if ("reason" in content) return lackingSources(content, readyCondition);
  return contentProblem(resource, content) ?? content;
}

/** Returns the condition for content that a target cannot have. */
export function contentProblem(
  resource: SyncResource,
  content: Content,
): ReadyCondition | undefined {
  const size = [...content.values()].reduce((sum, bytes) => sum + bytes.byteLength, 0);
  return size > MAX_TARGET_BYTES ? tooLarge(size) : shapeProblem(resource, content);
}

/**
 * Reads the values of targets and computes their content. Returns the problems if one has none.
 * @param key secret that the salts of templates are derived from
 * @throws Error when the vault cannot be read
 */
export async function makeTargets(
  targets: readonly DecidedTarget[],
  key: Redacted<Uint8Array>,
  signal: AbortSignal,
): Promise<{ readonly targets: readonly LocalTarget[]; readonly problems: readonly Problem[] }> {
  const made: LocalTarget[] = [];
  const problems: Problem[] = [];
  for (const target of targets) {
    const { manifest, resource } = target;
    const content = await contentOf(target, key, signal);
    if ("reason" in content) problems.push(problemAt(manifest, ["spec"], content.message));
    else {
      const { entries, resolutions } = target;
      const origin = originOf(entries, resolutions, undefined, systemClock.now());
      made.push({ manifest, resource, content, origin });
    }
  }
  return { targets: made, problems: sortProblems(problems) };
}
