import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { type OwnedControlPlane, startControlPlane } from "../lab/control-plane/start.ts";
import { installOperator } from "../lab/kube/install-crds.ts";
import { vaultSecret } from "../lab/real/resources.ts";
import { FluxScene } from "./support/flux-scene.ts";

/** The operator's manifests in a repository of Flux: they concern the whole cluster. */
const root = join(import.meta.dirname, "../..");

let plane: OwnedControlPlane;
let scene: FluxScene;
beforeAll(async () => {
  plane = await startControlPlane();
  await installOperator(plane);
  scene = await FluxScene.create(plane);
  const { world, repository } = scene;
  await world.protect("db", world.canaries.text("value"));
  await world.startClusterOperator();
  await world.apply(vaultSecret("db", { password: "db" }));
  await world.ready("VaultSecret", "db");
  const paths = execFileSync("git", ["ls-files", "crds", "deploy"], {
    cwd: root,
    encoding: "utf8",
  });
  const files = paths.trim().split("\n");
  await repository.commit(
    "the manifests",
    Object.fromEntries(files.map((path) => [path, readFileSync(join(root, path), "utf8")])),
  );
});
afterAll(async () => {
  await scene[Symbol.asyncDispose]();
  await plane[Symbol.asyncDispose]();
});

const names = (kinds: string, ...args: readonly string[]): Promise<string> =>
  plane.kubectlOutput(["get", kinds, ...args, "--output=name"]);

test("Flux takes over an operator that kubectl installed, and finds no drift", async () => {
  await scene.follow("operator", "./deploy/overlays/cluster-wide", { targetNamespace: undefined });
  await scene.until("operator", ({ ready }) => ready === "True");
  const since = await plane.auditMark();
  const rounds = async (): Promise<number> => {
    const { compared } = await scene.requestsOfFlux(since);
    return compared.filter(({ objectRef }) => objectRef?.resource === "deployments").length;
  };
  await waitUntil("Flux has compared three times", async () => (await rounds()) >= 3, 120_000);
  expect((await scene.requestsOfFlux(since)).written).toEqual([]);
});

test("the deletion of the Kustomization removes the operator and keeps everything else", async () => {
  const { world } = scene;
  const before = await world.get("Secret", "db");
  const kept = "crds,validatingadmissionpolicies,validatingadmissionpolicybindings,namespaces";
  const stays = await names(kept);
  const removed = async (): Promise<string[]> => [
    await names("deployments", "--namespace=vaultsync-system"),
    (await names("clusterroles"))
      .split("\n")
      .filter((name) => name.endsWith("/vaultsync"))
      .join(),
  ];
  expect(await removed()).not.toContain("");
  expect(stays).toContain("vaultsecrets.vaultsync.dev");
  await plane.kubectlOutput(["delete", "kustomizations.kustomize.toolkit.fluxcd.io", "operator"], {
    namespace: world.namespace,
  });
  await expect.poll(removed, { timeout: 60_000 }).toEqual(["", ""]);
  expect(await names(kept)).toBe(stays);
  expect(await world.get("Secret", "db")).toEqual(before);
});
