import { type Clock, systemClock } from "../../../lib/clock.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import type { VaultClient } from "../../../protocol/client/vault-client.ts";
import { bytesDigest, type Content } from "../../sync/content.ts";
import { decide, type Entry, outweighsOthers, type Plan } from "../../sync/decide.ts";
import { areOverdue, droppedFrom, goneClaims } from "../../sync/gone-claims.ts";
import { inputsOf } from "../../sync/derive.ts";
import { makeContent } from "../../sync/make-content.ts";
import { missingKeys } from "../../sync/required-keys.ts";
import { checkAccess } from "../../sync/namespace-access.ts";
import { itemProblems, notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import type { Resolution } from "../../sync/resolution.ts";
import { reviewKey } from "../../sync/review-content.ts";
import { entriesOf } from "../../sync/sync-key.ts";
import { isDerived, type SyncResource } from "../../sync/sync-resource.ts";
import type { SyncedKey, TargetState } from "../../sync/target.ts";
import { type Manifest, type Problem, problemAt } from "../manifests/manifest.ts";
import { targetWith } from "../plan/check-resources.ts";
import { pathOf } from "../plan/planned-resource.ts";
import { type Recall, References } from "../plan/resolve-references.ts";
import { entryReader } from "./entry-reader.ts";
import type { LocalPlan } from "./local-plan.ts";
import {
  contentProblem,
  fetchOf,
  type LocalTarget,
  readInput,
  type ResolvedPlan,
  resolvePlan,
} from "./local-targets.ts";
import { type Origin, originOf, rememberedOf, sourcesOf } from "../plan/origin.ts";
import { messageOf } from "../../../lib/errors.ts";

/** A target that was written: its bytes and where they come from. */
export interface WrittenTarget {
  readonly content: Content;
  readonly origin: Origin;
}

/** Targets that were written, by {@link keyOfTarget}. */
export type WrittenTargets = ReadonlyMap<string, WrittenTarget>;

export const keyOfTarget = ({ target: { kind, name } }: SyncResource): string => `${kind}/${name}`;

/** The targets after a list of the vault. */
export interface Followed {
  readonly targets: readonly LocalTarget[];
  /** Reasons why targets are not what their specs request. */
  readonly problems: readonly Problem[];
  /** A value could not be read: it may be soon. */
  readonly isRetry: boolean;
}

/** Values that cannot be read now, and content that a target cannot have. */
type Failed = { readonly condition: ReadyCondition; readonly isRetry: boolean };

const failed = (condition: ReadyCondition): Failed => ({ condition, isRetry: false });

/** One resource with its target before and after a list. */
class Follower {
  readonly #manifest: Manifest;
  readonly #resource: SyncResource;
  readonly #resolutions: readonly Resolution[];
  readonly #before: WrittenTarget | undefined;
  readonly #key: Redacted<Uint8Array>;
  readonly #now: number;
  readonly problems: Problem[] = [];
  isRetry = false;

  constructor(
    { manifest, resource }: LocalResource,
    resolutions: readonly Resolution[],
    before: WrittenTarget | undefined,
    key: Redacted<Uint8Array>,
    now: number,
  ) {
    this.#manifest = manifest;
    this.#resource = resource;
    this.#resolutions = resolutions;
    this.#before = before;
    this.#key = key;
    this.#now = now;
  }

  /** Returns the target that the resource has from now on. */
  async follow(signal: AbortSignal): Promise<LocalTarget | undefined> {
    const state = targetWith(this.#resource, this.#before?.origin.synced);
    const { plan, readyCondition } = decide(this.#resource, this.#resolutions, state);
    for (const { item, message } of itemProblems(this.#resolutions)) {
      const path = pathOf({ manifest: this.#manifest, resource: this.#resource }, item);
      this.problems.push(problemAt(this.#manifest, path, message));
    }
    if (this.problems.length === 0 && !readyCondition.ready) this.#report(readyCondition);
    return this.#follow(plan, state, signal);
  }

  async #follow(
    plan: Plan,
    state: TargetState,
    signal: AbortSignal,
  ): Promise<LocalTarget | undefined> {
    switch (plan.action) {
      case "delete":
        return undefined;
      case "keep":
      case "verify":
      case "repair":
        return this.kept();
      case "write": {
        const content = await this.#contentOf(plan.entries, signal);
        if ("condition" in content) return this.#rest(content, state);
        const origin = originOf(plan.entries, this.#resolutions, this.#before?.origin, this.#now);
        return plan.entries.length === 0 ? undefined : this.#target(content.content, origin);
      }
    }
  }

  #report({ message }: ReadyCondition): void {
    this.problems.push(problemAt(this.#manifest, ["spec"], message));
  }

  #target(content: Content, origin: Origin): LocalTarget {
    return { manifest: this.#manifest, resource: this.#resource, content, origin };
  }

  /** Returns the written target, with what the list shows of its sources. */
  kept(): LocalTarget | undefined {
    if (this.#before === undefined) return undefined;
    const { content, origin } = this.#before;
    const sources = sourcesOf(origin.synced, this.#resolutions, origin, this.#now);
    return this.#target(content, { synced: origin.synced, sources });
  }

  async #contentOf(
    entries: readonly Entry[],
    signal: AbortSignal,
  ): Promise<{ readonly content: Content } | Failed> {
    const kept = new Map<string, Uint8Array>();
    const read: Entry[] = [];
    for (const entry of entries) {
      const bytes = this.#keptBytes(entry);
      if (bytes === undefined) read.push(entry);
      else kept.set(entry.id, bytes);
    }
    if (read.some((entry) => fetchOf(entry) === undefined))
      return failed(notReady("SourceMissing", "the vault does not list all sources"));
    const inputs = await Promise.all(read.map((entry) => readInput(entry, signal))).catch(
      (error: unknown): Failed => {
        signal.throwIfAborted();
        const message = messageOf(error);
        return { condition: notReady("UnexpectedResponse", message), isRetry: true };
      },
    );
    if ("condition" in inputs) return inputs;
    const made = await makeContent(this.#resource, inputs, this.#key, this.#now);
    if ("reason" in made) return failed(made);
    const objection = this.#objection(made, read);
    if (objection !== undefined) return failed(objection);
    const content = new Map([...kept, ...made]);
    const problem = contentProblem(this.#resource, content);
    return problem === undefined ? { content } : failed(problem);
  }

  /** Returns the bytes of a key that consists of one source, if the target has them. */
  #keptBytes({ from, id }: Entry): Uint8Array | undefined {
    if (from === "vault" || isDerived(this.#resource)) return undefined;
    return this.#before?.content.get(id);
  }

  /** Returns why the target keeps bytes that would be replaced by other ones of the same version. */
  #objection(made: Content, entries: readonly Entry[]): ReadyCondition | undefined {
    const before = this.#before;
    if (before === undefined) return undefined;
    const { synced } = originOf(entries, this.#resolutions, before.origin, this.#now);
    const sources = {
      items: entries.map(({ item }) => item),
      template: this.#resource.template,
    };
    for (const [key, bytes] of made) {
      const items = inputsOf(sources, key);
      const stateIn = (of: ReadonlyMap<string, SyncedKey>, its: Uint8Array) => ({
        ...bytesDigest(this.#key, its),
        origin: items.flatMap(({ id }) => of.get(id) ?? []),
      });
      const earlier = before.content.get(key);
      const objection = reviewKey(
        this.#resource,
        items,
        stateIn(synced, bytes),
        earlier && stateIn(before.origin.synced, earlier),
      );
      if (objection !== undefined) return objection;
    }
    return undefined;
  }

  /** Returns what remains of the target if it cannot be made: what is gone leaves it nevertheless. */
  #rest({ condition, isRetry }: Failed, state: TargetState): LocalTarget | undefined {
    this.isRetry ||= isRetry;
    this.#report(condition);
    const dropped = droppedFrom(this.#resolutions, state);
    if (dropped.length === 0 || this.#before === undefined) return this.kept();
    const rest = this.withoutDropped(dropped);
    if (rest !== undefined) return rest;
    const isWaiting = isRetry && !areOverdue(dropped);
    const isKept = isWaiting || !outweighsOthers(this.#resource, this.#resolutions, dropped);
    return isKept ? this.kept() : undefined;
  }

  /** Returns the target without some sources, if that is valid and known. */
  withoutDropped(dropped: readonly Resolution[]): LocalTarget | undefined {
    const kept = this.kept();
    if (kept === undefined || isDerived(this.#resource)) return undefined;
    const gone = goneClaims(dropped, kept.origin.synced);
    const without = <T>(of: ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
      new Map([...of].filter(([id]) => !gone.has(id)));
    const content = without(kept.content);
    if (content.size === 0 || missingKeys(this.#resource, content.keys()).length > 0)
      return undefined;
    const { synced, sources } = kept.origin;
    return this.#target(content, { synced: without(synced), sources: without(sources) });
  }
}

type LocalResource = Pick<LocalTarget, "manifest" | "resource">;

/** The targets of a plan, followed by the rules that the operator has for existing targets. */
export class FollowedTargets {
  readonly #plan: LocalPlan;
  readonly #client: VaultClient;
  readonly #key: Redacted<Uint8Array>;
  readonly #clock: Clock;

  constructor(
    plan: LocalPlan,
    client: VaultClient,
    key: Redacted<Uint8Array>,
    clock: Clock = systemClock,
  ) {
    this.#plan = plan;
    this.#client = client;
    this.#key = key;
    this.#clock = clock;
  }

  /**
   * Returns the targets that replace what was written, after another list of the vault. A target
   * that cannot be made keeps what it has; sources that the vault has removed at their
   * `delete_time` leave it. @throws Error when the vault cannot be listed
   */
  async next(written: WrittenTargets, signal: AbortSignal): Promise<Followed> {
    const references = new References(this.#client, entryReader(this.#client));
    const now = this.#clock.now();
    const recall = (resource: SyncResource): Recall | undefined => {
      const origin = written.get(keyOfTarget(resource))?.origin;
      return (
        origin && {
          now,
          synced: origin.synced,
          item: (item) => rememberedOf(origin, item, references.vault),
        }
      );
    };
    const found = await resolvePlan(this.#plan, references, recall);
    const problems: Problem[] = [...found.problems];
    const targets: LocalTarget[] = [];
    let isRetry = false;
    for (const { planned } of this.#plan.resources) {
      const { resource } = planned;
      const before = written.get(keyOfTarget(resource));
      const kept = resource.suspend && new Follower(planned, [], before, this.#key, now).kept();
      if (typeof kept === "object") targets.push(kept);
    }
    for (const one of found.resolved) {
      const follower = this.#follower(one, written.get(keyOfTarget(one.planned.resource)), now);
      const target = await this.#follow(one, follower, signal);
      if (target !== undefined) targets.push(target);
      problems.push(...follower.problems);
      isRetry ||= follower.isRetry;
    }
    return { targets, problems, isRetry };
  }

  #follower({ planned, resolved }: ResolvedPlan, before: WrittenTarget | undefined, now: number) {
    const { manifest } = planned;
    const { resource, resolutions } =
      "reason" in resolved ? { resource: planned.resource, resolutions: [] } : resolved;
    return new Follower({ manifest, resource }, resolutions, before, this.#key, now);
  }

  async #follow(
    { planned, access, resolved }: ResolvedPlan,
    follower: Follower,
    signal: AbortSignal,
  ): Promise<LocalTarget | undefined> {
    const { manifest, resource } = planned;
    const verdict = checkAccess(resource, entriesOf(resource.kind), access);
    const refused =
      typeof verdict === "object" ? verdict : "reason" in resolved ? resolved : undefined;
    if (refused === undefined) return follower.follow(signal);
    follower.problems.push(problemAt(manifest, ["spec"], refused.message));
    return follower.kept();
  }
}
