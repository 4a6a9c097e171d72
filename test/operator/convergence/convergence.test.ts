import { describe, expect, test } from "vitest";
import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { RESTART_ANNOTATION } from "../../../src/operator/api/names.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { StatusError } from "../../lab/simulated/api-server/status-error.ts";
import {
  change,
  MINUTE,
  notRestarted,
  type Scene,
  started,
  TARGET,
  TRUE,
  waiting,
} from "./scene.ts";

const web = { owner: "StatefulSet/web", env: [TARGET] };

/** Suspends a resource whose pod does not have the last change of the target. */
async function suspended(): Promise<Scene> {
  const scene = await started();
  scene.pods.create("web-0", web);
  await change(scene);
  scene.world.follow({ password: "db" }, { suspend: true });
  await scene.world.settle();
  return scene;
}

describe("the cost", () => {
  test("a target that no pod uses gets no condition, and causes no request afterwards", async () => {
    await using scene = await started();
    const { world, converged, takeRequests } = scene;
    await change(scene);
    expect(converged()).toBe("absent");
    expect(takeRequests()).toEqual({ lists: 1, writes: 1 });
    await world.settle(120 * MINUTE);
    expect(takeRequests()).toEqual({ lists: 0, writes: 0 });
  });

  test("one list of pods serves all targets of a namespace, and none follows when all converged", async () => {
    await using scene = await started();
    const { world, pods, converged, takeRequests } = scene;
    world.vault().lists({ name: "db" }, { name: "api" });
    world.follow({ key: "api" }, { name: "api" });
    pods.create("web-0", { ...web, env: [TARGET, "Secret/api"] });
    await world.settle(MINUTE);
    takeRequests();
    world.vault().lists({ name: "db", version: 2 }, { name: "api", version: 2 });
    await world.settle(9_000);
    pods.remove("web-0");
    pods.create("web-0", { ...web, env: [TARGET, "Secret/api"] });
    await world.settle(10 * MINUTE);
    expect(converged()).toBe(TRUE);
    expect(world.condition("Converged", "api")?.status).toBe("True");
    expect(takeRequests()).toEqual({ lists: 2, writes: 6 });
    await world.settle(120 * MINUTE);
    expect(takeRequests()).toEqual({ lists: 0, writes: 0 });
  });

  test("pods that nothing restarts are looked for at a growing interval, for an hour", async () => {
    await using scene = await started();
    const { world, pods, converged, takeRequests } = scene;
    pods.create("web-0", web);
    await world.replace({ resync: 0 });
    takeRequests();
    await change(scene, 2, 66 * MINUTE);
    const { lists, writes } = takeRequests();
    expect(lists).toBeLessThan(25);
    expect(writes).toBe(2);
    await world.settle(180 * MINUTE);
    expect(converged()).toBe(notRestarted("StatefulSet web"));
    expect(takeRequests()).toEqual({ lists: 0, writes: 0 });
  });
});

describe("an operator", () => {
  test("that restarts continues with what its predecessor has not proven", async () => {
    await using scene = await started();
    const { world, pods, converged } = scene;
    pods.create("web-0", web);
    await change(scene);
    await world.stop();
    pods.remove("web-0");
    pods.create("web-0", web);
    await world.settle(120 * MINUTE);
    expect(converged()).toBe(notRestarted("StatefulSet web"));
    await world.replace();
    expect(converged()).toBe(TRUE);
  });

  test("that ends before it reports a change leaves no proof of the former content", async () => {
    await using scene = await started();
    const { world, pods, converged } = scene;
    pods.create("web-0", web);
    await world.settle(MINUTE);
    await change(scene);
    pods.remove("web-0");
    pods.create("web-0", web);
    await world.settle(5 * MINUTE);
    expect(converged()).toBe(TRUE);
    world.network = {
      send: ({ verb, resource }) => {
        if (verb === "update" && resource.plural === vaultSecretKind.plural)
          throw new Error("the process dies");
      },
    };
    world.vault().lists({ name: "db", version: 3 });
    await world.settle(500);
    await world.stop();
    world.network = {};
    await world.replace();
    await world.settle(5 * MINUTE);
    expect(world.outcome()).toBe("password=vault db@3, Synced");
    expect(converged()).toBe(notRestarted("StatefulSet web"));
  });

  test.each([1, 3])("that leads %i shards shows what the pods run", async (shards) => {
    await using scene = await started();
    const { world, pods, converged } = scene;
    await world.replace({ leaderElect: true, shards });
    pods.create("web-0", web);
    await change(scene, 2, MINUTE);
    expect(converged()).toBe(notRestarted("StatefulSet web"));
    await world.takeOver();
    pods.remove("web-0");
    await world.settle(10 * MINUTE);
    expect(converged()).toBe(TRUE);
  });

  test("with --auto-restart=off shows nothing, and proves no later content", async () => {
    await using scene = await started();
    const { world, pods, converged } = scene;
    await change(scene);
    pods.create("web-0", web);
    await change(scene, 3, 2 * MINUTE);
    pods.remove("web-0");
    await world.settle(10 * MINUTE);
    expect(converged()).toBe(TRUE);
    await world.replace({ autoRestart: "off" });
    expect(converged()).toBe(TRUE);
    pods.create("web-0", web);
    await change(scene, 4);
    expect(converged()).toBe("absent");
  });

  test("whose lists of pods fail shows what it found before", async () => {
    await using scene = await started();
    const { world, pods, converged } = scene;
    pods.create("web-0", web);
    await change(scene);
    world.network = {
      send: ({ verb, resource }) => {
        if (verb === "list" && resource.plural === "pods")
          throw new StatusError(500, "InternalError");
      },
    };
    await world.settle(10 * MINUTE);
    expect(converged()).toBe(notRestarted("StatefulSet web"));
    world.network = {};
    pods.remove("web-0");
    await world.settle(10 * MINUTE);
    expect(converged()).toBe(TRUE);
  });

  test("that may not list pods shows it where the condition was shown, and nothing else", async () => {
    await using scene = await started();
    const { world, pods, converged } = scene;
    world.deny("shop/pods");
    pods.create("web-0", web);
    await change(scene);
    expect(converged()).toBe("absent");
    world.allow();
    await change(scene, 3);
    expect(converged()).toBe(notRestarted("StatefulSet web"));
    world.deny("shop/pods");
    await change(scene, 4);
    await change(scene, 5);
    expect(converged()).toContain("Unknown PodsUnknown: the operator may not list pods");
    const lines = world.log.filter(({ message }) => message.startsWith("pods are not listed"));
    const fields = { resource: "pods", namespace: "shop", reason: "Forbidden" };
    expect(lines.map((line) => line.fields)).toEqual([fields, fields]);
    world.allow();
    await world.settle(6 * MINUTE);
    expect(converged()).toBe(notRestarted("StatefulSet web"));
  });
});

describe("a target", () => {
  test("that is repaired may have been read before, so its pods count as old", async () => {
    await using scene = await started();
    const { world, pods, converged } = scene;
    await world.settle(MINUTE);
    pods.create("web-0", web);
    await change(scene);
    pods.remove("web-0");
    await world.settle(10 * MINUTE);
    expect(converged()).toBe(TRUE);
    world.edit({ password: "of a user" });
    pods.create("web-0", web);
    await world.settle(MINUTE);
    expect(world.outcome()).toBe("password=vault db@2, Synced");
    expect(converged()).toBe(notRestarted("StatefulSet web"));
  });

  test("that gets another name leaves pods with the former one: they still count", async () => {
    await using scene = await started();
    const { world, pods, converged } = scene;
    pods.create("web-0", web);
    await change(scene);
    world.follow({ password: "db" }, { target: { name: "other" } });
    await world.settle(10_000);
    expect(converged()).toBe(notRestarted("StatefulSet web"));
    expect(world.status().formerTargets).toEqual(["Secret/db"]);
    pods.remove("web-0");
    pods.create("web-0", { ...web, env: ["Secret/other"] });
    await world.settle(10 * MINUTE);
    expect(converged()).toBe(TRUE);
    expect(world.status().formerTargets).toBeUndefined();
  });

  test("that goes with its source takes the condition with it", async () => {
    await using scene = await started();
    const { world, pods, converged } = scene;
    pods.create("web-0", web);
    world.follow({ password: "db" }, { target: { whenMissing: "Delete" } });
    await change(scene);
    expect(converged()).toBe(notRestarted("StatefulSet web"));
    world.vault().lists();
    await world.settle(10 * MINUTE);
    expect(world.target()).toBeUndefined();
    expect(converged()).toBe("absent");
  });

  test.each(["Orphan", "Merge"])(
    "with the policy %s is followed in the same way",
    async (policy) => {
      await using scene = await started();
      const { world, pods, converged } = scene;
      world.server.create(SECRETS, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { namespace: "shop", name: "app" },
        data: { other: "eA==" },
      });
      const name = policy === "Merge" ? "app" : "db";
      world.follow({ password: "db" }, { target: { name, creationPolicy: policy } });
      await world.settle();
      pods.create("web-0", { ...web, env: [`Secret/${name}`] });
      await change(scene, 2, 30_000);
      expect(world.outcome("db")).toContain(", Synced");
      expect(converged()).toBe(notRestarted("StatefulSet web"));
      pods.remove("web-0");
      pods.create("web-0", { ...web, env: [`Secret/${name}`] });
      await world.settle(10 * MINUTE);
      expect(converged()).toBe(TRUE);
    },
  );

  test("of a suspended resource is followed until its pods have the last change", async () => {
    await using scene = await suspended();
    const { world, pods, converged } = scene;
    expect(converged()).toBe(notRestarted("StatefulSet web"));
    pods.remove("web-0");
    await world.settle(10 * MINUTE);
    expect(converged()).toBe(TRUE);
  });

  test("of a suspended resource that a user deletes proves nothing", async () => {
    await using scene = await suspended();
    const { world, pods, converged } = scene;
    world.deleteTarget();
    pods.remove("web-0");
    await world.settle(10 * MINUTE);
    expect(converged()).toBe(notRestarted("StatefulSet web"));
    expect(world.log.filter(({ message }) => message === "reconcile failed")).toEqual([]);
  });

  test("with equal bytes in a new version keeps its proof", async () => {
    await using scene = await started();
    const { world, pods, converged } = scene;
    pods.create("web-0", web);
    await change(scene);
    pods.remove("web-0");
    pods.create("web-0", web);
    await world.settle(10 * MINUTE);
    expect(converged()).toBe(TRUE);
    world.vault().expose = () => ({ value: "vault db@2" });
    await change(scene, 3);
    expect(world.status().items?.[0]?.version).toBe(3);
    expect(converged()).toBe(TRUE);
  });
});

/** Creates a pod that uses a target, lets it converge, and returns the events of the proof. */
async function proven({ world, pods }: Scene, target: string) {
  await world.settle(2_000);
  pods.create("app-0", { owner: "StatefulSet/app", env: [target] });
  await world.settle(10 * MINUTE);
  return world.events.filter(({ reason }) => reason === "Converged");
}

describe("the event of the proof", () => {
  test.each([
    ["a b c d e", "a 1, b 1, c 1, d 1, e 1"],
    ["a b c d e f g", "a 1, b 1, c 1, d 1, e 1 and 2 more"],
  ])("names at most five of the secrets %s", async (list, named) => {
    await using scene = await started();
    const names = list.split(" ");
    scene.world.vault().lists(...["db", ...names].map((name) => ({ name })));
    scene.world.follow(Object.fromEntries(names.map((name) => [name, name])), { name: "many" });
    expect(await proven(scene, "Secret/many")).toMatchObject([
      {
        regarding: { kind: "VaultSecret", name: "many" },
        type: "Normal",
        action: "Prove",
        note: `every pod that uses the target runs ${named}`,
      },
    ]);
  });

  test("names the files of a VaultFile", async () => {
    await using scene = await started();
    scene.world.vault().uploads("app.conf");
    const [file, connection] = ["conf", "vault"].map((name) => ({ namespace: "shop", name }));
    scene.world.followFiles(file!, connection!, ["app.conf"]);
    expect(await proven(scene, "Secret/conf")).toMatchObject([
      {
        regarding: { kind: "VaultFile", name: "conf" },
        note: "every pod that uses the target runs app.conf 1",
      },
    ]);
  });

  test("names no optional secret that the vault does not list", async () => {
    await using scene = await started();
    const data = [
      { secretKey: "password", remoteRef: { key: "db" } },
      { secretKey: "extra", remoteRef: { key: "extra" }, optional: true },
    ];
    scene.world.follow({}, { name: "many", data });
    const notes = (await proven(scene, "Secret/many")).map(({ note }) => note);
    expect(notes).toEqual(["every pod that uses the target runs db 1"]);
  });

  test("is not recorded if the last pod with older content ends, and no pod is left", async () => {
    await using scene = await started();
    const { world, pods, converged } = scene;
    pods.create("web-0", web);
    await change(scene);
    pods.remove("web-0");
    await world.settle(10 * MINUTE);
    expect(converged()).toBe(TRUE);
    expect(world.events.filter(({ reason }) => reason === "Converged")).toEqual([]);
  });
});

describe("a Deployment with old pods", () => {
  const old = { owner: "Deployment/app", hash: "a", env: [TARGET] };

  test.each([
    ["web", waiting("Deployment app")],
    ["other", notRestarted("Deployment app")],
  ])("and the label app=%s is restarted if the selector selects it", async (app, text) => {
    const selector = { matchLabels: { app: "web" } };
    await using scene = await started({ rolloutRestart: [{ kind: "Deployment", selector }] });
    const { world, pods, converged } = scene;
    world.workloads.create("Deployment", "app", { metadata: { labels: { app } } });
    pods.create("app-a", old);
    await world.settle();
    await change(scene);
    expect(converged()).toBe(text);
  });

  test("that asks for restarts is restarted without a reference", async () => {
    await using scene = await started({ rolloutRestart: [] });
    const { world, pods, converged } = scene;
    const annotations = { [RESTART_ANNOTATION]: "auto" };
    const template = {
      spec: { containers: [{ name: "app", envFrom: [{ secretRef: { name: "db" } }] }] },
    };
    world.workloads.create("Deployment", "app", { metadata: { annotations }, spec: { template } });
    pods.create("app-a", old);
    await world.settle();
    await change(scene);
    expect(converged()).toBe(waiting("Deployment app"));
  });
});
