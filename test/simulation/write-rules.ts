import { isDeepStrictEqual } from "node:util";
import { workloadDescriptor } from "../../src/operator/controllers/restart/workload.ts";
import {
  CONFIG_MAPS,
  EVENTS,
  type KubeObject,
  LEASES,
  NAMESPACES,
  SECRETS,
} from "../../src/operator/kube/resource.ts";
import type { Change } from "../lab/simulated/api-server/collection.ts";
import { isFanOut } from "./fanned-out.ts";
import { checkAccess, checkRead } from "./invariants/access.ts";
import { BlastLimit } from "./invariants/blast-limit.ts";
import { checkComplete, checkContent, checkVersions } from "./invariants/content.ts";
import { checkGates } from "./invariants/gates.ts";
import { checkHold } from "./invariants/holds.ts";
import { checkConverged } from "./invariants/convergence.ts";
import { checkConsumer } from "./invariants/consumers.ts";
import { checkContracts } from "./invariants/contracts.ts";
import { checkFanOutStatus, checkSelection, isRelease } from "./invariants/fan-out.ts";
import { ForcedSyncs } from "./invariants/forced-syncs.ts";
import { Leadership, shardKeysOf } from "./invariants/leadership.ts";
import { checkMerge, ownKeys, requestsMerge } from "./invariants/merges.ts";
import { checkMove } from "./invariants/moves.ts";
import { checkOwnership, checkPlace } from "./invariants/ownership.ts";
import { checkRemovals } from "./invariants/removals.ts";
import { SpecHistory } from "./invariants/spec-history.ts";
import { checkWorkload } from "./invariants/restarts.ts";
import { itemsOf, type Spec } from "./invariants/spec-items.ts";
import { checkStatus, withoutProof } from "./invariants/statuses.ts";
import {
  claimedVersions,
  type Content,
  contentOf,
  mergedInto,
  mergingOwners,
  ownerOf,
  type TargetWrite,
} from "./invariants/target-write.ts";
import { checkWhole } from "./invariants/whole-writes.ts";
import type { PushesBeside } from "./pushes/pushes-beside.ts";
import { VALUE } from "./simulated-values.ts";
import { checkTokens, isTokenSecret, TOKEN } from "./stored-tokens.ts";
import { SYSTEM_NAMESPACE, Violation, type World } from "./world.ts";

/** Last write of the operator for a resource. */
interface Written {
  readonly content: Content;
  /** In monotonic milliseconds. */
  readonly at: number;
  /** Time since when each key has its bytes, in monotonic milliseconds. */
  readonly keysAt: ReadonlyMap<string, number>;
  readonly resourceVersion: string | undefined;
}

/**
 * Watches every write of the operator, and reports one that must not happen to `world.violations`.
 */
export class WriteRules {
  /** Number of writes other than of Leases and events. */
  writes = 0;
  /** The rules for VaultPushes, in an episode with some. */
  readonly pushes: PushesBeside | undefined;
  readonly #world: World;
  readonly #history: SpecHistory;
  readonly #leadership: Leadership;
  readonly #forced: ForcedSyncs;
  readonly #blastLimit: BlastLimit;
  /**
   * The content that the operator wrote last for each resource, `<namespace> <kind>/<name>`, and
   * since when.
   */
  readonly #written = new Map<string, Written>();
  /** The owners that wrote the bytes of each key of an object last. */
  readonly #writers = new Map<string, Map<string, string>>();

  constructor(world: World, pushes?: PushesBeside) {
    this.#world = world;
    this.pushes = pushes;
    this.#history = new SpecHistory(world);
    this.#leadership = new Leadership(world);
    this.#forced = new ForcedSyncs(world);
    this.#blastLimit = new BlastLimit(world);
    for (const namespace of world.server.all(NAMESPACES)) this.#history.rememberLabels(namespace);
    world.onClusterRead = (user, entry) =>
      this.#collect(() => checkRead(this.#history.knownTo(user), user, entry));
    world.onSend = (sent) =>
      this.#collect(() => checkConsumer(this.#history.knownTo(sent.user), sent));
    world.server.onCommit((change) => {
      this.#history.remember(change);
      this.#leadership.remember(change);
      this.#forced.remember(change);
      if (change.user.startsWith("operator-")) this.#collect(() => this.#check(change));
    });
  }

  /** Reports whether the operator ever wrote a target in a namespace for an owner. */
  hasWritten(namespace: string, owner: string): boolean {
    return this.#written.has(`${namespace} ${owner}`);
  }

  /**
   * Collects violations. A thrown one would be the response to the operator, and the operator
   * retries.
   */
  #collect(check: () => void): void {
    try {
      check();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.#world.violations.push(error);
    }
  }

  #check(change: Change): void {
    const { resource, before, after, user } = change;
    const { metadata } = (after ?? before)!;
    const name = `${resource.kind} ${metadata.namespace}/${metadata.name}`;
    if (!isTokenSecret((after ?? before)!)) checkPlace(change, name);
    if (resource.kind === LEASES.kind) return;
    const text = JSON.stringify([after?.metadata, after?.["status"], after?.["note"]]);
    if (VALUE.test(text) || TOKEN.test(text))
      throw new Violation("I11", `${name} contains a value outside of its data: ${text}`);
    this.#leadership.check(name, user, shardKeysOf(this.#history.knownTo(user), change));
    if (resource.kind === EVENTS.kind) return;
    if (isTokenSecret((after ?? before)!)) return checkTokens(name, before, after);
    // A token is refreshed when its time has come.
    if (!isSameButToken(before, after) && !isSameButProof(before, after)) this.writes += 1;
    if (isTarget(change)) this.#checkTarget(name, user, before, after);
    else if (resource.group === workloadDescriptor.Deployment.group)
      checkWorkload(this.#world, this.#history.knownTo(user), change);
    else if (after && isFanOut(resource.kind))
      checkFanOutStatus({
        world: this.#world,
        history: this.#history.knownTo(user),
        name,
        after,
        writtenVersion: (key) => this.#written.get(key)?.resourceVersion,
      });
    else if (after && ["VaultSecret", "VaultFile"].includes(resource.kind)) {
      const sources = itemsOf(after["spec"] as Spec).map(({ source }) => source);
      this.#world.vaults.origins.meaning(sources, () => {
        checkConverged(this.#world, name, before, after);
        if (checkStatus(this.#world, name, before, after))
          this.#forced.check(name, before, after, this.#history.knownTo(user));
      });
    }
  }

  #checkTarget(
    name: string,
    user: string,
    before: KubeObject | undefined,
    after: KubeObject | undefined,
  ): void {
    const { namespace = "" } = (after ?? before)!.metadata;
    const history = this.#history.knownTo(user);
    const merges = mergingOwners(before, after);
    const merging = merges.find((one) => requestsMerge(history, one, after!)) ?? merges[0];
    const owner = merging ?? ownerOf((after ?? before)!) ?? "";
    const writers = new Map(this.#writers.get(name));
    const own = merging === undefined ? undefined : ownKeys({ before, after, owner, writers });
    const content = (object: KubeObject | undefined): Content =>
      Object.fromEntries(
        Object.entries(object ? contentOf(object) : {}).filter(([key]) => own?.has(key) ?? true),
      );
    const [was, is] = [content(before), content(after)];
    const last = before ? was : this.#lastContent(namespace, owner);
    const versions = (own && mergedInto(after).get(owner)?.versions) ?? claimedVersions(after);
    const written = this.#written.get(`${namespace} ${owner}`);
    const isTampered = before?.metadata.resourceVersion !== written?.resourceVersion;
    const object = {
      name,
      namespace,
      before,
      after,
      owner,
      isMerge: own !== undefined,
      isTampered,
      writtenAt: written?.at ?? -Infinity,
      keysAt: written?.keysAt ?? new Map(),
      writers,
    };
    const write = { world: this.#world, history, user, ...object, was, last, is, versions };
    this.#writers.set(name, new Map([...writers, ...wroteKeys(owner, was, is)]));
    const { resourceVersion } = after?.metadata ?? {};
    const at = this.#world.clock.monotonic();
    this.#written.set(`${namespace} ${owner}`, {
      content: is,
      at,
      keysAt: new Map(
        Object.entries(is).map(([key, base64]) => [
          key,
          base64 === was[key] ? (written?.keysAt.get(key) ?? at) : at,
        ]),
      ),
      resourceVersion,
    });
    const names = history.recent(namespace, owner).flatMap((spec) => itemsOf(spec));
    this.#world.vaults.origins.meaning(
      names.map(({ source }) => source),
      () => this.#checkWrite(write),
    );
  }

  #checkWrite(write: TargetWrite): void {
    const { before, after, was, is } = write;
    checkSelection(write);
    if (write.isMerge) checkMerge(write);
    else checkOwnership(write);
    // A released target belongs to its users: nothing labels its bytes any more.
    const isReleased =
      before && after && ownerOf(before) !== undefined && ownerOf(after) === undefined;
    if (isReleased && !write.isMerge && isDeepStrictEqual(was, is)) return;
    if (isRelease(write)) return;
    checkContent(write);
    checkContracts(write);
    checkComplete(write);
    checkVersions(write);
    checkHold(write);
    checkGates(write);
    checkMove(write);
    checkWhole(write);
    this.#blastLimit.check(write, checkRemovals(write));
    checkAccess(write);
  }

  /** Returns what the operator wrote last, unless a spec was changed afterwards. */
  #lastContent(namespace: string, owner: string): Readonly<Record<string, string>> {
    const last = this.#written.get(`${namespace} ${owner}`);
    return last && this.#history.isUnchangedSince(namespace, last.at) ? last.content : {};
  }
}

/** Reports whether an object is a target; the operator's namespace has other objects, too. */
function isTarget({ resource, before, after }: Change): boolean {
  const object = (after ?? before)!;
  const isTargetKind = resource.kind === SECRETS.kind || resource.kind === CONFIG_MAPS.kind;
  const isOwn = object.metadata.namespace === SYSTEM_NAMESPACE;
  return isTargetKind && (!isOwn || ownerOf(object) !== undefined);
}

/** Returns the keys whose bytes an owner has written, each with the owner. */
const wroteKeys = (owner: string, was: Content, is: Content): [string, string][] =>
  Object.keys(is)
    .filter((key) => was[key] !== is[key])
    .map((key) => [key, owner]);

/** Returns a connection without what the write of a refreshed token renews as well. */
function withoutToken({ spec, metadata: { annotations }, status = {} }: KubeObject): object {
  const {
    token: _token,
    secrets: _secrets,
    files: _files,
    ...others
  } = status as Readonly<Record<string, unknown>>;
  return { spec, annotations, others };
}

/** Reports whether a status was written only to say which content the pods run. */
const isSameButProof = (before: KubeObject | undefined, after: KubeObject | undefined): boolean =>
  before !== undefined &&
  after !== undefined &&
  ["VaultSecret", "VaultFile"].includes(after.kind) &&
  isDeepStrictEqual(withoutProof(before["status"]), withoutProof(after["status"]));

/** Reports whether a write changed nothing but the token that a connection reports. */
function isSameButToken(before: KubeObject | undefined, after: KubeObject | undefined): boolean {
  if (!before || !after || !after.kind.endsWith("VaultConnection")) return false;
  return isDeepStrictEqual(withoutToken(before), withoutToken(after));
}
