import { onTestFinished } from "vitest";
import type { WriteFence } from "../../../src/operator/kube/client/kube-api.ts";
import { isKubeError } from "../../../src/operator/kube/kube-error.ts";
import { type KubeObject, LEASES } from "../../../src/operator/kube/resource.ts";
import { runShards } from "../../../src/operator/shards/run-shards.ts";
import { shardOf } from "../../../src/operator/shards/shard-of.ts";
import { type LogLine, recordingLogger } from "../assertions/recording-logger.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { ApiClient, type ApiRequest } from "../simulated/api-server/api-client.ts";
import { InMemoryApiServer } from "../simulated/api-server/in-memory-api-server.ts";

const connections = Array.from({ length: 40 }, (_, n) => `team-${n}/vault`);

/** Waits for the end of a request that gets no response. */
export function hang({ signal }: ApiRequest): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

export interface ReplicaOptions {
  /** Returns the time that each request, and each response, takes; by default 1 ms. */
  readonly latencyMs?: () => number;
  /** Source of the jitter between two lists; by default there is none. */
  readonly random?: () => number;
  /** Called before a request is sent: it may wait, and fails the request by throwing. */
  readonly send?: (request: ApiRequest) => void | Promise<void>;
  /**
   * Called when the work on a shard ends. By default it takes 3 s to end; it may throw, also before
   * the signal is aborted.
   */
  readonly drain?: (signal: AbortSignal) => Promise<void>;
}

/** One replica of the operator that works on shards without doing anything. */
export class Replica {
  readonly name: string;
  readonly shards: number;
  readonly working = new Map<number, WriteFence>();
  readonly ended: Promise<string>;
  /** The requests that it sent, as `list` or `update vaultsync`. */
  readonly requests: string[] = [];
  /** The failures that it reported, by what they are about, and `recovered` after them. */
  readonly problems: string[] = [];
  /** The reasons why its work had to end. */
  readonly ends: string[] = [];
  /** Monotonic time at which it began to work on its last shard. */
  workedAt = Infinity;
  /** Failed requests that did not succeed since. */
  readonly #failing = new Set<object>();
  readonly #log = recordingLogger();
  readonly #stop = new AbortController();
  #killed = false;

  constructor(server: InMemoryApiServer, name: string, shards: number, options: ReplicaOptions) {
    this.name = name;
    this.shards = shards;
    const { clock } = server;
    const { latencyMs = () => 1, random = () => 0.5, send = () => undefined, drain } = options;
    const pass = async (request: ApiRequest): Promise<void> => {
      if (this.#killed) await hang(request);
      await clock.sleep(latencyMs(), request.signal);
    };
    const network = {
      send: async (request: ApiRequest): Promise<void> => {
        this.requests.push([request.verb, request.ref.name ?? []].flat().join(" "));
        await send(request);
        await pass(request);
      },
      respond: pass,
    };
    const base = {
      api: new ApiClient(server, { user: name, network }),
      namespace: "sys",
      identity: name,
      shards,
      clock,
      random,
      logger: this.#log.logger,
      problems: {
        failed: (request: object, subject: object, error: unknown): void => {
          this.#failing.add(request);
          const kind = isKubeError(error) ? error.kind : "unknown";
          this.problems.push(`${kind} ${JSON.stringify(subject)}`);
        },
        recovered: (request: object): void => {
          if (this.#failing.delete(request)) this.problems.push("recovered");
        },
      },
    };
    const work = async (shard: number, fence: WriteFence, signal: AbortSignal): Promise<void> => {
      this.working.set(shard, fence);
      this.workedAt = clock.monotonic();
      signal.addEventListener("abort", () => this.ends.push(signal.reason.message));
      try {
        if (drain !== undefined) return await drain(signal);
        await untilAborted(signal);
        await clock.sleep(3_000);
      } finally {
        this.working.delete(shard);
      }
    };
    this.ended = runShards({ ...base, work }, this.#stop.signal).then(
      () => "stopped",
      (error: Error) => error.message,
    );
  }

  get lines(): readonly LogLine[] {
    return this.#log.lines;
  }

  /** Returns the log lines about who leads. */
  get leads(): string[] {
    return this.lines
      .map(({ message }) => message)
      .filter((message) => message.includes("leading"));
  }

  /** Shuts down as on SIGTERM. */
  stop(): Promise<string> {
    this.#stop.abort(new Error("stop"));
    return this.ended;
  }

  /** Hangs as a process that was killed, or one that is cut off from the API server. */
  kill(): void {
    this.#killed = true;
  }

  writes(connection: string): boolean {
    return this.working.get(shardOf(connection, this.shards))?.mayWrite() === true;
  }
}

/** Resolves when the signal is aborted. */
export function untilAborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

/** Replicas of the operator, of which never two may write for one connection. */
export class ReplicaScene {
  readonly clock = new VirtualClock();
  readonly server = new InMemoryApiServer({ clock: this.clock });
  readonly replicas: Replica[] = [];

  constructor() {
    this.server.createNamespace("sys");
  }

  start(name: string, shards: number, options: ReplicaOptions = {}): Replica {
    const replica = new Replica(this.server, name, shards, options);
    this.replicas.push(replica);
    onTestFinished(() => void replica.stop());
    return replica;
  }

  async wait(ms: number, stepMs = 500): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      await this.clock.advance(stepMs);
      for (const connection of connections) {
        const writers = this.replicas
          .filter((replica) => replica.writes(connection))
          .map(({ name }) => name);
        if (writers.length > 1)
          throw new Error(`several replicas write for ${connection}: ${writers.join()}`);
      }
    }
  }

  /** Number of shards that each replica works on. */
  get counts(): number[] {
    return this.replicas.map(({ working }) => working.size);
  }

  /** The names of the Leases, sorted. */
  get leases(): string[] {
    return this.server
      .all(LEASES)
      .map(({ metadata }) => metadata.name)
      .sort();
  }

  get uncovered(): string[] {
    return connections.filter(
      (connection) => !this.replicas.some((replica) => replica.writes(connection)),
    );
  }

  /** Returns the identity in a Lease; empty if it is free, `undefined` if it does not exist. */
  holder(name: string): unknown {
    const lease = this.server.find(LEASES, { namespace: "sys", name });
    return lease && (lease["spec"] as { readonly holderIdentity: string }).holderIdentity;
  }

  /** Creates a Lease without labels, as an earlier version of the operator did. */
  createLease(name: string, holderIdentity: string): KubeObject {
    return this.server.create(LEASES, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { namespace: "sys", name },
      spec: {
        holderIdentity,
        leaseDurationSeconds: 15,
        renewTime: "2026-11-21T00:00:00.000000Z",
      },
    });
  }

  /** Writes a Lease as its holder does when it renews it. */
  renew(name: string): void {
    const lease = this.server.find(LEASES, { namespace: "sys", name });
    const renewTime = `${new Date(this.clock.now()).toISOString().slice(0, -1)}000Z`;
    if (lease)
      this.server.replace(LEASES, { ...lease, spec: { ...(lease["spec"] as object), renewTime } });
  }

  deleteLease(name: string): void {
    this.server.delete(LEASES, { namespace: "sys", name });
  }
}
