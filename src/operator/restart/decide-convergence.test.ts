import { describe, expect, test } from "vitest";
import { convergedCondition, decideConvergence } from "./decide-convergence.ts";
import { runningPod, type RunningPod } from "./running-pod.ts";

const at = (seconds: number): string => new Date(seconds * 1_000).toISOString();
const CHANGED = 1_000;

interface Container {
  readonly uses?: object;
  /** Seconds since the epoch, on the clock of the node. */
  readonly startedAt?: number;
}

/** A pod as the API server returns it. `created` and `seen` are in seconds since the epoch. */
function pod({ uses = {}, startedAt }: Container, created = 500, seen = created, more = {}) {
  const state =
    startedAt === undefined ? { waiting: {} } : { running: { startedAt: at(startedAt) } };
  return {
    metadata: { name: "web-0", creationTimestamp: at(created), ...more },
    spec: {
      containers: [{ name: "app", ...uses }],
      volumes: [
        { name: "all", secret: { secretName: "mounted" } },
        { name: "both", projected: { sources: [{ secret: { name: "projected" } }] } },
      ],
      imagePullSecrets: [{ name: "pulled" }],
    },
    status: {
      phase: "Running",
      startTime: at(seen),
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [{ name: "app", state }],
    },
  };
}

const env = { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "db", key: "a" } } }] };
const envFrom = { envFrom: [{ configMapRef: { name: "db" } }] };
const mount = { volumeMounts: [{ name: "all", mountPath: "/a", subPath: "a" }] };

const change = {
  formerTargets: [],
  changedAt: CHANGED * 1_000,
  isCreation: true,
  isMounted: false,
  isImmutable: false,
  formerNodes: new Set<string>(),
  syncPeriodMs: 90_000,
};

/** Returns what the pods of one workload lack. */
function lagOf(object: object, changes: object = {}): string {
  const pods = [runningPod(object)].filter((one): one is RunningPod => one !== undefined);
  const facts = { target: "Secret/db", ...change, ...changes };
  const { following, notRestarted } = decideConvergence(pods, facts, () => false);
  return notRestarted.length > 0 ? "restart" : following.length > 0 ? "follows" : "none";
}

describe("a pod from before the change", () => {
  test.each([
    ["has the content of the start of its container", { uses: env, startedAt: 999 }, "restart"],
    ["has it in the second of the change", { uses: env, startedAt: 1_001 }, "restart"],
    ["has it when its container started later", { uses: env, startedAt: 1_002 }, "none"],
    ["may start its container at any time", { uses: env }, "restart"],
    ["does not use another Secret", { uses: envFrom, startedAt: 1 }, "none"],
  ])("%s", (_, container, lag) => {
    expect(lagOf(pod(container))).toBe(lag);
  });

  test("counts the start of its container by the clock of its node", () => {
    expect(lagOf(pod({ uses: env, startedAt: 1_020 }, 500, 520))).toBe("restart");
    expect(lagOf(pod({ uses: env, startedAt: 1_022 }, 500, 520))).toBe("none");
  });

  test("may restart its container with content that the kubelet caches, unless there was none", () => {
    const facts = { isCreation: false };
    expect(lagOf(pod({ uses: env, startedAt: 1_050 }), facts)).toBe("restart");
    expect(lagOf(pod({ uses: env, startedAt: 1_100 }), facts)).toBe("none");
  });

  test("uses a ConfigMap by envFrom", () => {
    expect(lagOf(pod({ uses: envFrom, startedAt: 1 }), { target: "ConfigMap/db" })).toBe("restart");
  });

  test.each(["Secret/mounted", "Secret/projected", "Secret/pulled"])("follows %s", (target) => {
    expect(lagOf(pod({ startedAt: 1 }), { target })).toBe("follows");
    expect(lagOf(pod({ startedAt: 1 }), { target, isMounted: true })).toBe("none");
  });

  test("keeps the files of an immutable target", () => {
    const facts = { target: "Secret/mounted", isMounted: true, isImmutable: true };
    expect(lagOf(pod({ startedAt: 1 }), facts)).toBe("restart");
  });

  test("keeps a subPath until a container starts after the volume was renewed", () => {
    const facts = { target: "Secret/mounted", isMounted: true };
    expect(lagOf(pod({ uses: mount, startedAt: 1_050 }), facts)).toBe("restart");
    expect(lagOf(pod({ uses: mount, startedAt: 1_100 }), facts)).toBe("none");
  });

  test("that terminates needs no restart", () => {
    const more = { deletionTimestamp: at(1_100) };
    expect(lagOf(pod({ uses: env, startedAt: 1 }, 500, 500, more))).toBe("follows");
  });

  test("that terminates keeps its files", () => {
    const more = { deletionTimestamp: at(1_100) };
    const facts = { target: "Secret/mounted", isMounted: true };
    expect(lagOf(pod({ startedAt: 1 }, 500, 500, more), facts)).toBe("follows");
  });

  test("uses a former target", () => {
    const facts = { target: "Secret/new", formerTargets: ["Secret/db"] };
    expect(lagOf(pod({ uses: env, startedAt: 2_000 }, 2_000), facts)).toBe("restart");
  });
});

test("a pod that was created after the change has its content, also before it started", () => {
  expect(lagOf(pod({ uses: env }, 1_001))).toBe("none");
  expect(lagOf(pod({ uses: env }, 1_000))).toBe("restart");
});

test("a pod that has ended does not count", () => {
  const { status, ...others } = pod({ uses: env, startedAt: 1 });
  for (const phase of ["Succeeded", "Failed"])
    expect(runningPod({ ...others, status: { ...status, phase } })).toBeUndefined();
});

test.each([
  ["ReplicaSet", "web-5d", { "pod-template-hash": "5d" }, "Deployment/web"],
  ["ReplicaSet", "web-5d", { "rollouts-pod-template-hash": "5d" }, "Rollout/web"],
  ["ReplicaSet", "web-5d", {}, "ReplicaSet/web-5d"],
  ["StatefulSet", "web", {}, "StatefulSet/web"],
])("a pod of the %s %s with the labels %j belongs to %s", (kind, name, labels, workload) => {
  const ownerReferences = [{ kind, name, controller: true }];
  expect(runningPod(pod({}, 1, 1, { labels, ownerReferences }))?.workload).toBe(workload);
});

test("init and ephemeral containers count, and a pod without a status has unknown starts", () => {
  const object = {
    metadata: { name: "p", creationTimestamp: at(1) },
    spec: {
      initContainers: [{ name: "i", ...env }],
      ephemeralContainers: [{ name: "e", ...envFrom }],
    },
  };
  expect([...(runningPod(object)?.uses.keys() ?? [])]).toEqual(["Secret/db", "ConfigMap/db"]);
  expect(lagOf(object)).toBe("restart");
});

test("the message names at most ten workloads of each kind", () => {
  const following = Array.from({ length: 12 }, (_, n) => `Deployment/w${n}`);
  const { message, reason } = convergedCondition({ users: 12, following, notRestarted: [] });
  expect(reason).toBe("RollingOut");
  expect(message).toMatch(/Deployment w9 and 2 more$/u);
});
