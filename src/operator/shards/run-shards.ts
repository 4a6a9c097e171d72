import { createHash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { LEASE_NAME, shardLeaseName } from "../api/lease-names.ts";
import { Deadline } from "../lib/deadline.ts";
import type { Logger } from "../../lib/logger.ts";
import { jitter, type Random } from "../../lib/random.ts";
import type { KubeApi, WriteFence } from "../kube/client/kube-api.ts";
import {
  acquireLease,
  reportLeaseFailure,
  findLease,
  takeLease,
} from "../kube/leader-election/acquire-lease.ts";
import {
  LEASE_TIMING,
  type LeaseOptions,
  type Leadership,
} from "../kube/leader-election/leadership.ts";
import { LEASE_LABEL, type LeaseRecord } from "../kube/leader-election/lease-record.ts";
import type { RequestProblems } from "../kube/request-problems.ts";
import { LEASES } from "../kube/resource.ts";
import { ShardBoard, SHARDS_LABEL } from "./shard-board.ts";
import { quotaOf } from "./shard-of.ts";
import { firstOf } from "../lib/first-of.ts";

export interface ShardsOptions {
  /** A client with a separate connection and without a fence: no other request delays a renewal. */
  readonly api: KubeApi;
  readonly namespace: string;
  /** Unique to this process. */
  readonly identity: string;
  /**
   * Number of parts that all connections are divided into. With 1, one replica works and the rest
   * stand by.
   */
  readonly shards: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Receives why Leases cannot be taken. */
  readonly problems?: RequestProblems | undefined;
  /**
   * Works on one shard, with writes behind the fence, until the signal is aborted and nothing is in
   * flight.
   */
  readonly work: (shard: number, fence: WriteFence, signal: AbortSignal) => Promise<void>;
}

/**
 * Time in milliseconds between two lists of a replica that holds the only shard. They show no more
 * than Leases to delete.
 */
const HOLDER_LIST_MS = 60_000;
/**
 * Share of the retry time between two lists of a replica that holds no shard: a takeover waits for
 * it.
 */
const STANDBY_SHARE = 1 / 4;

/** Maximum length of a holder in a log line. */
const MAX_HOLDER = 256;

/**
 * Works on this replica's part of the shards, and takes over the shards of replicas that ended,
 * until `signal` is aborted; releases all of them then. See
 * docs/design/engine.md#leader-election-and-shards.
 * @throws Error when a Lease was lost; the process must exit then
 */
export async function runShards(options: ShardsOptions, signal: AbortSignal): Promise<void> {
  const ended = new AbortController();
  const running = AbortSignal.any([signal, ended.signal]);
  await using coordinator = new ShardCoordinator(options, (error) => ended.abort(error));
  try {
    await coordinator.run(running);
  } catch (error) {
    if (!running.aborted) throw error;
  }
  ended.signal.throwIfAborted();
}

/** A shard that this replica works on. */
interface HeldShard {
  readonly leadership: Leadership;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

class ShardCoordinator implements AsyncDisposable {
  readonly #options: ShardsOptions;
  readonly #fail: (error: unknown) => void;
  readonly #board: ShardBoard;
  readonly #held = new Map<number, HeldShard>();
  /** The Leases of other replicas, and their holders, that were logged last. */
  #reported: string | undefined;
  #member: Leadership | undefined;

  /** @param fail called with the reason why this process must end */
  constructor(options: ShardsOptions, fail: (error: unknown) => void) {
    this.#options = options;
    this.#fail = fail;
    this.#board = new ShardBoard(options.clock);
  }

  /** Rejects with the signal's reason when it is aborted; no error of the API server ends it. */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, random, shards } = this.#options;
    // A single shard has one holder: replicas need not know each other.
    if (shards > 1) {
      this.#member = await acquireLease(this.#leaseOptions(this.#memberName, "replica"), signal);
      this.#failWhenLost(this.#member);
    }
    for (;;) {
      await this.#step(signal).then(
        () => this.#options.problems?.recovered(this),
        (error: unknown) => {
          signal.throwIfAborted();
          reportLeaseFailure(this, this.#shardLease(0), error);
        },
      );
      await clock.sleep(jitter(random, this.#pauseMs, 0.25), signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#held].map((held) => this.#release(...held)));
    if (this.#member === undefined) return;
    await this.#member.release();
    await this.#deleteLease(this.#memberName);
  }

  /** Mean time between two lists of the Leases, in milliseconds. */
  get #pauseMs(): number {
    const { retryMs } = LEASE_TIMING;
    if (this.#held.size === 0) return retryMs * STANDBY_SHARE;
    return this.#options.shards === 1 ? HOLDER_LIST_MS : retryMs * 0.75;
  }

  get #memberName(): string {
    return `${LEASE_NAME}-replica-${createHash("sha256").update(this.#options.identity).digest("hex").slice(0, 16)}`;
  }

  /** Lists the Leases, and releases or takes shards until this replica has its quota. */
  async #step(signal: AbortSignal): Promise<void> {
    const { identity, shards } = this.#options;
    await this.#list(signal);
    // A single shard has no Leases of replicas, and each replica may take it.
    const quota = quotaOf(identity, this.#board.replicas(shards), shards);
    const excess = [...this.#held].slice(quota);
    await Promise.all(excess.map((held) => this.#release(...held)));
    let failure: unknown;
    for (let shard = 0; shard < shards && this.#held.size < quota; shard += 1) {
      // The other replicas are being replaced by ones with another number of shards, or the other
      // way around.
      if (this.#board.hasOtherDivision(shards)) return this.#reportStandby();
      if (!this.#held.has(shard)) failure = (await this.#tryTake(shard, signal)) ?? failure;
    }
    this.#reportStandby();
    for (const { metadata } of this.#board.abandoned)
      await this.#deleteLease(metadata.name, metadata.resourceVersion);
    if (failure !== undefined) throw failure;
  }

  /** Logs which replicas lead while this one does not, once for each change. */
  #reportStandby(): void {
    const { identity, namespace, logger } = this.#options;
    const holders = this.#held.size > 0 ? [] : this.#board.holders(identity);
    const now = firstOf(holders, {
      text: ([name, holder]) => `${namespace}/${name} is held by ${holder.slice(0, MAX_HOLDER)}`,
    });
    if (now !== "" && now !== this.#reported)
      logger.info({ identity }, `not leading: lease ${now}`);
    this.#reported = now;
  }

  /**
   * Takes a shard if its Lease is free. Returns the failure to do so, if any: other shards are
   * unaffected.
   */
  async #tryTake(shard: number, signal: AbortSignal): Promise<unknown> {
    const { clock, shards } = this.#options;
    const lease = this.#shardLease(shard);
    const record = this.#board.record(lease.name) ?? (await this.#findUnlabeled(lease, signal));
    if (record !== undefined && !this.#board.isFree(record)) return undefined;
    let leadership: Leadership;
    try {
      leadership = await takeLease(lease, record, signal);
    } catch (error) {
      signal.throwIfAborted();
      return error;
    }
    // Two replicas with different numbers of shards may take a Lease each at the same time: at
    // least one of them sees the other.
    using deadline = new Deadline(clock, LEASE_TIMING.renewDeadlineMs / 2, signal);
    await this.#list(deadline.signal).catch(async (error: unknown) => {
      await leadership.release();
      throw error;
    });
    // A slow API server may have let the Lease expire during the request, and its loss is not
    // reported again: the next step takes it again.
    if (leadership.lost.aborted) return undefined;
    if (this.#board.hasOtherDivision(shards)) await leadership.release();
    else this.#work(shard, leadership);
    return undefined;
  }

  /**
   * Reads a Lease that the list lacks: it does not exist, or an earlier version of the operator
   * created it without labels.
   */
  async #findUnlabeled(lease: LeaseOptions, signal: AbortSignal): Promise<LeaseRecord | undefined> {
    const found = await findLease(lease, signal);
    if (found !== undefined) this.#board.add(found);
    return found;
  }

  #work(shard: number, leadership: Leadership): void {
    const stop = new AbortController();
    this.#failWhenLost(leadership);
    const signal = AbortSignal.any([stop.signal, leadership.lost]);
    const ended = this.#options.work(shard, leadership, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#fail(error);
    });
    this.#held.set(shard, { leadership, stop, ended });
    const { identity, logger } = this.#options;
    logger.info({ lease: this.#shardLease(shard).name, identity, shard }, "leading");
  }

  /**
   * Ends the work on a shard, then releases its Lease: another replica takes it over without
   * waiting.
   */
  async #release(shard: number, { leadership, stop, ended }: HeldShard): Promise<void> {
    stop.abort(new Error(`shard ${shard} is handed over`));
    await ended;
    await leadership.release();
    this.#held.delete(shard);
  }

  #failWhenLost({ lost }: Leadership): void {
    lost.addEventListener("abort", () => this.#fail(lost.reason));
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { api, namespace } = this.#options;
    const leases = [];
    const options = { namespace, labelSelector: LEASE_LABEL, paged: true };
    for await (const { items } of api.list(LEASES, options, signal)) leases.push(...items);
    this.#board.update(leases);
  }

  async #deleteLease(name: string, resourceVersion?: string): Promise<void> {
    const { api, namespace, clock } = this.#options;
    using deadline = new Deadline(clock, LEASE_TIMING.retryMs, new AbortController().signal);
    // After a failure the Lease expires by itself, and a later replica deletes it.
    await api
      .delete(LEASES, { namespace, name, resourceVersion }, deadline.signal)
      .catch(() => undefined);
  }

  #shardLease(shard: number): LeaseOptions {
    return this.#leaseOptions(shardLeaseName(shard, this.#options.shards), "shard");
  }

  #leaseOptions(name: string, kind: "shard" | "replica"): LeaseOptions {
    const { api, namespace, identity, shards, clock, random, logger, problems } = this.#options;
    const labels = { [LEASE_LABEL]: kind, [SHARDS_LABEL]: `${shards}` };
    return {
      api,
      namespace,
      identity,
      clock,
      random,
      logger,
      problems,
      name,
      labels,
    };
  }
}
