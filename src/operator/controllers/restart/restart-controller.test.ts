import { expect, test } from "vitest";
import { CONTENT_ANNOTATION, RESTART_STATE_ANNOTATION } from "../../api/names.ts";
import { KubeError } from "../../kube/kube-error.ts";
import { formatRestartState, parseRestartState } from "../../restart/restart-state.ts";
import { at } from "../../../../test/lab/simulated/workloads.ts";
import { SimulatedWorld } from "../../../../test/lab/simulated/simulated-world.ts";

const WEB = { kind: "Deployment", name: "web" } as const;
const names = Array.from({ length: 20 }, (_, n) => `s${n}`);

/** Starts an operator with a Deployment that was recorded as a user of these secrets. */
async function recorded(...secrets: readonly string[]): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop(...secrets);
  scene.workloads.create("Deployment", "web", { spec: { replicas: 3 } });
  for (const secret of secrets)
    scene.follow({ password: secret }, { name: secret, rolloutRestart: [WEB] });
  await scene.settle();
  expect(scene.workloads.recorded("Deployment", "web")).toHaveLength(secrets.length);
  return scene;
}

test("20 resources that change within 5 s restart a Deployment once, 30 s after the first change", async () => {
  await using scene = await recorded(...names);
  const begin = scene.clock.monotonic();
  for (const index of names.keys()) {
    scene.vault().lists(...names.map((name, n) => ({ name, version: n <= index ? 2 : 1 })));
    await scene.settle(250);
  }
  scene.workloads.patch("Deployment", "web", { spec: { replicas: 7 } });
  await scene.settle(120_000);
  const times = scene.workloads.restarts.get("Deployment/web") ?? [];
  expect(times).toHaveLength(1);
  expect((times[0] ?? 0) - begin).toBeGreaterThanOrEqual(30_000);
  expect((times[0] ?? 0) - begin).toBeLessThan(32_000);
  const { spec } = scene.workloads.get("Deployment", "web");
  expect(at(spec, "replicas")).toBe(7);
  expect(at(spec, "template", "metadata", "annotations", "note")).toBe("theirs");
  expect(scene.workloads.shown("s7")).toEqual([
    { ...WEB, result: "Progressing", time: expect.any(String) as unknown },
  ]);
});

test("the first sync restarts nothing, and neither does a workload that appears later", async () => {
  await using scene = await SimulatedWorld.following(
    [{ name: "db" }],
    { password: "db" },
    { rolloutRestart: [WEB] },
  );
  expect(scene.workloads.shown("db")).toEqual([{ ...WEB, result: "NotFound" }]);
  scene.workloads.create("Deployment", "web");
  await scene.settle(60_000);
  expect(scene.workloads.shown("db")).toEqual([]);
  expect(scene.workloads.recorded("Deployment", "web")).toEqual(["VaultSecret/db"]);
  expect(scene.workloads.count("Deployment", "web")).toBe(0);
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(60_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
});

test("a target that is deleted and recreated, and a version with equal bytes, restart nothing", async () => {
  await using scene = await recorded("db");
  scene.deleteTarget();
  await scene.settle(60_000);
  expect(scene.outcome()).toContain("Synced");
  scene.vault().expose = () => ({ value: "vault db@1" });
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(60_000);
  expect(scene.status().items?.[0]?.version).toBe(2);
  expect(scene.workloads.count("Deployment", "web")).toBe(0);
});

test("changes after a restart lead to the next one, a quiet window later", async () => {
  await using scene = await recorded("db");
  for (let version = 2; version <= 20; version += 1) {
    scene.vault().lists({ name: "db", version });
    await scene.settle(7_000);
  }
  await scene.settle(60_000);
  const times = scene.workloads.restarts.get("Deployment/web") ?? [];
  expect(times.length).toBeGreaterThanOrEqual(4);
  for (const [index, time] of times.entries())
    expect(time - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(30_000);
  await scene.settle(120_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(times.length);
});

test("an operator that dies within the quiet window is followed by one that restarts, once", async () => {
  await using scene = await recorded("db");
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(10_000);
  await scene.replace();
  expect(scene.workloads.count("Deployment", "web")).toBe(0);
  await scene.settle(20_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
  await scene.replace();
  await scene.settle(120_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
});

test("a change whose status the operator could not write before it died leads to a restart", async () => {
  await using scene = await recorded("db");
  scene.network = {
    send: ({ verb, resource }) => {
      if (verb === "update" && resource.plural === "vaultsecrets")
        throw new Error("the process dies");
    },
  };
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(500);
  await scene.stop();
  scene.network = {};
  expect(scene.status().items?.[0]?.version).toBe(1);
  await scene.replace();
  await scene.settle(60_000);
  expect(scene.outcome()).toBe("password=vault db@2, Synced");
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
});

test("bytes of an operator that died begin the quiet window when the next one reports them", async () => {
  await using scene = await recorded("db");
  const before = scene.status().syncedAt;
  await scene.settle(60_000);
  scene.network = {
    send: ({ verb, resource }) => {
      if (verb === "update" && resource.plural === "vaultsecrets")
        throw new Error("the process dies");
    },
  };
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(500);
  await scene.stop();
  scene.network = {};
  expect(scene.status().syncedAt).toEqual(before);
  expect(scene.target()?.data?.["password"]).toEqual(btoa("vault db@2"));
  await scene.replace();
  expect(
    Date.parse(scene.status().syncedAt ?? "") - Date.parse(before ?? ""),
  ).toBeGreaterThanOrEqual(60_000);
  await scene.settle(20_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(0);
  await scene.settle(10_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
});

test("a restart whose response is lost is not repeated", async () => {
  await using scene = await recorded("db");
  const lost = { count: 0 };
  scene.network = {
    respond: ({ verb, resource }) => {
      if (verb !== "patch" || resource.plural !== "deployments") return;
      lost.count += 1;
      if (lost.count < 3)
        throw new KubeError({ kind: "Timeout", operation: "apply deployments shop/web" });
    },
  };
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(180_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
  expect(scene.workloads.shown("db")).toMatchObject([{ result: "Progressing" }]);
});

test("two leaders that restart a workload for different contents do so a quiet window apart", async () => {
  await using scene = await recorded("db");
  const { clock } = scene;
  let restarts = 0;
  scene.network = {
    send: ({ verb, resource }) => {
      if (verb !== "patch" || resource.plural !== "deployments") return;
      restarts += 1;
      if (restarts === 1) restartFor("another content");
    },
  };
  /** Writes what another leader does, after this one has read the workload. */
  function restartFor(content: string): void {
    const { metadata } = scene.workloads.get("Deployment", "web");
    const state = parseRestartState(metadata.annotations?.[RESTART_STATE_ANNOTATION]);
    const sources = new Map(
      [...state.sources].map(([source, digest]) => [source, `${digest.split(".")[0]}.${content}`]),
    );
    const annotations = {
      [RESTART_STATE_ANNOTATION]: formatRestartState({
        sources,
        restart: { at: clock.now(), content },
      }),
    };
    const template = { metadata: { annotations: { [CONTENT_ANNOTATION]: content } } };
    scene.workloads.patch("Deployment", "web", { metadata: { annotations }, spec: { template } });
  }
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(120_000);
  const [first = 0, second = 0] = scene.workloads.restarts.get("Deployment/web") ?? [];
  expect(second - first).toBeGreaterThanOrEqual(30_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(2);
});

test("two connections and two kinds of references to one Deployment share a restart", async () => {
  await using scene = await SimulatedWorld.shop("db", "api");
  scene.workloads.create("Deployment", "web", {
    metadata: { labels: { app: "web", tier: "front" } },
  });
  scene.workloads.create("Deployment", "other", { metadata: { labels: { app: "other" } } });
  scene.connect("second");
  scene.vault("second").lists({ name: "api", version: 1 });
  scene.follow({ password: "db" }, { rolloutRestart: [WEB, WEB] });
  const selector = { matchLabels: { app: "web", tier: "front" } };
  scene.follow(
    { key: "api" },
    { name: "api", connection: "second", rolloutRestart: [{ kind: "Deployment", selector }] },
  );
  await scene.settle();
  scene.vault().lists({ name: "db", version: 2 });
  scene.vault("second").lists({ name: "api", version: 2 });
  await scene.settle(60_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
  expect(scene.workloads.count("Deployment", "other")).toBe(0);
  expect(scene.workloads.shown("api")).toMatchObject([{ ...WEB, result: "Progressing" }]);
});

test("a workload of the same name in another namespace is not restarted", async () => {
  await using scene = await recorded("db");
  scene.server.createNamespace("elsewhere");
  const foreign = scene.workloads.get("Deployment", "web");
  const { server } = scene;
  const resource = {
    group: "apps",
    version: "v1",
    plural: "deployments",
    kind: "Deployment",
    namespaced: true,
  };
  server.create(resource, { ...foreign, metadata: { name: "web", namespace: "elsewhere" } });
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(60_000);
  const annotations = at(
    server.get(resource, { name: "web", namespace: "elsewhere" }),
    "metadata",
    "annotations",
  );
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
  expect(annotations).toBeUndefined();
});

test("a reference that the spec drops leaves neither an entry in the status nor a restart", async () => {
  await using scene = await recorded("db");
  scene.follow({ password: "db" }, { rolloutRestart: [{ kind: "Deployment", name: "absent" }] });
  await scene.settle();
  expect(scene.workloads.shown("db")).toMatchObject([{ name: "absent", result: "NotFound" }]);
  scene.follow({ password: "db" }, { rolloutRestart: [] });
  await scene.settle();
  expect(scene.workloads.shown("db")).toEqual([]);
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(60_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(0);
});

test("without a reference or the annotation no workload is watched, with --auto-restart off", async () => {
  await using scene = await SimulatedWorld.shop("db");
  await scene.replace({ autoRestart: "off" });
  scene.follow({ password: "db" }, { rolloutRestart: [] });
  await scene.settle();
  const resource = {
    group: "apps",
    version: "v1",
    plural: "deployments",
    kind: "Deployment",
    namespaced: true,
  };
  expect(scene.server.watches(resource)).toEqual([]);
  scene.follow({ password: "db" }, { rolloutRestart: [WEB] });
  await scene.settle();
  expect(scene.server.watches(resource)).toHaveLength(1);
});
