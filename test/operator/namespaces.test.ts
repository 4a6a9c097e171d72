import { expect, test } from "vitest";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { vaultSecretKind } from "../../src/operator/api/kinds.ts";
import type { OperatorFlags } from "../../src/operator/config.ts";
import { workloadDescriptor } from "../../src/operator/controllers/restart/workload.ts";
import { NAMESPACES as NAMESPACE_KIND, SECRETS } from "../../src/operator/kube/resource.ts";

const MINUTE = 60_000;
const DEPLOYMENTS = workloadDescriptor.Deployment;
/**
 * Longest time until a namespace whose permissions are back is served, and one that is added to the
 * file.
 */
const BACK_MS = 45_000;
const BOTH = { leaderElect: false, namespaces: ["shop", "billing"] };
const FROM_FILE = { leaderElect: false, namespacesFile: "/etc/vaultsync/namespaces" };

/** Returns two namespaces with a vault each, for an operator with Roles. */
function twoNamespaces(): SimulatedWorld {
  const scene = new SimulatedWorld();
  for (const namespace of ["shop", "billing"]) scene.addVault(namespace, ["db"]);
  scene.namespacesFile = "shop,billing";
  return scene;
}

const valuesOf = (scene: SimulatedWorld): unknown => ({
  shop: scene.value("shop", "db"),
  billing: scene.value("billing", "db"),
});

/** Returns the values of the metric by namespace. */
async function unavailable(scene: SimulatedWorld): Promise<Record<string, number>> {
  const samples = await scene.samples("vaultsync_namespace_unavailable");
  return Object.fromEntries(
    [...samples].map(([labels, value]) => [/"(\w+)"/u.exec(labels)?.[1], value]),
  );
}

const loggedBy = ({ log }: SimulatedWorld): string[] =>
  log.filter(({ level }) => level === "error" || level === "warn").map(({ message }) => message);

async function started(flags: OperatorFlags = BOTH): Promise<SimulatedWorld> {
  const scene = twoNamespaces();
  scene.start(flags);
  await scene.clock.advance(MINUTE);
  expect(valuesOf(scene)).toEqual({ shop: "db@1", billing: "db@1" });
  return scene;
}

test.each([
  ["one operator", BOTH],
  ["the replica of two shards", { ...BOTH, leaderElect: true, shards: 2 }],
])("a namespace is served by %s although another one cannot be listed", async (_, flags) => {
  await using scene = twoNamespaces();
  scene.deny("billing");
  scene.start(flags);
  await scene.clock.advance(2 * MINUTE);
  expect(scene.isReady).toBe(true);
  expect(valuesOf(scene)).toEqual({ shop: "db@1", billing: undefined });
  scene.vault("shop").write("db");
  await scene.clock.advance(2 * MINUTE);
  expect(valuesOf(scene)).toEqual({ shop: "db@2", billing: undefined });
  expect(scene.problems.text).toMatch(
    /denies access to the namespace billing: .*kubectl apply -n billing -k deploy\/namespaced\/tenant/u,
  );
  expect(scene.problems.text).not.toContain("deploy/base");
  expect(await unavailable(scene)).toEqual({ shop: 0, billing: 1 });
  expect(loggedBy(scene)).toEqual(["namespaces cannot be served, retrying"]);

  scene.allow();
  await scene.clock.advance(BACK_MS);
  expect(valuesOf(scene)).toEqual({ shop: "db@2", billing: "db@1" });
  expect(scene.problems.text).toBeUndefined();
  expect(await unavailable(scene)).toEqual({ shop: 0, billing: 0 });
});

test("an operator that may list no namespace is not ready until it may list one", async () => {
  await using scene = twoNamespaces();
  scene.deny("shop", "billing");
  scene.start(BOTH);
  await scene.clock.advance(30 * MINUTE);
  expect(scene.isReady).toBe(false);
  expect(scene.problems.text).toContain("denies access to the namespaces billing, shop");
  expect(loggedBy(scene)).toEqual(Array(3).fill("namespaces cannot be served, retrying"));
  scene.allow();
  await scene.clock.advance(BACK_MS);
  expect(scene.isReady).toBe(true);
  expect(valuesOf(scene)).toEqual({ shop: "db@1", billing: "db@1" });
});

test("a namespace of which one collection cannot be listed is not touched", async () => {
  await using scene = await started();
  await scene.restart(() => {
    scene.vault("billing").write("db");
    scene.deny("billing/secrets");
  }, BOTH);
  const written: string[] = [];
  using _ = scene.server.onCommit(({ resource, before, after }) => {
    if ((after ?? before)?.metadata.namespace === "billing") written.push(resource.plural);
  });
  await scene.clock.advance(2 * MINUTE);
  expect(valuesOf(scene)).toEqual({ shop: "db@1", billing: "db@1" });
  expect(await unavailable(scene)).toEqual({ shop: 0, billing: 1 });
  expect(written).toEqual([]);
  expect(
    scene.vault("billing").listedAt.filter((at) => at > scene.clock.monotonic() - MINUTE),
  ).toEqual([]);
  scene.allow();
  await scene.clock.advance(BACK_MS);
  expect(valuesOf(scene)).toEqual({ shop: "db@1", billing: "db@2" });
});

test("a namespace whose permissions go keeps its targets, and is synced when they are back", async () => {
  await using scene = await started();
  scene.deny("billing");
  scene.vault("billing").write("db");
  scene.vault("shop").write("db");
  await scene.clock.advance(10 * MINUTE);
  expect(valuesOf(scene)).toEqual({ shop: "db@2", billing: "db@1" });
  expect(await unavailable(scene)).toEqual({ shop: 0, billing: 1 });
  scene.allow();
  await scene.clock.advance(5 * MINUTE);
  expect(valuesOf(scene)).toEqual({ shop: "db@2", billing: "db@2" });
  expect(await unavailable(scene)).toEqual({ shop: 0, billing: 0 });
  expect(scene.condition("Ready", "db", "billing")?.status).toBe("True");
});

test("a namespace that is deleted is gone, and the others are served by the next operator", async () => {
  await using scene = await started();
  const ref = { namespace: "billing", name: "db" };
  scene.server.delete(vaultSecretKind, ref);
  scene.server.delete(SECRETS, ref);
  scene.server.erase(NAMESPACE_KIND, { name: "billing" });
  scene.deny("billing");
  await scene.clock.advance(MINUTE);
  await scene.restart(() => scene.vault("shop").write("db"), BOTH);
  await scene.clock.advance(2 * MINUTE);
  expect(scene.isReady).toBe(true);
  expect(valuesOf(scene)).toEqual({ shop: "db@2", billing: undefined });
});

test("a namespace is served after it was added to the file", async () => {
  const scene = twoNamespaces();
  await using _ = scene;
  scene.namespacesFile = "shop\n";
  scene.start(FROM_FILE);
  await scene.clock.advance(MINUTE);
  expect(valuesOf(scene)).toEqual({ shop: "db@1", billing: undefined });
  expect(await unavailable(scene)).toEqual({ shop: 0 });
  scene.namespacesFile = "shop\nbilling\n";
  await scene.clock.advance(MINUTE);
  expect(valuesOf(scene)).toEqual({ shop: "db@1", billing: "db@1" });
});

test("a namespace that is removed from the file keeps its targets and ends its sessions", async () => {
  await using scene = await started(FROM_FILE);
  // One watch is of the operator's namespace.
  const watches = scene.server.watches().length - 1;
  scene.namespacesFile = "shop";
  await scene.clock.advance(MINUTE);
  scene.resetMeasurements();
  for (const namespace of ["shop", "billing"]) scene.vault(namespace).write("db");
  await scene.clock.advance(10 * MINUTE);
  expect(valuesOf(scene)).toEqual({ shop: "db@2", billing: "db@1" });
  expect(await unavailable(scene)).toEqual({ shop: 0 });
  expect(scene.vault("billing").listedAt).toEqual([]);
  expect(scene.server.watches()).toHaveLength(1 + watches / 2);

  scene.namespacesFile = "billing,shop";
  await scene.clock.advance(MINUTE);
  expect(valuesOf(scene)).toEqual({ shop: "db@2", billing: "db@2" });
});

test("a namespace that is removed and added again is not written if nothing changed", async () => {
  await using scene = await started(FROM_FILE);
  const ref = { namespace: "billing", name: "db" };
  const versions = (): unknown =>
    [SECRETS, vaultSecretKind].map(
      (resource) => scene.server.get(resource, ref).metadata.resourceVersion,
    );
  const before = versions();
  scene.namespacesFile = "shop";
  await scene.clock.advance(MINUTE);
  scene.namespacesFile = "shop, billing";
  await scene.clock.advance(MINUTE);
  expect(versions()).toEqual(before);
});

test("a namespace that is denied and removed from the file is no problem any more", async () => {
  await using scene = await started(FROM_FILE);
  scene.deny("billing");
  await scene.clock.advance(MINUTE);
  expect(scene.problems.text).toContain("billing");
  scene.namespacesFile = "shop";
  await scene.clock.advance(MINUTE);
  expect(scene.problems.text).toBeUndefined();
  expect(await unavailable(scene)).toEqual({ shop: 0 });
});

test.each(["", "shop,Billing!"])(
  "the file %j changes nothing while the operator runs",
  async (text) => {
    await using scene = await started(FROM_FILE);
    scene.namespacesFile = text;
    scene.vault("billing").write("db");
    await scene.clock.advance(2 * MINUTE);
    expect(valuesOf(scene)).toEqual({ shop: "db@1", billing: "db@2" });
    expect(loggedBy(scene)).toEqual(["list of namespaces cannot be used, keeping the last one"]);
  },
);

test("workloads of a namespace are restarted although those of another one cannot be listed", async () => {
  await using scene = twoNamespaces();
  for (const namespace of ["shop", "billing"]) {
    const template = { metadata: {}, spec: { containers: [] } };
    scene.server.create(DEPLOYMENTS, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace, name: "app" },
      spec: { template },
    });
    const rolloutRestart = [{ kind: "Deployment", name: "app" }];
    const ref = { namespace, name: "db" };
    scene.server.patch(
      vaultSecretKind,
      { ...ref, ...scene.server.get(vaultSecretKind, ref).metadata },
      { spec: { rolloutRestart } },
    );
  }
  scene.deny("billing/deployments");
  scene.start(BOTH);
  await scene.clock.advance(MINUTE);
  for (const namespace of ["shop", "billing"]) scene.vault(namespace).write("db");
  await scene.clock.advance(3 * MINUTE);
  expect(valuesOf(scene)).toEqual({ shop: "db@2", billing: "db@2" });
  const restarts = ["shop", "billing"].map(
    (namespace) => scene.server.get(vaultSecretKind, { namespace, name: "db" })["status"],
  );
  expect(restarts).toMatchObject([
    { restarts: [{ name: "app" }] },
    {
      restarts: [
        {
          name: "app",
          result: "Failed",
          message: expect.stringContaining("deploy/namespaced/tenant"),
        },
      ],
    },
  ]);
  expect(
    JSON.stringify(scene.server.get(DEPLOYMENTS, { namespace: "shop", name: "app" })["spec"]),
  ).toContain("vaultsync.dev/content");
  scene.allow();
  await scene.clock.advance(6 * MINUTE);
  expect(
    JSON.stringify(
      scene.server.get(vaultSecretKind, { namespace: "billing", name: "db" })["status"],
    ),
  ).not.toContain("may not list");
});

test("workloads of a namespace that is removed and added again are restarted", async () => {
  await using scene = twoNamespaces();
  const ref = { namespace: "billing", name: "db" };
  const template = { metadata: {}, spec: { containers: [] } };
  const metadata = { namespace: "billing", name: "app" };
  scene.server.create(DEPLOYMENTS, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: { template },
  });
  const rolloutRestart = [{ kind: "Deployment", name: "app" }];
  scene.server.patch(
    vaultSecretKind,
    { ...ref, ...scene.server.get(vaultSecretKind, ref).metadata },
    { spec: { rolloutRestart } },
  );
  scene.start(FROM_FILE);
  await scene.clock.advance(MINUTE);
  for (const file of ["shop", "shop,billing"]) {
    scene.namespacesFile = file;
    await scene.clock.advance(MINUTE);
  }
  scene.vault("billing").write("db");
  await scene.clock.advance(3 * MINUTE);
  expect(JSON.stringify(scene.server.get(DEPLOYMENTS, metadata)["spec"])).toContain(
    "vaultsync.dev/content",
  );
});
