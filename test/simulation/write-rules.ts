import { workloadDescriptor } from "../../src/operator/controllers/restart/workload.ts";
import { CONFIG_MAPS, EVENTS, type KubeObject, LEASES, NAMESPACES, SECRETS } from "../../src/operator/kube/resource.ts";
import type { Change } from "../support/kube/in-memory/collection.ts";
import { checkAccess, checkRead } from "./invariants/access.ts";
import { checkComplete, checkContent, checkVersions } from "./invariants/content.ts";
import { Leadership } from "./invariants/leadership.ts";
import { checkOwnership, checkPlace } from "./invariants/ownership.ts";
import { checkRemovals } from "./invariants/removals.ts";
import { SpecHistory } from "./invariants/spec-history.ts";
import { checkWorkload } from "./invariants/restarts.ts";
import { checkStatus } from "./invariants/statuses.ts";
import { contentOf, ownerOf } from "./invariants/target-write.ts";
import { checkWhole } from "./invariants/whole-writes.ts";
import { CANARY } from "./simulated-vaults.ts";
import { SYSTEM_NAMESPACE, Violation, type World } from "./world.ts";

/** Watches every write of the operator, and reports one that must not happen to `world.violations`. */
export class WriteRules {
  /** Number of writes other than of Leases and events. */
  writes = 0;
  readonly #world: World;
  readonly #history: SpecHistory;
  readonly #leadership: Leadership;
  /** The content that the operator wrote last for each resource, `<namespace> <kind>/<name>`, and since when. */
  readonly #written = new Map<string, { readonly content: Readonly<Record<string, string>>; readonly at: number }>();

  constructor(world: World) {
    this.#world = world;
    this.#history = new SpecHistory(world);
    this.#leadership = new Leadership(world);
    for (const namespace of world.server.all(NAMESPACES)) this.#history.rememberLabels(namespace);
    world.onClusterRead = (user, entry) => this.#checkRead(user, entry);
    world.server.onCommit((change) => {
      this.#history.remember(change);
      this.#leadership.remember(change);
      if (change.user.startsWith("operator-")) this.#report(change);
    });
  }

  /** Checks a read of a value with the account of the cluster. */
  #checkRead(user: string, entry: string): void {
    try {
      checkRead(this.#history.knownTo(user), user, entry);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.#world.violations.push(error);
    }
  }

  /** Collects violations: a thrown one would be the response to the operator, which retries. */
  #report(change: Change): void {
    try {
      this.#check(change);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.#world.violations.push(error);
    }
  }

  #check(change: Change): void {
    const { resource, before, after, user } = change;
    const { metadata } = (after ?? before)!;
    const name = `${resource.kind} ${metadata.namespace}/${metadata.name}`;
    checkPlace(change, name);
    if (resource.kind === LEASES.kind) return;
    const text = JSON.stringify([after?.metadata, after?.["status"], after?.["note"]]);
    if (text.includes(CANARY)) throw new Violation("I11", `${name} contains a value outside of its data: ${text}`);
    this.#leadership.check(name, user);
    if (resource.kind === EVENTS.kind) return;
    this.writes += 1;
    if ((resource.kind === SECRETS.kind || resource.kind === CONFIG_MAPS.kind) && metadata.namespace !== SYSTEM_NAMESPACE)
      this.#checkTarget(name, user, before, after);
    else if (resource.kind === workloadDescriptor.Deployment.kind) checkWorkload(this.#world, change);
    else if (after && ["VaultSecret", "VaultFile"].includes(resource.kind)) checkStatus(this.#world, name, before, after);
  }

  #checkTarget(name: string, user: string, before: KubeObject | undefined, after: KubeObject | undefined): void {
    const { namespace = "" } = (after ?? before)!.metadata;
    const owner = ownerOf((after ?? before)!) ?? "";
    const [was, is] = [before ? contentOf(before) : {}, after ? contentOf(after) : {}];
    const last = before ? was : this.#lastContent(namespace, owner);
    const history = this.#history.knownTo(user);
    const write = { world: this.#world, history, user, name, namespace, before, after, owner, was, last, is };
    this.#written.set(`${namespace} ${owner}`, { content: is, at: this.#world.clock.monotonic() });
    checkOwnership(write);
    checkContent(write);
    checkComplete(write);
    checkVersions(write);
    checkWhole(write);
    checkRemovals(write);
    checkAccess(write);
  }

  /** Returns what the operator wrote last, unless a spec was changed afterwards. */
  #lastContent(namespace: string, owner: string): Readonly<Record<string, string>> {
    const last = this.#written.get(`${namespace} ${owner}`);
    return last && this.#history.isUnchangedSince(namespace, last.at) ? last.content : {};
  }
}
