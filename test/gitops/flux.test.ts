import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { sharedControlPlane } from "../lab/kube/control-plane.ts";
import { condition, isReady } from "../lab/real/resources.ts";
import { Workloads } from "../lab/real/workloads.ts";
import { ACCOUNT } from "../lab/real/world.ts";
import { FluxScene } from "./support/flux-scene.ts";
import { OPERATOR, resourcesOf, secretOfGit, storeSources, withSpec } from "./support/resources.ts";

/** Minutes in which Flux compares and the operator works: `npm test -- gitops --minutes 10`. */
const minutes = Number(process.env["VAULTSYNC_TEST_MINUTES"] ?? 0);
const example = join(import.meta.dirname, "../../examples/sync-waves");

let scene: FluxScene;
beforeAll(async () => {
  scene = await FluxScene.create(await sharedControlPlane());
  const { world } = scene;
  await storeSources(world);
  await world.startOperator(OPERATOR);
});
afterAll(() => scene[Symbol.asyncDispose]());

const resources = (): readonly object[] => resourcesOf(scene.world);

const deploymentStatus = (namespace: string, name: string): Promise<number> =>
  scene.plane
    .request("GET", `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`)
    .then(({ status }) => status);

const isIn = (key: string): Promise<boolean> =>
  scene.world.caller.call("expose", { key_name: key }).then(({ status }) => status === 200);

test("the example for Flux applies a workload after its Secret exists", async () => {
  const { world, repository, plane } = scene;
  const adapted = (file: string): string =>
    readFileSync(join(example, file), "utf8")
      .replaceAll("namespace: shop", `namespace: ${world.namespace}`)
      .replaceAll("https://vault.example.com", world.vault.url)
      .replaceAll("shop@example.com", ACCOUNT)
      .replaceAll("https://git.example.com/vaultsync.git", repository.url)
      .replaceAll(/interval: \S+/gu, "interval: 2s");
  const files = readdirSync(example, { recursive: true, encoding: "utf8" })
    .filter((file) => file.startsWith("app/") && file.endsWith(".yaml"))
    .map((file) => [`examples/sync-waves/${file}`, adapted(file)]);
  await repository.commit("the example", Object.fromEntries(files));
  const objects = parseAllDocuments(adapted("flux.yaml")).map((one): object => one.toJS());
  await plane.apply(objects);

  await world.untilReason("VaultSecret", "billing-db", "SourceMissing");
  await scene.until("billing", ({ reason }) => reason === "DependencyNotReady", "flux-system");
  expect(await deploymentStatus(world.namespace, "billing")).toBe(404);
  const value = world.canaries.text("billing");
  await world.protect("billing-db-password", value);
  await scene.until("billing", ({ ready }) => ready === "True", "flux-system");
  expect(await deploymentStatus(world.namespace, "billing")).toBe(200);
  await world.has("billing-db", "password", value);

  await plane.kubectlOutput(["delete", "-f", "-"], { input: JSON.stringify(list(objects)) });
  await world.gone("Secret", "billing-db");
});

const list = (items: readonly object[]): object => ({ apiVersion: "v1", kind: "List", items });

test("a commit becomes a Secret, and its Kustomization waits until all kinds are healthy", async () => {
  const { world } = scene;
  await using _pods = new Workloads(scene.plane, world.namespace).runPods();
  const commit = await scene.commit(...resources());
  await scene.follow("main", "./app", { wait: true });
  await scene.applied("main", commit);
  expect(await world.get("VaultSecret", "db").then((one) => one && isReady(one))).toBe(true);
  expect(await world.get("Secret", "db")).toBeDefined();
  expect(await isIn("pushed")).toBe(true);
});

test("a change of a spec in the cluster is corrected", async () => {
  const { world, plane } = scene;
  const since = await plane.auditMark();
  await world.patch("VaultSecret", "db", { spec: { suspend: true } });
  await world.until("VaultSecret", "db", (one) => !JSON.stringify(one).includes('"suspend":true'));
  const { written } = await scene.requestsOfFlux(since);
  expect(written.map(({ objectRef }) => objectRef?.name)).toContain("db");
});

test(
  "nothing that the operator writes is drift",
  async () => {
    const { world, plane } = scene;
    await using _pods = new Workloads(plane, world.namespace).runPods();
    const since = await plane.auditMark();
    const end = performance.now() + minutes * 60_000;
    let value = "";
    for (let round = 1; round <= 4 || performance.now() < end; round++) {
      value = world.canaries.text(`round ${round}`);
      await world.protect("db", value);
      if (round % 4 === 2) await world.delete("Secret", "db");
      if (round % 4 === 3) {
        await world.operator.stop();
        await world.startOperator(OPERATOR);
      }
      if (round % 4 === 0) await world.patch("Secret", "db", { data: { password: "bm90IGl0" } });
      await world.has("db", "password", value);
      const before = (await scene.requestsOfFlux(since)).compared.length;
      await waitUntil(
        "Flux compares again",
        async () => (await scene.requestsOfFlux(since)).compared.length >= before + 10,
      );
    }
    const workloads = new Workloads(plane, world.namespace);
    await waitUntil("the app was restarted", async () => (await workloads.templates("app")) > 1);
    const { compared, written } = await scene.requestsOfFlux(since);
    const names = new Set(compared.map(({ objectRef }) => objectRef?.name));
    expect(names).toEqual(new Set(["git", "db", "web", "pushed", "app"]));
    expect(written).toEqual([]);
  },
  (10 + minutes) * 60_000,
);

test("Flux keeps what vaultsync annotates, and removes what kubectl annotates", async () => {
  const { world, plane } = scene;
  await world.run("rollback", "vaultsecret/db", "--reason", "test");
  await plane.kubectlOutput(["annotate", "vaultsecret", "db", "vaultsync.dev/accept=db@1"], {
    namespace: world.namespace,
  });
  const { metadata } = await world.until(
    "VaultSecret",
    "db",
    ({ metadata: { annotations } }) => !("vaultsync.dev/accept" in annotations),
  );
  expect(metadata.annotations).toHaveProperty(["vaultsync.dev/hold"]);
  await world.run("resume", "vaultsecret/db");
});

test("a commit that the API server rejects keeps the last state, and Flux shows the rule", async () => {
  const { world } = scene;
  const remoteRef = { key: "db", version: "1" };
  const bad = withSpec(secretOfGit("db"), { data: [{ secretKey: "password", remoteRef }] });
  const connection = world.anotherConnection("never-applied");
  const commit = await scene.commit(...resources().toSpliced(1, 1, bad), connection);
  const { message } = await scene.until(
    "main",
    ({ ready, attempted }) => ready === "False" && attempted === commit,
  );
  expect(message).toContain(`VaultSecret/${world.namespace}/db`);
  expect(message).toContain("a number of at least 1 without quotes, for example version: 3");
  expect(await world.get("VaultConnection", "never-applied")).toBeUndefined();
  const next = world.canaries.text("while broken");
  await world.protect("db", next);
  await world.has("db", "password", next);
});

test("a commit that only the operator rejects fails the Kustomization, and Flux names it", async () => {
  const { world } = scene;
  const bad = secretOfGit("invalid", { type: "example.com/other" });
  const commit = await scene.commit(...resources(), bad);
  const { message } = await scene.until(
    "main",
    ({ reason, attempted }) => reason === "HealthCheckFailed" && attempted === commit,
  );
  expect(message).toContain(`VaultSecret/${world.namespace}/invalid status: 'Failed'`);
  const stalled = await world.untilReason("VaultSecret", "invalid", "InvalidSpec");
  expect(condition(stalled, "Ready")?.message).toContain("this operator allows Opaque");
});

test("a file that a commit removes is pruned with its target or its entries", async () => {
  const { world } = scene;
  const commit = await scene.commit(
    ...resources().filter((one) => /"VaultConnection"|"VaultFile"/u.test(JSON.stringify(one))),
  );
  await scene.applied("main", commit);
  await world.gone("Secret", "db");
  await world.gone("VaultPush", "pushed");
  await waitUntil("the entry is deleted", async () => !(await isIn("pushed")));
  expect(await world.get("ConfigMap", "web")).toBeDefined();
});

test("no value is in the status of Flux's resources", async () => {
  const { plane, world } = scene;
  const { body } = await plane.request(
    "GET",
    "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations",
  );
  expect(body).toContain("main@sha1");
  expect(world.canaries.tracesIn({ kustomizations: body })).toEqual([]);
});
