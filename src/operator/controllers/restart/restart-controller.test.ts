import { expect, test } from "vitest";
import { CONTENT_ANNOTATION, RESTART_STATE_ANNOTATION } from "../../api/names.ts";
import { KubeError } from "../../kube/kube-error.ts";
import { formatRestartState, parseRestartState } from "../../restart/restart-state.ts";
import { at, RestartScene } from "../../../../test/lab/kube/restart-scene.ts";

const WEB = { kind: "Deployment", name: "web" } as const;
const names = Array.from({ length: 20 }, (_, n) => `s${n}`);
const versions = (version: number): Record<string, number> =>
  Object.fromEntries(names.map((name) => [name, version]));

/** Starts an operator with a Deployment that was recorded as a user of these secrets. */
async function recorded(...secrets: readonly string[]): Promise<RestartScene> {
  const scene = await RestartScene.start(...secrets);
  scene.workload("Deployment", "web", { spec: { replicas: 3 } });
  for (const secret of secrets) scene.follow(secret, WEB);
  await scene.settle();
  expect(scene.recorded("Deployment", "web")).toHaveLength(secrets.length);
  return scene;
}

test("20 resources that change within 5 s restart a Deployment once, 30 s after the first change", async () => {
  await using scene = await recorded(...names);
  const begin = scene.operator.clock.monotonic();
  for (const [index, name] of names.entries()) {
    scene.lists({
      ...versions(1),
      ...Object.fromEntries(names.slice(0, index).map((one) => [one, 2])),
      [name]: 2,
    });
    await scene.settle(250);
  }
  scene.patch("Deployment", "web", { spec: { replicas: 7 } });
  await scene.settle(120_000);
  const times = scene.restarts.get("Deployment/web") ?? [];
  expect(times).toHaveLength(1);
  expect((times[0] ?? 0) - begin).toBeGreaterThanOrEqual(30_000);
  expect((times[0] ?? 0) - begin).toBeLessThan(32_000);
  const { spec } = scene.get("Deployment", "web");
  expect([at(spec, "replicas"), at(spec, "template", "metadata", "annotations", "note")]).toEqual([
    7,
    "theirs",
  ]);
  expect(scene.shown("s7")).toEqual([
    { ...WEB, result: "Progressing", time: expect.any(String) as unknown },
  ]);
});

test("the first sync restarts nothing, and neither does a workload that appears later", async () => {
  await using scene = await RestartScene.start("db");
  scene.follow("db", WEB);
  await scene.settle();
  expect(scene.shown("db")).toEqual([{ ...WEB, result: "NotFound" }]);
  scene.workload("Deployment", "web");
  await scene.settle(60_000);
  expect(scene.shown("db")).toEqual([]);
  expect(scene.recorded("Deployment", "web")).toEqual(["VaultSecret/db"]);
  expect(scene.count("Deployment", "web")).toBe(0);
  scene.lists({ db: 2 });
  await scene.settle(60_000);
  expect(scene.count("Deployment", "web")).toBe(1);
});

test("a target that is deleted and recreated, and a version with equal bytes, restart nothing", async () => {
  await using scene = await recorded("db");
  scene.operator.deleteTarget();
  await scene.settle(60_000);
  expect(scene.operator.outcome()).toContain("Synced");
  scene.operator.vault().expose = () => ({ value: "vault db@1" });
  scene.lists({ db: 2 });
  await scene.settle(60_000);
  expect(scene.operator.status().items?.[0]?.version).toBe(2);
  expect(scene.count("Deployment", "web")).toBe(0);
});

test("changes after a restart lead to the next one, a quiet window later", async () => {
  await using scene = await recorded("db");
  for (let version = 2; version <= 20; version += 1) {
    scene.lists({ db: version });
    await scene.settle(7_000);
  }
  await scene.settle(60_000);
  const times = scene.restarts.get("Deployment/web") ?? [];
  expect(times.length).toBeGreaterThanOrEqual(4);
  for (const [index, time] of times.entries())
    expect(time - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(30_000);
  await scene.settle(120_000);
  expect(scene.count("Deployment", "web")).toBe(times.length);
});

test("an operator that dies within the quiet window is followed by one that restarts, once", async () => {
  await using scene = await recorded("db");
  scene.lists({ db: 2 });
  await scene.settle(10_000);
  await scene.operator.replace();
  expect(scene.count("Deployment", "web")).toBe(0);
  await scene.settle(20_000);
  expect(scene.count("Deployment", "web")).toBe(1);
  await scene.operator.replace();
  await scene.settle(120_000);
  expect(scene.count("Deployment", "web")).toBe(1);
});

test("a change whose status the operator could not write before it died leads to a restart", async () => {
  await using scene = await recorded("db");
  scene.operator.network = {
    send: ({ verb, resource }) => {
      if (verb === "update" && resource.plural === "vaultsecrets")
        throw new Error("the process dies");
    },
  };
  scene.lists({ db: 2 });
  await scene.settle(500);
  await scene.operator.stop();
  scene.operator.network = {};
  expect(scene.operator.status().items?.[0]?.version).toBe(1);
  await scene.operator.replace();
  await scene.settle(60_000);
  expect(scene.operator.outcome()).toBe("password=vault db@2, Synced");
  expect(scene.count("Deployment", "web")).toBe(1);
});

test("bytes of an operator that died begin the quiet window when the next one reports them", async () => {
  await using scene = await recorded("db");
  const before = scene.operator.status().syncedAt;
  await scene.settle(60_000);
  scene.operator.network = {
    send: ({ verb, resource }) => {
      if (verb === "update" && resource.plural === "vaultsecrets")
        throw new Error("the process dies");
    },
  };
  scene.lists({ db: 2 });
  await scene.settle(500);
  await scene.operator.stop();
  scene.operator.network = {};
  expect([scene.operator.status().syncedAt, scene.operator.target()?.data?.["password"]]).toEqual([
    before,
    btoa("vault db@2"),
  ]);
  await scene.operator.replace();
  expect(
    Date.parse(scene.operator.status().syncedAt ?? "") - Date.parse(before ?? ""),
  ).toBeGreaterThanOrEqual(60_000);
  await scene.settle(20_000);
  expect(scene.count("Deployment", "web")).toBe(0);
  await scene.settle(10_000);
  expect(scene.count("Deployment", "web")).toBe(1);
});

test("a restart whose response is lost is not repeated", async () => {
  await using scene = await recorded("db");
  const lost = { count: 0 };
  scene.operator.network = {
    respond: ({ verb, resource }) => {
      if (verb !== "patch" || resource.plural !== "deployments") return;
      lost.count += 1;
      if (lost.count < 3)
        throw new KubeError({ kind: "Timeout", operation: "apply deployments shop/web" });
    },
  };
  scene.lists({ db: 2 });
  await scene.settle(180_000);
  expect(scene.count("Deployment", "web")).toBe(1);
  expect(scene.shown("db")).toMatchObject([{ result: "Progressing" }]);
});

test("two leaders that restart a workload for different contents do so a quiet window apart", async () => {
  await using scene = await recorded("db");
  const { clock } = scene.operator;
  let restarts = 0;
  scene.operator.network = {
    send: ({ verb, resource }) => {
      if (verb !== "patch" || resource.plural !== "deployments") return;
      restarts += 1;
      if (restarts === 1) restartFor("another content");
    },
  };
  /** Writes what another leader does, after this one has read the workload. */
  function restartFor(content: string): void {
    const { metadata } = scene.get("Deployment", "web");
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
    scene.patch("Deployment", "web", { metadata: { annotations }, spec: { template } });
  }
  scene.lists({ db: 2 });
  await scene.settle(120_000);
  const [first = 0, second = 0] = scene.restarts.get("Deployment/web") ?? [];
  expect(second - first).toBeGreaterThanOrEqual(30_000);
  expect(scene.count("Deployment", "web")).toBe(2);
});

test("two connections and two kinds of references to one Deployment share a restart", async () => {
  await using scene = await RestartScene.start("db", "api");
  scene.workload("Deployment", "web", { metadata: { labels: { app: "web", tier: "front" } } });
  scene.workload("Deployment", "other", { metadata: { labels: { app: "other" } } });
  scene.operator.connect("second");
  scene.operator.vault("second").lists({ name: "api", version: 1 });
  scene.follow("db", WEB, WEB);
  const selector = { matchLabels: { app: "web", tier: "front" } };
  scene.operator.follow(
    { key: "api" },
    { name: "api", connection: "second", rolloutRestart: [{ kind: "Deployment", selector }] },
  );
  await scene.settle();
  scene.lists({ db: 2 });
  scene.operator.vault("second").lists({ name: "api", version: 2 });
  await scene.settle(60_000);
  expect([scene.count("Deployment", "web"), scene.count("Deployment", "other")]).toEqual([1, 0]);
  expect(scene.shown("api")).toMatchObject([{ ...WEB, result: "Progressing" }]);
});

test("a workload of the same name in another namespace is not restarted", async () => {
  await using scene = await recorded("db");
  scene.operator.server.createNamespace("elsewhere");
  const foreign = scene.get("Deployment", "web");
  const { server } = scene.operator;
  const resource = {
    group: "apps",
    version: "v1",
    plural: "deployments",
    kind: "Deployment",
    namespaced: true,
  };
  server.create(resource, { ...foreign, metadata: { name: "web", namespace: "elsewhere" } });
  scene.lists({ db: 2 });
  await scene.settle(60_000);
  const annotations = at(
    server.get(resource, { name: "web", namespace: "elsewhere" }),
    "metadata",
    "annotations",
  );
  expect([scene.count("Deployment", "web"), annotations]).toEqual([1, undefined]);
});

test("a reference that the spec drops leaves neither an entry in the status nor a restart", async () => {
  await using scene = await recorded("db");
  scene.follow("db", { kind: "Deployment", name: "absent" });
  await scene.settle();
  expect(scene.shown("db")).toMatchObject([{ name: "absent", result: "NotFound" }]);
  scene.follow("db");
  await scene.settle();
  expect(scene.shown("db")).toEqual([]);
  scene.lists({ db: 2 });
  await scene.settle(60_000);
  expect(scene.count("Deployment", "web")).toBe(0);
});

test("without a reference or the annotation no workload is watched, with --auto-restart off", async () => {
  await using scene = await RestartScene.start("db");
  await scene.operator.replace({ autoRestart: "off" });
  scene.follow("db");
  await scene.settle();
  const resource = {
    group: "apps",
    version: "v1",
    plural: "deployments",
    kind: "Deployment",
    namespaced: true,
  };
  expect(scene.operator.server.watches(resource)).toEqual([]);
  scene.follow("db", WEB);
  await scene.settle();
  expect(scene.operator.server.watches(resource)).toHaveLength(1);
});
