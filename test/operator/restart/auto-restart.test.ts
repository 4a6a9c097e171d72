import { describe, expect, test } from "vitest";
import { vaultFileKind } from "../../../src/operator/api/kinds.ts";
import { readStatus } from "../../../src/operator/sync/stored-status.ts";
import { ACCOUNT } from "../../lab/simulated/simulated-vault.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";

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
    await using scene = await SimulatedWorld.shop("db", "api", "other");
    for (const name of ["db", "other"])
      scene.follow({ password: name }, { name, rolloutRestart: [] });
    scene.follow({ password: "api" }, { name: "api", rolloutRestart: [WEB] });
    scene.workloads.create("Deployment", "web", { ...auto, spec: envFrom("db") });
    await scene.settle();
    scene
      .vault()
      .lists(
        { name: "db", version: 1 },
        { name: "api", version: 1 },
        { name: "other", version: 2 },
      );
    await scene.settle(60_000);
    expect(scene.workloads.count("Deployment", "web")).toBe(0);
    scene
      .vault()
      .lists(
        { name: "db", version: 2 },
        { name: "api", version: 2 },
        { name: "other", version: 2 },
      );
    await scene.settle(60_000);
    expect(scene.workloads.count("Deployment", "web")).toBe(1);
    expect(scene.workloads.shown("db")).toMatchObject([{ ...WEB, result: "Progressing" }]);
    expect(scene.workloads.shown("other")).toEqual([]);
  });

  test("follows a changed pod template, and a removed annotation", async () => {
    await using scene = await SimulatedWorld.shop("db", "api");
    for (const name of ["db", "api"])
      scene.follow({ password: name }, { name, rolloutRestart: [] });
    scene.workloads.create("Deployment", "web", { ...auto, spec: envFrom("db") });
    await scene.settle();
    scene.workloads.patch("Deployment", "web", { spec: envFrom("api") });
    await scene.settle();
    scene.vault().lists({ name: "db", version: 2 }, { name: "api", version: 1 });
    await scene.settle(60_000);
    expect(scene.workloads.count("Deployment", "web")).toBe(0);
    scene.vault().lists({ name: "db", version: 2 }, { name: "api", version: 2 });
    await scene.settle(60_000);
    expect(scene.workloads.count("Deployment", "web")).toBe(1);
    scene.workloads.patch("Deployment", "web", {
      metadata: { annotations: { "vaultsync.dev/restart": null } },
    });
    await scene.settle();
    scene.vault().lists({ name: "db", version: 2 }, { name: "api", version: 3 });
    await scene.settle(60_000);
    expect(scene.workloads.count("Deployment", "web")).toBe(1);
  });

  test("restarts a workload for the ConfigMap of a VaultFile, and shows it there", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.vault().upload(ACCOUNT, "app.conf", Buffer.from("one"));
    const ref = { namespace: "shop", name: "conf" };
    const files = [{ filename: "app.conf", key: "app.conf" }];
    scene.put(vaultFileKind, ref, {
      connectionRef: { name: "vault" },
      target: { kind: "ConfigMap" },
      files,
    });
    const envFromConf = {
      containers: [{ name: "app", envFrom: [{ configMapRef: { name: "conf" } }] }],
    };
    scene.workloads.create("Deployment", "web", {
      ...auto,
      spec: { template: { spec: envFromConf } },
    });
    await scene.settle();
    scene.vault().upload(ACCOUNT, "app.conf", Buffer.from("two"));
    await scene.settle(120_000);
    expect(scene.workloads.count("Deployment", "web")).toBe(1);
    scene.workloads.rollOut("web");
    await scene.settle();
    const { restarts } = readStatus("VaultFile", scene.server.get(vaultFileKind, ref)["status"]);
    expect(restarts).toMatchObject([{ ...WEB, result: "RolledOut" }]);
    expect(
      scene.events
        .filter(({ reason }) => reason === "RestartRolledOut")
        .map(({ regarding }) => regarding.kind),
    ).toEqual(["Deployment", "VaultFile"]);
  });

  test("is ignored with another value, and with --auto-restart off", async () => {
    await using scene = await SimulatedWorld.shop("db");
    scene.follow({ password: "db" }, { rolloutRestart: [] });
    scene.workloads.create("Deployment", "other", {
      metadata: { annotations: { "vaultsync.dev/restart": "yes" } },
      spec: envFrom("db"),
    });
    scene.workloads.create("Deployment", "web", { ...auto, spec: envFrom("db") });
    await scene.replace({ autoRestart: "off" });
    await scene.settle();
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle(60_000);
    expect(scene.workloads.count("Deployment", "web")).toBe(0);
    expect(scene.workloads.count("Deployment", "other")).toBe(0);
  });
});
