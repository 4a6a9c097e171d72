import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { installRollouts, workload, Workloads } from "../lab/real/workloads.ts";
import { World } from "../lab/real/world.ts";
import { type ObservedObject, vaultFile, vaultSecret } from "../lab/real/resources.ts";

/**
 * Restarts of workloads that the controllers of a real cluster run. No kubelet runs: the test makes
 * pods ready.
 */
let world: World;
let workloads: Workloads;
let pods: AsyncDisposable;
const CONTENT = "vaultsync.dev/content";
/** Long enough for 20 changes on a slow machine. */
const WINDOW_MS = 12_000;

beforeAll(async () => {
  world = await World.create();
  await installRollouts(world.plane);
  workloads = new Workloads(world.plane, world.namespace);
  pods = workloads.runPods();
  const args = [
    "--namespaces",
    world.namespace,
    "--no-leader-elect",
    "--restart-window",
    `${WINDOW_MS}ms`,
  ];
  await world.startClusterOperator(args);
});
afterAll(async () => {
  await pods[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const restarts = z
  .array(
    z.object({
      kind: z.string(),
      name: z.string(),
      result: z.string(),
      message: z.string().optional(),
    }),
  )
  .default([]);
const shown = ({ status }: ObservedObject): string[] =>
  restarts.parse(status?.["restarts"]).map(({ kind, name, result }) => `${kind} ${name} ${result}`);

const digestOf = ({ status }: ObservedObject): string =>
  z.object({ digest: z.string() }).parse(status?.["target"]).digest;

/** Returns a VaultSecret that restarts these workloads. */
function restarting(name: string, ...rolloutRestart: readonly object[]): object {
  const { spec, ...rest } = z
    .looseObject({ spec: z.looseObject({}) })
    .parse(vaultSecret(name, { password: name }));
  return { ...rest, spec: { ...spec, rolloutRestart } };
}

const contentOf = async (kind: string, name: string): Promise<string | undefined> =>
  (await workloads.get(kind, name)).spec.template.metadata.annotations[CONTENT];
/** Returns the digests that the workload records. */
const recorded = async (kind: string, name: string): Promise<string[]> => {
  const state =
    (await workloads.get(kind, name)).metadata.annotations["vaultsync.dev/restart-state"] ?? "{}";
  return Object.values(
    z.object({ sources: z.record(z.string(), z.string()).default({}) }).parse(JSON.parse(state))
      .sources,
  );
};

test("20 resources of one Deployment change: it restarts once and keeps its replicas", async () => {
  const names = Array.from({ length: 20 }, (_, n) => `many-${n}`);
  await world.apply(workload("Deployment", "web"));
  await Promise.all(names.map((name) => world.protect(name, world.canaries.text(name))));
  await world.apply(...names.map((name) => restarting(name, { kind: "Deployment", name: "web" })));
  await waitUntil(
    "all sources are recorded",
    async () => (await recorded("Deployment", "web")).length === names.length,
  );
  expect(await contentOf("Deployment", "web")).toBeUndefined();
  expect(await workloads.templates("web")).toBe(1);

  let replicas = 1;
  const scaling = (async () => {
    for (; replicas < 8; replicas += 1) {
      await workloads.scale("web", replicas + 1);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  })();
  await Promise.all(
    names.map((name) => world.protect(name, world.canaries.text(`${name} changed`))),
  );
  await waitUntil("the Deployment restarts", () => contentOf("Deployment", "web"));
  await scaling;
  for (const name of names) {
    await world.until(
      "VaultSecret",
      name,
      (one) => shown(one).includes("Deployment web RolledOut"),
      60_000,
    );
  }
  const current = await Promise.all(
    names.map(async (name) => digestOf(await world.ready("VaultSecret", name))),
  );
  expect((await recorded("Deployment", "web")).toSorted()).toEqual(current.toSorted());
  expect(await workloads.templates("web")).toBe(2);
  expect((await workloads.get("Deployment", "web")).spec.replicas).toBe(8);
  const { stdout } = await world.plane.kubectl(["get", "events", "-o", "json"], {
    namespace: world.namespace,
  });
  expect(stdout).toContain("RestartRolledOut");
  expect(await world.operator.page("/metrics").then(({ body }) => body)).toContain(
    'vaultsync_restarts_total{kind="Deployment",outcome="rolled_out"} 1',
  );
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});

test("each kind restarts, by name, by labels or by its annotation, and its rollout is observed", async () => {
  const secrets = ["stateful", "daemon", "argo", "auto"];
  await Promise.all(secrets.map((name) => world.protect(name, world.canaries.text(name))));
  await world.upload("conf", Buffer.from("one"));
  const annotations = { "vaultsync.dev/restart": "auto" };
  await world.apply(
    workload("StatefulSet", "stateful"),
    workload("DaemonSet", "daemon"),
    workload("Rollout", "argo"),
    workload("Deployment", "auto", { annotations, secrets: ["auto", "conf"] }),
  );
  await world.apply(
    restarting("stateful", { kind: "StatefulSet", name: "stateful" }),
    restarting("daemon", { kind: "DaemonSet", selector: { matchLabels: { app: "daemon" } } }),
    restarting("argo", { kind: "Rollout", name: "argo" }),
    restarting("auto"),
    vaultFile("conf", [{ filename: "conf" }], { kind: "Secret" }),
  );
  const kinds = [
    ["StatefulSet", "stateful", 1],
    ["DaemonSet", "daemon", 1],
    ["Rollout", "argo", 1],
    ["Deployment", "auto", 2],
  ] as const;
  for (const [kind, name, sources] of kinds) {
    await waitUntil(
      `${kind} is recorded`,
      async () => (await recorded(kind, name)).length === sources,
    );
  }
  for (const name of secrets) await world.protect(name, world.canaries.text(`${name} changed`));
  await world.upload("conf", Buffer.from("two"));
  for (const [kind, name] of kinds)
    await waitUntil(`${kind} restarts`, () => contentOf(kind, name));
  const { generation } = (await workloads.get("Rollout", "argo")).metadata;
  await workloads.report("argo", { observedGeneration: String(generation), phase: "Healthy" });
  for (const [kind, name] of kinds) {
    await world.until(
      "VaultSecret",
      name,
      (one) => shown(one).includes(`${kind} ${name} RolledOut`),
      60_000,
    );
  }
  await world.until("VaultFile", "conf", (one) => shown(one).includes("Deployment auto RolledOut"));
});

/** Returns a window that opens in half a year. */
function closedWindow(): object {
  const month = ((new Date().getUTCMonth() + 6) % 12) + 1;
  return { schedule: `0 0 1 ${month} *`, duration: "1h" };
}

/** Open all day, every day. */
const openWindow = { schedule: "0 0 * * *", duration: "24h" };

/** Two Deployments, one with a window. */
const dayAndNight = (window: object): object[] => [
  { kind: "Deployment", name: "day" },
  { kind: "Deployment", name: "night", windows: [window] },
];

test("a workload with a closed window restarts once when the window is open, others before", async () => {
  await world.protect("timed", world.canaries.text("timed"));
  await world.apply(workload("Deployment", "day"), workload("Deployment", "night"));
  await world.apply(restarting("timed", ...dayAndNight(closedWindow())));
  await waitUntil(
    "both are recorded",
    async () =>
      (await recorded("Deployment", "day")).length === 1 &&
      (await recorded("Deployment", "night")).length === 1,
  );

  const changed = world.canaries.text("timed changed");
  await world.protect("timed", changed);
  await world.has("timed", "password", changed);
  await waitUntil("the other one restarts", () => contentOf("Deployment", "day"));
  const waits = /^waits: its next window opens at \S+-01T00:00:00\.000Z$/u;
  await world.until("VaultSecret", "timed", ({ status }) =>
    restarts
      .parse(status?.["restarts"])
      .some(({ name, message = "" }) => name === "night" && waits.test(message)),
  );
  expect(await contentOf("Deployment", "night")).toBeUndefined();
  expect(await workloads.templates("night")).toBe(1);

  await world.patch("VaultSecret", "timed", {
    spec: { rolloutRestart: dayAndNight(openWindow) },
  });
  await waitUntil("it restarts", () => contentOf("Deployment", "night"));
  await world.until(
    "VaultSecret",
    "timed",
    (one) => shown(one).includes("Deployment night RolledOut"),
    60_000,
  );
  expect([await workloads.templates("day"), await workloads.templates("night")]).toEqual([2, 2]);
});

test("a wrong reference is rejected by the API server", async () => {
  for (const reference of [
    { kind: "Deployment" },
    { kind: "Deployment", name: "web", selector: { matchLabels: { app: "web" } } },
  ]) {
    const { code, stderr } = await world.tryApply(restarting("wrong", reference));
    expect(code).not.toBe(0);
    expect(stderr).toContain(
      "must have either name or selector, for example {kind: Deployment, name: web}",
    );
  }
  const { stderr } = await world.tryApply(
    restarting("wrong", { kind: "Deployment", selector: { matchLabels: {} } }),
  );
  expect(stderr).toContain("spec.rolloutRestart[0].selector.matchLabels");
});
