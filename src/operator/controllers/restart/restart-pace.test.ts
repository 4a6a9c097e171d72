import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { SimulatedWorld } from "../../../../test/lab/simulated/simulated-world.ts";
import { RESTART_ANNOTATION } from "../../api/names.ts";
import { RestartPace } from "./restart-pace.ts";

const MINUTE = 60_000;
const MAX_ROLLING = 10;
const SELECTED = { kind: "Deployment", selector: { matchLabels: { app: "shop" } } } as const;
const names = Array.from({ length: 25 }, (_, n) => `w${String(n).padStart(2, "0")}`);

/** The Deployments of the scene that were restarted, in the order of their restarts. */
const restarted = (scene: SimulatedWorld): string[] =>
  [...scene.workloads.restarts.keys()].map((key) => key.replace("Deployment/", ""));
const MESSAGE =
  "waits: 10 workloads of the namespace roll out, and it is restarted when one of them has ended";
/** The Deployments that the status shows as waiting. */
const waitingOf = (scene: SimulatedWorld): string[] =>
  scene.workloads
    .shown("db")
    .flatMap(({ result, message, name }) =>
      result === "Progressing" && message === MESSAGE ? [name] : [],
    );
const key = (name: string, namespace = "shop"): string => `Deployment/${namespace}/${name}`;

/** Starts an operator with these Deployments that use the secret `db`. */
async function started(
  workloads: readonly string[] = names,
  spec: object = {},
): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop("db");
  for (const name of workloads)
    scene.workloads.create("Deployment", name, { metadata: { labels: { app: "shop" } }, spec });
  scene.follow({ password: "db" }, { rolloutRestart: [SELECTED] });
  await scene.settle();
  return scene;
}

/** Changes the secret, and waits until the quiet window has ended. */
async function change(scene: SimulatedWorld, version = 2): Promise<void> {
  scene.vault().lists({ name: "db", version });
  await scene.settle(40_000);
}

describe("the workloads of a namespace that use a changed secret", () => {
  test("roll out ten at a time: each end of a rollout restarts the next one", async () => {
    await using scene = await started();
    await change(scene);
    const first = restarted(scene);
    expect(first).toHaveLength(MAX_ROLLING);
    expect(waitingOf(scene)).toHaveLength(names.length - MAX_ROLLING);
    for (const name of first.slice(0, 3)) scene.workloads.rollOut(name);
    await scene.settle();
    expect(restarted(scene)).toHaveLength(MAX_ROLLING + 3);
    scene.workloads.delete("Deployment", first[3] ?? "");
    const conditions = [
      { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" },
    ];
    scene.workloads.report("Deployment", first[4] ?? "", { replicas: 2, conditions });
    await scene.settle();
    expect(restarted(scene)).toHaveLength(MAX_ROLLING + 5);
    await scene.settle(16 * MINUTE);
    expect(restarted(scene).length).toEqual(names.length);
    expect(waitingOf(scene)).toEqual([]);
    for (const name of names) expect(scene.workloads.count("Deployment", name), name).toBe(1);
  });

  test.each([true, false])(
    "roll out ten at a time also after a restart of the operator: takes over %j",
    async (takesOver) => {
      await using scene = await SimulatedWorld.shop("api", "db");
      await scene.replace({ leaderElect: true });
      // The first workload that the next operator reconciles waits.
      scene.workloads.create("Deployment", "waits");
      scene.follow(
        { password: "api" },
        { name: "api", rolloutRestart: [{ kind: "Deployment", name: "waits" }] },
      );
      for (const name of names.slice(0, MAX_ROLLING))
        scene.workloads.create("Deployment", name, { metadata: { labels: { app: "shop" } } });
      scene.follow({ password: "db" }, { rolloutRestart: [SELECTED] });
      await scene.settle();
      scene.vault().lists({ name: "api", version: 1 }, { name: "db", version: 2 });
      await scene.settle(40_000);
      scene.vault().lists({ name: "api", version: 2 }, { name: "db", version: 2 });
      await scene.settle(40_000);
      const first = restarted(scene);
      expect(first).toHaveLength(MAX_ROLLING);
      await (takesOver ? scene.takeOver() : scene.replace());
      await scene.settle(5 * MINUTE);
      expect(restarted(scene)).toEqual(first);
      scene.workloads.rollOut(first[0] ?? "");
      await scene.settle();
      expect(restarted(scene)).toHaveLength(MAX_ROLLING + 1);
    },
  );

  test("roll out ten at a time while the watch is behind", async () => {
    await using scene = await started();
    scene.network = { watchLagMs: () => 5_000 };
    await scene.replace();
    await scene.settle(20_000);
    scene.vault().lists({ name: "db", version: 2 });
    // The watch shows these changes after the restarts.
    for (let second = 0; second < 40; second += 1) {
      for (const name of names)
        scene.workloads.patch("Deployment", name, {
          metadata: { labels: { second: `${second}` } },
        });
      await scene.settle(1_000);
    }
    expect(restarted(scene)).toHaveLength(MAX_ROLLING);
  });

  test("are restarted in the order in which they came, and once for several changes", async () => {
    await using scene = await started();
    await change(scene);
    const first = restarted(scene);
    for (let version = 3; version < 12; version += 1) {
      await change(scene, version);
      for (const name of first.slice(0, 2)) scene.workloads.rollOut(name);
      await scene.settle(1_000);
    }
    // The first ones changed as well, but wait behind those that have not been restarted yet.
    for (const name of first) scene.workloads.rollOut(name);
    await scene.settle(MINUTE);
    expect(restarted(scene).slice(0, 20)).toEqual([
      ...first,
      ...names.filter((name) => !first.includes(name)).slice(0, 10),
    ]);
    expect(Math.max(...names.map((name) => scene.workloads.count("Deployment", name)))).toBe(1);
  });

  test("do not wait for rollouts that are paused", async () => {
    await using scene = await started(names, { paused: true });
    await change(scene);
    await scene.settle(MINUTE);
    expect(restarted(scene)).toHaveLength(names.length);
  });

  test.each(["get", "patch", "deleted"])(
    "do not wait for those that cannot be restarted: %s",
    async (how) => {
      await using scene = await started();
      await change(scene);
      const first = restarted(scene);
      const waiting = names.filter((name) => !first.includes(name));
      const failing = waiting.slice(0, 12);
      scene.network = {
        send: ({ verb, ref }) => {
          if (verb === how && failing.includes(ref.name ?? ""))
            throw new Error("the connection was reset");
        },
      };
      for (const name of failing) {
        if (how === "deleted") scene.workloads.delete("Deployment", name);
        // Its pods are read.
        if (how === "get")
          scene.workloads.patch("Deployment", name, {
            metadata: { annotations: { [RESTART_ANNOTATION]: "auto" } },
          });
      }
      scene.workloads.rollOut(first[0] ?? "");
      await scene.settle(1_000);
      expect(restarted(scene)).toEqual([...first, ...waiting.slice(12, 13)]);
    },
  );
});

/** A pace with ten workloads that roll out since now, and the keys that it requeues. */
function paced() {
  const clock = new VirtualClock();
  const requeued: string[] = [];
  const pace = new RestartPace(clock, (workload) => requeued.push(workload));
  for (let n = 0; n < MAX_ROLLING; n += 1) pace.observe(key(`r${n}`), clock.now());
  return { clock, pace, takeRequeued: () => requeued.splice(0) };
}

describe("RestartPace", () => {
  test("counts the rollouts of each namespace on their own", () => {
    const { pace } = paced();
    expect(pace.admits(key("a"))).toBe(false);
    expect(pace.admits(key("a", "other"))).toBe(true);
  });

  test("requeues the first that waits, and admits no other one before it", () => {
    const { pace, takeRequeued } = paced();
    for (const name of ["a", "b"]) pace.admits(key(name));
    pace.observe(key("r0"), undefined);
    expect(takeRequeued()).toEqual([key("a")]);
    expect(pace.admits(key("new"))).toBe(false);
    expect(pace.admits(key("b"))).toBe(false);
    expect(pace.admits(key("a"))).toBe(true);
    pace.leave(key("a"));
    expect(takeRequeued()).toEqual([key("b")]);
  });

  test("lets a workload that rolls out be restarted again only if no other one waits", () => {
    const { pace } = paced();
    expect(pace.admits(key("r0"))).toBe(true);
    pace.admits(key("a"));
    expect(pace.admits(key("r0"))).toBe(false);
  });

  test.each([15 * MINUTE, -15 * MINUTE])(
    "counts a rollout without a result for 15 minutes: %i ms",
    (ms) => {
      const { clock, pace } = paced();
      pace.observe(key("r0"), clock.now() - ms + Math.sign(ms));
      expect(pace.admits(key("a"))).toBe(false);
      pace.observe(key("r0"), clock.now() - ms);
      expect(pace.admits(key("a"))).toBe(true);
    },
  );
});
