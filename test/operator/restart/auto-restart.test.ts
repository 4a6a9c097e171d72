import { describe, expect, test } from "vitest";
import { RestartScene } from "../../lab/kube/restart-scene.ts";

const WEB = { kind: "Deployment", name: "web" } as const;

/** A `spec` whose pods read this Secret. */
function envFrom(name: string): object {
  return {
    template: { spec: { containers: [{ name: "app", envFrom: [{ secretRef: { name } }] }] } },
  };
}

describe("the annotation auto", () => {
  const auto = { metadata: { annotations: { "vaultsync.dev/restart": "auto" } } };

  test("restarts a workload for the targets that its pods use, once together with a reference", async () => {
    await using scene = await RestartScene.start("db", "api", "other");
    for (const name of ["db", "other"]) scene.follow(name);
    scene.follow("api", WEB);
    scene.workload("Deployment", "web", { ...auto, spec: envFrom("db") });
    await scene.settle();
    scene.lists({ db: 1, api: 1, other: 2 });
    await scene.settle(60_000);
    expect(scene.count("Deployment", "web")).toBe(0);
    scene.lists({ db: 2, api: 2, other: 2 });
    await scene.settle(60_000);
    expect(scene.count("Deployment", "web")).toBe(1);
    expect(scene.shown("db")).toMatchObject([{ ...WEB, result: "Progressing" }]);
    expect(scene.shown("other")).toEqual([]);
  });

  test("follows a changed pod template, and a removed annotation", async () => {
    await using scene = await RestartScene.start("db", "api");
    for (const name of ["db", "api"]) scene.follow(name);
    scene.workload("Deployment", "web", { ...auto, spec: envFrom("db") });
    await scene.settle();
    scene.patch("Deployment", "web", { spec: envFrom("api") });
    await scene.settle();
    scene.lists({ db: 2, api: 1 });
    await scene.settle(60_000);
    expect(scene.count("Deployment", "web")).toBe(0);
    scene.lists({ db: 2, api: 2 });
    await scene.settle(60_000);
    expect(scene.count("Deployment", "web")).toBe(1);
    scene.patch("Deployment", "web", {
      metadata: { annotations: { "vaultsync.dev/restart": null } },
    });
    await scene.settle();
    scene.lists({ db: 2, api: 3 });
    await scene.settle(60_000);
    expect(scene.count("Deployment", "web")).toBe(1);
  });

  test("is ignored with another value, and with --auto-restart off", async () => {
    await using scene = await RestartScene.start("db");
    scene.follow("db");
    scene.workload("Deployment", "other", {
      metadata: { annotations: { "vaultsync.dev/restart": "yes" } },
      spec: envFrom("db"),
    });
    scene.workload("Deployment", "web", { ...auto, spec: envFrom("db") });
    await scene.operator.replace({ autoRestart: "off" });
    await scene.settle();
    scene.lists({ db: 2 });
    await scene.settle(60_000);
    expect([scene.count("Deployment", "web"), scene.count("Deployment", "other")]).toEqual([0, 0]);
  });
});
