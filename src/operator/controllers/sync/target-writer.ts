import { MANAGED_BY, MANAGED_BY_LABEL } from "../../api/names.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject, ResourceDescriptor } from "../../kube/resource.ts";
import { type Content, contentDigest, readContent } from "../../sync/content.ts";
import type { Decision, Entry, Fetch } from "../../sync/decide.ts";
import type { Candidate } from "../../sync/resolve.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import { reviewContent } from "../../sync/review-content.ts";
import { type SyncedKey, sourceId, type TargetState } from "../../sync/target.ts";
import { isVaultError } from "../../vault-client/vault-error.ts";
import { type SyncFailure, vaultFailure, writeFailure } from "./sync-failure.ts";
import { failedOutcome, type Outcome, unchangedOutcome } from "./outcome.ts";
import { renderTarget } from "./render-target.ts";
import { RetryLaterError } from "./sync-failure.ts";
import type { FetchedBytes } from "./source-kind.ts";
import { targetDescriptor } from "./target-metadata.ts";
import type { TargetView } from "./target-view.ts";

export type FetchBytes<C extends Candidate> = (fetch: Fetch<C>) => Promise<FetchedBytes>;

export interface TargetWriterOptions {
  readonly api: KubeApi;
  /** Descriptor of the resources whose targets are written. */
  readonly owner: ResourceDescriptor;
  readonly targets: TargetView;
  readonly contentKey: Redacted<Uint8Array>;
}

/** The existing target, read whole. `trusted`: its bytes are those that were written. */
interface Current {
  readonly object: KubeObject | undefined;
  readonly content: Content;
  readonly digest: string | undefined;
  readonly trusted: boolean;
}

interface Gathered {
  readonly content: Map<string, Uint8Array>;
  readonly synced: Map<string, SyncedKey>;
  /** The versions the target did not hold before. */
  readonly fetched: Map<string, number>;
}

type OwnedTarget = Extract<TargetState, { readonly state: "owned" }>;

const nothing: Current = { object: undefined, content: new Map(), digest: undefined, trusted: false };

function versionsOf(synced: ReadonlyMap<string, SyncedKey>): Map<string, number> {
  return new Map([...synced].map(([key, { version }]) => [key, version]));
}

/** Carries a decision out on the API server. Reads values only when there is something to write. */
export class TargetWriter<C extends Candidate> {
  readonly #options: TargetWriterOptions;

  constructor(options: TargetWriterOptions) {
    this.#options = options;
  }

  /**
   * @throws KubeError when the attempt is to be made again (a conflict, an API server that is away); what a person or the vault has to
   * mend is in the outcome
   */
  async apply(
    resource: SyncResource,
    { plan, readyCondition }: Decision<C>,
    state: TargetState,
    fetchBytes: FetchBytes<C>,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const versions = state.state === "owned" ? versionsOf(state.synced) : new Map<string, number>();
    if (plan.action === "keep") return unchangedOutcome(readyCondition, versions);
    try {
      if (plan.action === "delete") {
        await this.remove(resource, plan, signal);
        return { ...unchangedOutcome(readyCondition, new Map()), effect: "deleted", changed: true };
      }
      if (plan.action === "verify" && this.#isVerified(resource, state)) return unchangedOutcome(readyCondition, versions);
      const current = state.state === "owned" ? await this.#read(resource, state, signal) : nothing;
      if (plan.action === "verify" && current.trusted && this.#isAsRendered(resource, current)) {
        if (current.object) this.#options.targets.verified(resource, current.object);
        return unchangedOutcome(readyCondition, versions);
      }
      const gathered = await this.#gather(plan.entries, current, state, fetchBytes);
      if (gathered === "unobtainable") return unchangedOutcome(readyCondition, versions);
      if ("kind" in gathered) return failedOutcome(gathered, versions, state.state === "owned");
      const objection = reviewContent(resource, gathered.fetched, gathered.content, current.content);
      if (objection) return unchangedOutcome(objection, versions);
      const effect = current.object === undefined ? "created" : plan.action === "verify" ? "repaired" : "updated";
      return { ...(await this.#write(resource, gathered, current, signal)), readyCondition, effect };
    } catch (error) {
      const failure = writeFailure(error, resource);
      if (failure === undefined) throw error;
      return failedOutcome(failure, versions, state.state === "owned");
    }
  }

  #isVerified(resource: SyncResource, state: TargetState): boolean {
    return state.state === "owned" && this.#options.targets.isVerified(resource, state);
  }

  /** Without our label the watch does not see it; a type cannot be changed, and trying to says so. */
  #isAsRendered({ target }: SyncResource, { object }: Current): boolean {
    const hasType = target.kind !== "Secret" || object?.type === (target.type ?? "Opaque");
    return hasType && object?.metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY;
  }

  /** @throws RetryLaterError when the target is not the one that was decided about: it may be somebody else's by now */
  async #read(resource: SyncResource, state: OwnedTarget, signal: AbortSignal): Promise<Current> {
    const { api, contentKey, targets } = this.#options;
    const { kind, name } = resource.target;
    const object = await api
      .get(targetDescriptor[kind], { namespace: resource.namespace, name }, signal)
      .catch((error: unknown) => {
        if (!isKubeError(error, "NotFound")) throw error;
        targets.deleted(resource, state.uid);
        throw new RetryLaterError("the target was deleted concurrently");
      });
    const { uid, resourceVersion } = object.metadata;
    if (uid !== state.uid || resourceVersion !== state.resourceVersion) {
      targets.saw(resource, object);
      throw new RetryLaterError("the target was changed concurrently");
    }
    const content = readContent(kind, object);
    const digest = contentDigest(contentKey, content);
    return { object, content, digest, trusted: digest === state.content };
  }

  /** All bytes of the new target: synced ones from the target itself where they can be trusted, the others from the vault. */
  async #gather(
    entries: readonly Entry<C>[],
    current: Current,
    state: TargetState,
    fetchBytes: FetchBytes<C>,
  ): Promise<Gathered | SyncFailure | "unobtainable"> {
    const gathered: Gathered = { content: new Map(), synced: new Map(), fetched: new Map() };
    const problems = await Promise.all(
      entries.map(async (entry): Promise<SyncFailure | "unobtainable" | undefined> => {
        const kept = current.trusted && entry.from === "target" ? current.content.get(entry.targetKey) : undefined;
        if (kept !== undefined && entry.from === "target") {
          gathered.content.set(entry.targetKey, kept);
          gathered.synced.set(entry.targetKey, entry.synced);
          return undefined;
        }
        const fetch = entry.from === "target" ? entry.refetch : entry.fetch;
        if (fetch === undefined) return "unobtainable";
        const synced = state.state === "owned" ? state.synced.get(entry.targetKey) : undefined;
        return this.#fetch(entry, fetch, synced, gathered, fetchBytes);
      }),
    );
    return problems.find((problem) => problem !== undefined) ?? gathered;
  }

  async #fetch(
    { targetKey, item, from }: Entry<C>,
    fetch: Fetch<C>,
    synced: SyncedKey | undefined,
    into: Gathered,
    fetchBytes: FetchBytes<C>,
  ): Promise<SyncFailure | undefined> {
    const { source, version: asked } = item;
    const { owner, createdAt } = fetch.candidate;
    const id = sourceId(source, owner);
    try {
      const { bytes, version } = await fetchBytes(fetch);
      // The answer may be older than the list; it must not take the target back.
      const wentBack = synced?.source === id && version < Math.min(synced.version, fetch.version);
      if ((asked !== "latest" && version !== asked) || wentBack) {
        const message = `${source}: requested version ${fetch.version}, the vault returned version ${version}`;
        return { kind: "retry", reason: "UnexpectedResponse", message, retryAfterMs: undefined };
      }
      into.content.set(targetKey, bytes.reveal());
      into.synced.set(targetKey, { version, source: id, createdAt: createdAt?.get(version) });
      if (from === "vault") into.fetched.set(targetKey, version);
      return undefined;
    } catch (error) {
      if (isVaultError(error)) return vaultFailure(error, source);
      throw error;
    }
  }

  async #write(resource: SyncResource, { content, synced }: Gathered, current: Current, signal: AbortSignal): Promise<Outcome> {
    const { api, owner, targets, contentKey } = this.#options;
    const descriptor = targetDescriptor[resource.target.kind];
    const digest = contentDigest(contentKey, content);
    const target = renderTarget({ resource, owner, content, digest, synced }, current.object?.metadata);
    const written = await (current.object === undefined
      ? api.create(descriptor, target, signal)
      : api.replace(descriptor, target, signal));
    targets.wrote(resource, written);
    return { ...unchangedOutcome(undefined, versionsOf(synced)), changed: digest !== current.digest };
  }

  /** Deletes this very state of a target. @throws KubeError, `Conflict` when it is another by now */
  async remove(
    resource: SyncResource,
    { uid, resourceVersion }: { readonly uid: string; readonly resourceVersion: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { kind, name } = resource.target;
    const ref = { namespace: resource.namespace, name, uid, resourceVersion };
    try {
      await this.#options.api.delete(targetDescriptor[kind], ref, { propagationPolicy: "Background" }, signal);
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
    }
    this.#options.targets.deleted(resource, uid);
  }
}
