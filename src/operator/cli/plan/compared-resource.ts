import { FREEZE_CONFIG_MAP } from "../../api/names.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { decide, type Decision, type Entry } from "../../sync/decide.ts";
import type { Freeze } from "../../sync/freeze.ts";
import { versionsDigest } from "../../sync/gate.ts";
import { checkAccess, type NamespaceAccess } from "../../sync/namespace-access.ts";
import { type ReadyCondition, SUSPENDED } from "../../sync/ready-condition.ts";
import type { Remembered, Resolution } from "../../sync/resolution.ts";
import { reportedName, type SyncStatus } from "../../sync/stored-status.ts";
import { entriesOf } from "../../sync/sync-key.ts";
import type { SyncItem, SyncResource } from "../../sync/sync-resource.ts";
import type { SyncedKey } from "../../sync/target.ts";
import { isEdited, refreshInMs, updateGate } from "../../sync/update-gate.ts";
import { parsedResource, statusOf } from "../read-resource.ts";
import { targetWith } from "./check-resources.ts";
import {
  appliedResource,
  originInStatus,
  shownItems,
  shownVersion,
  type VaultAccount,
} from "./existing-resource.ts";
import { type Origin, rememberedOf } from "./origin.ts";
import type { PlannedConnection, PlannedResource } from "./planned-resource.ts";
import type { PlannedKey } from "./print-plan.ts";
import type { Recall, References, ResolvedResource } from "./resolve-references.ts";
import { keyText, rowOf, writtenKeys } from "./written-keys.ts";

/** Facts about a namespace of the cluster that gates depend on. */
export interface Surroundings {
  /** The freeze of the namespace. */
  readonly freeze: Freeze | undefined;
  /** Namespace of the operator, if the user may not read whether there is a freeze in it. */
  readonly hiddenFreeze?: string | undefined;
  readonly now: number;
}

type GateFacts = Pick<Remembered, "updates" | "refreshInMs">;

const NOTHING: ReadonlyMap<string, SyncedKey> = new Map();

/** The effect of a manifest on an item. */
type Outcome = Pick<PlannedKey, "version" | "change" | "waitsFor" | "latest">;

/** Returns what keeps an item from its latest version, if there is a newer one. */
function waiting(resolution: Resolution | undefined): Pick<Outcome, "waitsFor" | "latest"> {
  if (resolution?.state === "withheld")
    return { waitsFor: resolution.gate.reason, latest: resolution.candidate.latest };
  if (resolution?.state !== "found" || resolution.gate === undefined) return {};
  const { gate, candidate, version } = resolution;
  const { latest } = candidate;
  return latest === version ? {} : { waitsFor: gate.reason, latest };
}

/** Returns how a version of the vault changes the row of a key. */
function fetchedChange({ change, served }: PlannedKey, version: number): PlannedKey["change"] {
  if (change !== "none") return change;
  return version === served ? "content" : "version";
}

/** Reports whether a change of a key changes the bytes of an existing target. */
export const changesBytes = ({ change = "none" }: PlannedKey): boolean =>
  change !== "none" && change !== "unknown";

/** A resource of the files, compared with the one of the cluster that it replaces. */
export class ComparedResource {
  /** The resource of the cluster after the manifest is applied. */
  readonly resource: SyncResource;
  readonly #planned: PlannedResource;
  readonly #existing: SyncResource | undefined;
  readonly #before: SyncStatus;
  readonly #origin: Origin;
  readonly #around: Surroundings;

  /**
   * @param object the resource of the cluster; `undefined`: there is none
   * @param from what its connection reads
   */
  constructor(
    planned: PlannedResource,
    object: KubeObject | undefined,
    from: VaultAccount,
    around: Surroundings,
  ) {
    this.#planned = planned;
    this.resource = appliedResource(planned, object);
    this.#existing = object && parsedResource(object);
    this.#before = object === undefined ? {} : statusOf(object);
    this.#origin = originInStatus(this.#existing ?? this.resource, this.#before, from);
    this.#around = around;
  }

  /** Origins of the bytes that the target has; `undefined` if it has none. */
  get synced(): ReadonlyMap<string, SyncedKey> | undefined {
    const { synced } = this.#origin;
    return this.#isSameTarget && synced.size > 0 ? synced : undefined;
  }

  get #isSameTarget(): boolean {
    const { kind, name } = this.resource.target;
    const { target = this.#existing?.target } = this.#before;
    return target?.kind === kind && target.name === name;
  }

  get #hasTarget(): boolean {
    return this.#origin.synced.size > 0;
  }

  get #reconciled() {
    return { resource: this.resource, before: this.#before };
  }

  /** Resolves the references as the operator does after the manifest is applied. */
  async resolve(
    references: Pick<References, "resolve" | "vault">,
    connection: PlannedConnection,
    access: NamespaceAccess,
  ): Promise<ResolvedResource | ReadyCondition> {
    const resolve = (gate: GateFacts): Promise<ResolvedResource | ReadyCondition> =>
      references.resolve(this.resource, connection, access, this.#recall(references.vault, gate));
    const open = await resolve({});
    if ("reason" in open) return open;
    const { freeze, now } = this.#around;
    const digest = (): string => versionsDigest(open.resolutions);
    return resolve({
      updates: updateGate(this.#reconciled, this.#hasTarget, { freeze, digest, now }),
      refreshInMs: refreshInMs(this.#reconciled, now),
    });
  }

  /** Returns what the operator remembers of the items, as far as the status says it. */
  #recall(vault: string, gate: GateFacts): Recall {
    const item: Recall["item"] = (one) => {
      const remembered = rememberedOf(this.#origin, one, vault);
      return { ...remembered, hasTarget: this.#hasTarget, ...gate };
    };
    return { now: this.#around.now, item, synced: this.synced ?? NOTHING };
  }

  /**
   * Returns the keys of the target with the versions before and after, and with the authors of new
   * versions.
   * @param resolved `undefined` if the references were not compared with the vault
   */
  async keys(
    resolved: ResolvedResource | undefined,
    access: NamespaceAccess,
    references: Pick<References, "authorOf"> | undefined,
  ): Promise<PlannedKey[]> {
    if (resolved === undefined) return this.#keysOffline();
    const { items } = resolved.resource;
    const { plan, readyCondition } = this.#decide(resolved, access);
    if (plan.action === "keep") {
      const reason = readyCondition.ready ? {} : { waitsFor: readyCondition.reason };
      return items.map((item) => {
        const row = this.#rowOf(item);
        return { ...row, version: row.served, change: "none", ...reason };
      });
    }
    const entries = "entries" in plan ? plan.entries : [];
    const entryOf = new Map(entries.map((entry) => [entry.id, entry]));
    const resolutionOf = new Map(resolved.resolutions.map((one) => [one.item, one]));
    const rows: PlannedKey[] = [];
    for (const item of items) {
      const row = { ...this.#rowOf(item), ...waiting(resolutionOf.get(item)) };
      const entry = entryOf.get(item.id);
      if (entry?.from === "vault") {
        const { candidate, version } = entry.fetch;
        // One request at a time: a plan may have thousands of keys.
        const author = await references?.authorOf(item.source, candidate.owner, version);
        rows.push({ ...row, version, author, change: fetchedChange(row, version) });
      } else rows.push({ ...row, ...this.#unfetched(row, entry) });
    }
    return [...rows, ...this.#leaving(items)];
  }

  /**
   * Returns the keys of the target if the references were not compared with the vault: the versions
   * after the manifest is applied are those that it pins.
   */
  #keysOffline(): PlannedKey[] {
    const items = shownItems(this.resource, this.#before);
    const rows = items.map((item): PlannedKey => {
      const row = this.#rowOf(item);
      if (row.change === "new") return row;
      if (typeof item.version !== "number") return { ...row, change: "unknown" };
      const { version } = item;
      return { ...row, version, change: version === row.served ? "none" : "version" };
    });
    const rules = writtenKeys(this.#planned, undefined).slice(this.resource.items.length);
    return [...rows, ...rules, ...this.#leaving(items)];
  }

  /** Returns a note about what may keep these versions away, if the user may not read it. */
  notesOf(keys: readonly PlannedKey[]): string[] {
    const { hiddenFreeze } = this.#around;
    const follows = keys.find(({ change }) => change === "version" || change === "new");
    const mayWait = this.#hasTarget && !isEdited(this.#reconciled);
    if (hiddenFreeze === undefined || follows === undefined || !mayWait) return [];
    const { resource, namespace } = follows;
    return [
      `${resource} in namespace ${namespace} may wait for a freeze: you may not read the ConfigMap ${FREEZE_CONFIG_MAP} in namespace ${hiddenFreeze}`,
    ];
  }

  #decide({ resource, resolutions }: ResolvedResource, access: NamespaceAccess): Decision {
    const verdict = checkAccess(resource, entriesOf(resource.kind), access);
    const condition = this.resource.suspend ? SUSPENDED : verdict;
    return typeof condition === "object"
      ? { plan: { action: "keep" }, readyCondition: condition }
      : decide(resource, resolutions, targetWith(resource, this.synced));
  }

  /** Returns the row of an item that the target keeps, or gets. */
  #rowOf(item: SyncItem): PlannedKey {
    const row = rowOf(this.#planned, item);
    if (this.synced?.has(item.id) === true)
      return { ...row, served: shownVersion(this.#before, item.id), change: "none" };
    const isShown = !this.#isSameTarget || this.#before.itemsOmitted === undefined;
    return { ...row, change: isShown ? "new" : "unknown" };
  }

  /** Returns what becomes of an item whose bytes are not read again. */
  #unfetched(row: PlannedKey, entry: Entry | undefined): Outcome {
    if (entry !== undefined) return { version: row.served, change: "none" };
    return { change: row.change === "none" ? "leaving" : "none" };
  }

  /** Returns the keys of the target, or of a former one, that no item has. */
  #leaving(items: readonly SyncItem[]): PlannedKey[] {
    const { policy } = this.resource;
    if (!this.#isSameTarget && policy.creationPolicy === "Orphan") return [];
    const { kind, name } = this.#before.target ?? this.resource.target;
    const kept = new Set(this.#isSameTarget ? items.map(({ id }) => id) : []);
    // A long status does not show all keys that the target has of the former spec.
    const former = this.#before.itemsOmitted === undefined ? [] : (this.#existing?.items ?? []);
    const sources = new Map(former.map(({ id, source }) => [id, source]));
    const all = new Set([...this.#origin.synced.keys(), ...sources.keys()]);
    const ids = [...all].filter((id) => !kept.has(id));
    return ids.map((id) => ({
      ...rowOf(this.#planned, {
        id,
        source: reportedName(this.#before, id) ?? sources.get(id) ?? "",
        version: 0,
      }),
      target: `${kind}/${name}`,
      key: keyText(id, this.#existing?.template),
      served: shownVersion(this.#before, id),
      change: "leaving",
    }));
  }
}
