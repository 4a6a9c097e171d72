import { expect, test } from "vitest";
import {
  hang,
  type Replica,
  ReplicaScene,
  untilAborted,
} from "../../../test/lab/kube/replica-scene.ts";
import type { ApiRequest } from "../../../test/lab/simulated/api-server/api-client.ts";
import { forbidden } from "../../../test/lab/simulated/api-server/status-error.ts";

const subject = JSON.stringify({ resource: "leases", ownNamespace: "sys" });
const denied = `Forbidden ${subject}`;

/** Requests that fail, by verb or by verb and name, and how; it may change. */
class Faults {
  readonly #faults = new Map<string, (request: ApiRequest) => void | Promise<void>>();

  readonly send = async (request: ApiRequest): Promise<void> => {
    const { verb, ref } = request;
    await this.#faults.get(verb)?.(request);
    await this.#faults.get(`${verb} ${ref.name}`)?.(request);
  };

  deny(request: string): void {
    this.#faults.set(request, () => {
      throw forbidden();
    });
  }

  hang(request: string): void {
    this.#faults.set(request, hang);
  }

  before(request: string, act: () => void): void {
    this.#faults.set(request, act);
  }

  end(): void {
    this.#faults.clear();
  }
}

/** Starts a replica whose requests fail as `faults` says. */
function startWith(scene: ReplicaScene, shards: number, options = {}): [Replica, Faults] {
  const faults = new Faults();
  return [scene.start("a", shards, { ...options, send: faults.send }), faults];
}

test("replicas that divide the shards report no failure", async () => {
  const scene = new ReplicaScene();
  const replicas = ["a", "b", "c"].map((name) => scene.start(name, 3));
  await scene.wait(60_000);
  expect(scene.counts).toEqual([1, 1, 1]);
  for (const { problems } of replicas) expect(problems).toEqual([]);
});

test("a shard that cannot be taken is reported, and the other shards are worked on", async () => {
  const scene = new ReplicaScene();
  const [replica, faults] = startWith(scene, 3);
  faults.deny("create vaultsync-1-of-3");
  await scene.wait(3_000);
  expect([...replica.working.keys()]).toEqual([0, 2]);
  expect(new Set(replica.problems)).toEqual(new Set([denied]));
  replica.problems.length = 0;
  faults.end();
  await scene.wait(3_000);
  expect([...replica.working.keys()]).toEqual([0, 2, 1]);
  expect(replica.problems).toEqual(["recovered"]);
});

test("a list that fails is reported, and the work on the shards continues", async () => {
  const scene = new ReplicaScene();
  const [replica, faults] = startWith(scene, 2);
  await scene.wait(3_000);
  faults.deny("list");
  await scene.wait(30_000);
  expect(scene.counts).toEqual([2]);
  expect(new Set(replica.problems)).toEqual(new Set([denied]));
  replica.problems.length = 0;
  faults.end();
  await scene.wait(30_000);
  expect(scene.counts).toEqual([2]);
  expect(replica.problems).toEqual(["recovered"]);
});

test("a replica stops immediately while a list gets no response, and reports no failure", async () => {
  const scene = new ReplicaScene();
  const [replica, faults] = startWith(scene, 1);
  faults.hang("list");
  await scene.wait(3_000);
  const stopped = replica.stop();
  await scene.clock.advance(0);
  expect(await stopped).toBe("stopped");
  expect(replica.problems).toEqual([]);
});

test("a Lease is released 5 s after it was taken if no list shows the other replicas", async () => {
  const scene = new ReplicaScene();
  const [replica, faults] = startWith(scene, 1);
  faults.before("create vaultsync", () => faults.hang("list"));
  await scene.wait(4_500);
  expect(scene.holder("vaultsync")).toBe("a");
  await scene.wait(1_000);
  expect(scene.holder("vaultsync")).toBe("");
  expect(scene.counts).toEqual([0]);
  expect(replica.problems).toEqual([`Timeout ${subject}`]);
  faults.end();
  await scene.wait(60_000);
  expect(scene.counts).toEqual([1]);
  expect(replica.problems.at(-1)).toBe("recovered");
});

test("a replica that could not release a Lease waits until it expires, without a log line", async () => {
  const scene = new ReplicaScene();
  const [replica, faults] = startWith(scene, 1);
  faults.before("create vaultsync", () => {
    faults.deny("list");
    faults.deny("update vaultsync");
  });
  await scene.wait(500);
  faults.end();
  await scene.wait(14_000);
  expect(scene.holder("vaultsync")).toBe("a");
  expect(scene.counts).toEqual([0]);
  await scene.wait(3_000);
  expect(scene.counts).toEqual([1]);
  expect(replica.leads).toEqual(["leading"]);
});

test("a replica that stops while it takes a Lease logs nothing about the other shards", async () => {
  const scene = new ReplicaScene();
  scene.start("b", 3);
  await scene.wait(10_000);
  const [replica, faults] = startWith(scene, 3);
  for (const shard of [0, 1, 2]) faults.hang(`update vaultsync-${shard}-of-3`);
  await scene.wait(10_000);
  const before = replica.leads;
  expect(scene.counts).toEqual([1, 0]);
  void replica.stop();
  await scene.wait(5_000);
  expect(await replica.ended).toBe("stopped");
  expect(replica.leads).toEqual(before);
});

test("work that fails ends the replica with its error, and releases the other shards", async () => {
  const scene = new ReplicaScene();
  let started = 0;
  const drain = async (signal: AbortSignal): Promise<void> => {
    started += 1;
    if (started < 2) await untilAborted(signal);
    else throw new Error("broken");
  };
  const replica = scene.start("a", 2, { drain });
  await scene.wait(3_000);
  expect(await replica.ended).toBe("broken");
  for (const shard of [0, 1]) expect(scene.holder(`vaultsync-${shard}-of-2`)).toBe("");
});

test("work that fails because it has to end does not end the replica", async () => {
  const scene = new ReplicaScene();
  const replica = scene.start("a", 2, {
    drain: async (signal) => {
      await untilAborted(signal);
      throw signal.reason;
    },
  });
  await scene.wait(10_000);
  scene.start("b", 2);
  await scene.wait(30_000);
  expect(scene.counts).toEqual([1, 1]);
  void replica.stop();
  await scene.wait(3_000);
  expect(await replica.ended).toBe("stopped");
});

test("a defect of the program ends the replica with its error, and releases its shards", async () => {
  const scene = new ReplicaScene();
  const replica = scene.start("a", 1, {
    random: () => {
      throw new Error("defect");
    },
  });
  await scene.wait(6_000);
  expect(await replica.ended).toBe("defect");
  expect(scene.holder("vaultsync")).toBe("");
});

test("a Lease of a replica that cannot be deleted is free, and delays its shutdown by 2 s", async () => {
  const scene = new ReplicaScene();
  const [replica, faults] = startWith(scene, 2, { drain: untilAborted });
  await scene.wait(3_000);
  faults.hang("delete");
  let ended = "";
  void replica.stop().then((how) => (ended = how));
  await scene.wait(1_500);
  expect(ended).toBe("");
  await scene.wait(1_000);
  expect(ended).toBe("stopped");
  expect(scene.leases.map((name) => scene.holder(name))).toEqual(["", "", ""]);
});

/** Starts a replica next to one that ends without a release, and waits for 9 minutes. */
async function startNextToKilled(scene: ReplicaScene): Promise<[Replica, Faults, string]> {
  const killed = scene.start("b", 2);
  await scene.wait(3_000);
  const abandoned = scene.leases.find((name) => name.startsWith("vaultsync-replica-"))!;
  const [replica, faults] = startWith(scene, 2);
  killed.kill();
  await scene.wait(540_000, 10_000);
  expect(scene.leases).toContain(abandoned);
  return [replica, faults, abandoned];
}

test("an abandoned Lease that cannot be deleted changes nothing for the shards", async () => {
  const scene = new ReplicaScene();
  const [replica, faults, abandoned] = await startNextToKilled(scene);
  faults.deny("delete");
  await scene.wait(120_000, 10_000);
  expect(replica.requests).toContain(`delete ${abandoned}`);
  expect(scene.leases).toContain(abandoned);
  expect(replica.working.size).toBe(2);
  expect(replica.problems).toEqual([]);
});

test("an abandoned Lease that is renewed before its deletion is kept", async () => {
  const scene = new ReplicaScene();
  const [replica, faults, abandoned] = await startNextToKilled(scene);
  faults.before("delete", () => {
    faults.end();
    scene.renew(abandoned);
  });
  await scene.wait(120_000, 10_000);
  expect(replica.requests).toContain(`delete ${abandoned}`);
  expect(scene.leases).toContain(abandoned);
});

test("a Lease that expires before its work starts is taken again", async () => {
  const scene = new ReplicaScene();
  // The request that creates the Lease takes 9 s, and the list after it 2 s: more than the 10 s of
  // the Lease.
  const latencies = [1, 1, 1, 4_500, 4_500, 1_000, 1_000];
  const replica = scene.start("a", 1, { latencyMs: () => latencies.shift() ?? 1 });
  await scene.clock.advance(60_000);
  expect(replica.writes("team-1/vault")).toBe(true);
});

test("a standby logs who leads at its start and after a change, and a new leader that it leads", async () => {
  const scene = new ReplicaScene();
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
  const scene = new ReplicaScene();
  scene.start("a", 4);
  await scene.wait(10_000);
  const second = scene.start("b", 4);
  await scene.wait(3_000);
  expect(second.leads[0]).toBe(
    "not leading: lease sys/vaultsync-0-of-4 is held by a, sys/vaultsync-1-of-4 is held by a, sys/vaultsync-2-of-4 is held by a and 1 more",
  );
});

test("a replica without a shard logs three replicas that work without a number of more", async () => {
  const scene = new ReplicaScene();
  scene.start("a", 3);
  await scene.wait(10_000);
  const second = scene.start("b", 3);
  await scene.wait(2_000);
  expect(second.leads[0]).toBe(
    "not leading: lease sys/vaultsync-0-of-3 is held by a, sys/vaultsync-1-of-3 is held by a, sys/vaultsync-2-of-3 is held by a",
  );
});

test("a replica that works on a shard does not log who works on the rest", async () => {
  const scene = new ReplicaScene();
  const first = scene.start("a", 2);
  await scene.wait(10_000);
  scene.start("b", 2);
  await scene.wait(40_000);
  expect(scene.counts).toEqual([1, 1]);
  expect(first.leads).toEqual(["leading", "leading"]);
});

test("the lines about who leads name the replica, and the Lease and shard that it leads", async () => {
  const scene = new ReplicaScene();
  const first = scene.start("a", 2);
  await scene.wait(10_000);
  const second = scene.start("b", 2);
  await scene.wait(2_000);
  const fieldsOf = ({ lines }: typeof first, message: string): unknown[] =>
    lines.filter((line) => line.message.startsWith(message)).map(({ fields }) => fields);
  expect(fieldsOf(first, "leading")).toEqual([
    { lease: "vaultsync-0-of-2", identity: "a", shard: 0 },
    { lease: "vaultsync-1-of-2", identity: "a", shard: 1 },
  ]);
  expect(fieldsOf(second, "not leading")).toEqual([{ identity: "b" }]);
});

test("a standby logs the holder of a Lease without labels, and 256 characters of its identity", async () => {
  const scene = new ReplicaScene();
  scene.createLease("vaultsync", "x".repeat(10_000));
  const standby = scene.start("a", 1);
  await scene.wait(10_000);
  expect(standby.leads).toEqual([`not leading: lease sys/vaultsync is held by ${"x".repeat(256)}`]);
});
