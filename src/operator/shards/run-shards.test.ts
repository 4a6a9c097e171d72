import { expect, onTestFinished, test } from "vitest";
import { recordingLogger } from "../../../test/lab/assertions/recording-logger.ts";
import { seededRandom } from "../../../test/lab/seeded-random.ts";
import { VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { ApiClient, type ApiRequest } from "../../../test/lab/simulated/api-server/api-client.ts";
import { InMemoryApiServer } from "../../../test/lab/simulated/api-server/in-memory-api-server.ts";
import type { WriteFence } from "../kube/client/kube-api.ts";
import { LEASES } from "../kube/resource.ts";
import { runShards } from "./run-shards.ts";
import { shardOf } from "./shard-of.ts";

const connections = Array.from({ length: 40 }, (_, n) => `team-${n}/vault`);

/** One replica of the operator that works on shards without doing anything. */
class Replica {
  readonly name: string;
  readonly shards: number;
  readonly working = new Map<number, WriteFence>();
  readonly ended: Promise<string>;
  /** Monotonic time at which it began to work on its last shard. */
  workedAt = Infinity;
  readonly #log = recordingLogger();
  readonly #stop = new AbortController();
  #killed = false;

  /** @param latencyMs returns the time that each request, and each response, takes */
  constructor(server: InMemoryApiServer, name: string, shards: number, latencyMs: () => number) {
    this.name = name;
    this.shards = shards;
    const pass = ({ signal }: ApiRequest): Promise<void> => {
      if (!this.#killed) return server.clock.sleep(latencyMs(), signal);
      return new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
      );
    };
    const api = new ApiClient(server, { user: name, network: { send: pass, respond: pass } });
    const { clock } = server;
    const base = {
      api,
      namespace: "sys",
      identity: name,
      shards,
      clock,
      random: () => 0.5,
      logger: this.#log.logger,
    };
    const work = async (shard: number, fence: WriteFence, signal: AbortSignal): Promise<void> => {
      this.working.set(shard, fence);
      this.workedAt = clock.monotonic();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      await clock.sleep(3_000);
      this.working.delete(shard);
    };
    this.ended = runShards({ ...base, work }, this.#stop.signal).then(
      () => "stopped",
      (error: Error) => error.message,
    );
  }

  /** Returns the log lines about who leads. */
  get leads(): string[] {
    return this.#log.lines
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

/** Replicas of the operator, of which never two may write for one connection. */
class Scene {
  readonly clock = new VirtualClock();
  readonly server = new InMemoryApiServer({ clock: this.clock });
  readonly replicas: Replica[] = [];

  constructor() {
    this.server.createNamespace("sys");
  }

  start(name: string, shards: number, latencyMs = () => 1): Replica {
    const replica = new Replica(this.server, name, shards, latencyMs);
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

  get leases(): string[] {
    return this.server.all(LEASES).map(({ metadata }) => metadata.name);
  }

  get uncovered(): string[] {
    return connections.filter(
      (connection) => !this.replicas.some((replica) => replica.writes(connection)),
    );
  }
}

test("with one shard, one replica works and another succeeds it immediately after its shutdown", async () => {
  const scene = new Scene();
  const first = scene.start("a", 1);
  await scene.wait(3_000);
  scene.start("b", 1);
  await scene.wait(30_000);
  expect(scene.counts).toEqual([1, 0]);
  const stopped = first.stop();
  await scene.wait(6_000);
  expect(await stopped).toBe("stopped");
  expect(scene.counts).toEqual([0, 1]);
  expect(
    scene.server.find(LEASES, { namespace: "sys", name: "vaultsync" })?.["spec"],
  ).toMatchObject({ holderIdentity: "b" });
});

/**
 * Ends the leader at many phases of its renewals and the standby's requests, and returns the
 * longest time until the other leads.
 */
async function longestTakeover(end: (leader: Replica) => unknown): Promise<number> {
  let longest = 0;
  for (let phase = 0; phase < 2_000; phase += 90) {
    const scene = new Scene();
    const leader = scene.start("a", 1);
    await scene.wait(3_000);
    const standby = scene.start("b", 1);
    await scene.wait(20_000);
    await scene.clock.advance(phase);
    const from = scene.clock.monotonic();
    end(leader);
    await scene.wait(30_000);
    longest = Math.max(longest, standby.workedAt - from);
  }
  return longest;
}

test("a standby leads 600 ms after a Lease is released, and 16 s after a leader is killed", async () => {
  const drainMs = 3_000;
  expect(await longestTakeover((leader) => leader.stop())).toBeLessThanOrEqual(drainMs + 600);
  expect(await longestTakeover((leader) => leader.kill())).toBeLessThanOrEqual(16_000);
});

test("a standby logs who leads at its start and after a change, and a new leader that it leads", async () => {
  const scene = new Scene();
  const first = scene.start("a", 1);
  await scene.wait(3_000);
  const [second, third] = [scene.start("b", 1), scene.start("c", 1)];
  await scene.wait(60_000);
  expect(first.leads).toEqual(["leading"]);
  for (const { leads } of [second, third])
    expect(leads).toEqual(["not leading: lease sys/vaultsync is held by a"]);
  await Promise.all([first.stop(), scene.wait(30_000)]);
  const [leader, standby] = scene.counts[1] === 1 ? [second, third] : [third, second];
  expect(leader.leads.slice(1)).toEqual(["leading"]);
  expect(standby.leads.slice(1)).toEqual([
    `not leading: lease sys/vaultsync is held by ${leader.name}`,
  ]);
});

test("a replica without a shard logs who works on them, and at most three of them", async () => {
  const scene = new Scene();
  scene.start("a", 4);
  await scene.wait(10_000);
  const second = scene.start("b", 4);
  await scene.wait(3_000);
  expect(second.leads[0]).toBe(
    "not leading: lease sys/vaultsync-0-of-4 is held by a, sys/vaultsync-1-of-4 is held by a, sys/vaultsync-2-of-4 is held by a and 1 more",
  );
});

test("the replica that holds the only shard lists the Leases once per minute", async () => {
  const scene = new Scene();
  let lists = 0;
  scene.server.authorize = ({ verb }) => {
    if (verb === "list") lists += 1;
    return true;
  };
  scene.start("a", 1);
  await scene.wait(3_000);
  expect(scene.counts).toEqual([1]);
  lists = 0;
  await scene.wait(600_000, 5_000);
  expect(lists).toBeGreaterThanOrEqual(8);
  expect(lists).toBeLessThanOrEqual(14);
});

test("replicas share the shards evenly, and a new one has its share within 40 s", async () => {
  const scene = new Scene();
  for (const name of ["a", "b"]) scene.start(name, 5);
  await scene.wait(30_000);
  expect(scene.counts).toEqual([3, 2]);
  scene.start("c", 5);
  await scene.wait(40_000);
  expect(scene.counts).toEqual([2, 2, 1]);
  expect(scene.uncovered).toEqual([]);
});

test("the shards of a killed replica are taken over within the duration of its Leases", async () => {
  const scene = new Scene();
  const [killed] = ["a", "b"].map((name) => scene.start(name, 2));
  await scene.wait(30_000);
  expect(scene.counts).toEqual([1, 1]);
  killed!.kill();
  await scene.wait(19_000);
  expect(scene.counts).toEqual([0, 2]);
  expect(await killed!.ended).toMatch(/lost lease/);
});

test("a replica with another number of shards waits until those of the former number have ended", async () => {
  const scene = new Scene();
  const former = ["a", "b"].map((name) => scene.start(name, 2));
  await scene.wait(30_000);
  scene.start("c", 3);
  await scene.wait(60_000);
  expect(scene.counts).toEqual([1, 1, 0]);
  expect(scene.leases.filter((name) => name.endsWith("-of-3"))).toEqual([]);
  for (const replica of former) {
    void replica.stop();
    await scene.wait(20_000);
  }
  expect(scene.counts).toEqual([0, 0, 3]);
  expect(scene.uncovered).toEqual([]);
});

test("replicas with different numbers of shards that start together end up with one number", async () => {
  for (let seed = 1; seed <= 12; seed += 1) {
    const scene = new Scene();
    const random = seededRandom(seed);
    const latencyMs = (): number => random() * 400;
    scene.start("a", 2, latencyMs);
    scene.start("b", 3, latencyMs);
    await scene.wait(40_000, 200);
    expect(scene.counts.filter((count) => count > 0)).toHaveLength(1);
    expect(scene.uncovered).toEqual([]);
  }
});

test("a Lease of an earlier version, which has no labels, is respected and then taken over", async () => {
  const scene = new Scene();
  const spec = {
    holderIdentity: "old",
    leaseDurationSeconds: 15,
    renewTime: "2026-11-21T00:00:00.000000Z",
  };
  scene.server.create(LEASES, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: "sys", name: "vaultsync" },
    spec,
  });
  const replica = scene.start("a", 1);
  await scene.wait(14_000);
  expect(scene.counts).toEqual([0]);
  await scene.wait(6_000);
  expect(scene.counts).toEqual([1]);
  expect(replica.writes("team-1/vault")).toBe(true);
});

test("the Leases of replicas that were killed are deleted later", async () => {
  const scene = new Scene();
  const [killed] = ["a", "b"].map((name) => scene.start(name, 2));
  await scene.wait(10_000);
  killed!.kill();
  await scene.wait(660_000, 10_000);
  expect(scene.leases.filter((name) => name.startsWith("vaultsync-replica-"))).toHaveLength(1);
});

test("a Lease that expires before its work starts is taken again", async () => {
  const scene = new Scene();
  // The request that creates the Lease takes 9 s, and the list after it 2 s: more than the 10 s of
  // the Lease.
  const latencies = [1, 1, 1, 4_500, 4_500, 1_000, 1_000];
  const replica = scene.start("a", 1, () => latencies.shift() ?? 1);
  await scene.clock.advance(60_000);
  expect(replica.writes("team-1/vault")).toBe(true);
});
