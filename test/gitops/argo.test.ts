import { afterAll, beforeAll, describe, expect, test, inject } from "vitest";
import { z } from "zod";
import { join } from "node:path";
import { healthOf } from "../e2e/support/health.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { manifestOf, type ControlPlane } from "../lab/control-plane/control-plane.ts";
import { Workloads } from "../lab/real/workloads.ts";
import { World } from "../lab/real/world.ts";
import { OPERATOR, resourcesOf, storeSources } from "./support/resources.ts";
import { runToEnd } from "../lab/processes/run-to-end.ts";

const comparison = z.object({ modified: z.boolean(), live: z.unknown(), predicted: z.unknown() });
const ways = z.object({ threeWay: comparison, structured: comparison, serverSide: comparison });

/** The results of Argo CD's ways to compare an object. */
type Comparisons = z.output<typeof ways>;

/** Compares objects of a cluster with their manifests, as Argo CD does. */
async function compareAsArgo(
  plane: ControlPlane,
  pairs: readonly { readonly config: unknown; readonly live: unknown }[],
): Promise<Comparisons[]> {
  const program = join(inject("gitOpsPrograms").argo, "argo-diff");
  const env = { KUBECONFIG: plane.kubeconfigPath };
  const input = pairs.map((pair) => `${JSON.stringify(pair)}\n`).join("");
  const { stdout, stderr } = await runToEnd(program, [], { env, input });
  if (stderr !== "") throw new Error(stderr);
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => ways.parse(JSON.parse(line)));
}

const manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});
type Manifest = z.output<typeof manifest>;

const MANAGER = "--field-manager=argocd-controller";
const unchanged = { threeWay: false, structured: false, serverSide: false };

describe.each([
  ["kubectl apply", []],
  ["server-side apply", ["--server-side", "--force-conflicts"]],
])("objects that Argo CD wrote by %s", (_, flags) => {
  let world: World;
  let manifests: Manifest[];
  beforeAll(async () => {
    world = await World.create();
    await storeSources(world);
    manifests = resourcesOf(world).map((object) => tracked(manifest.parse(object)));
    await world.plane.kubectlOutput(["apply", ...flags, MANAGER, "--filename=-"], {
      input: manifestOf(manifests),
    });
    await using _pods = new Workloads(world.plane, world.namespace).runPods();
    await world.startOperator(OPERATOR);
    for (const [kind, name] of [
      ["VaultConnection", "git"],
      ["VaultSecret", "db"],
      ["VaultFile", "web"],
      ["VaultPush", "pushed"],
    ] as const)
      await world.ready(kind, name);
    const next = world.canaries.text("next");
    await world.protect("db", next);
    await world.has("db", "password", next);
    const workloads = new Workloads(world.plane, world.namespace);
    await waitUntil("the app was restarted", async () => (await workloads.templates("app")) > 1);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** Returns a manifest of the namespace as Argo CD applies it. */
  const tracked = (object: Manifest): Manifest => {
    const { kind, metadata } = object;
    const { namespace } = world;
    const id = `shop:${object.apiVersion}/${kind}:${namespace}/${metadata.name}`;
    const labels = { "app.kubernetes.io/instance": "shop" };
    const annotations = { "argocd.argoproj.io/tracking-id": id };
    return { ...object, metadata: { ...metadata, namespace, labels, annotations } };
  };

  const live = async ({ kind, metadata: { name } }: Manifest): Promise<unknown> =>
    JSON.parse(
      await world.plane.kubectlOutput(
        ["get", kind, name, "--output=json", "--show-managed-fields"],
        {
          namespace: world.namespace,
        },
      ),
    );

  /** Returns which ways report a difference, by the name of the object. */
  async function differences(): Promise<Record<string, Record<keyof Comparisons, boolean>>> {
    const pairs = await Promise.all(
      manifests.map(async (config) => ({ config, live: await live(config) })),
    );
    const compared = await compareAsArgo(world.plane, pairs);
    return Object.fromEntries(
      compared.map(({ threeWay, structured, serverSide }, at) => [
        manifests[at]?.metadata.name ?? "",
        {
          threeWay: threeWay.modified,
          structured: structured.modified,
          serverSide: serverSide.modified,
        },
      ]),
    );
  }

  test("are in sync while the operator works, and healthy", async () => {
    expect(await differences()).toEqual(
      Object.fromEntries(manifests.map(({ metadata: { name } }) => [name, unchanged])),
    );
    const own = manifests.filter(({ apiVersion }) => apiVersion.startsWith("vaultsync.dev/"));
    const health = await healthOf(await Promise.all(own.map(live)));
    expect(health.map(({ argo, kstatus }) => [argo.status, kstatus.status])).toEqual(
      own.map(() => ["Healthy", "Current"]),
    );
  });

  test("are followed by targets without the marks of the Application", async () => {
    const targets = [await world.get("Secret", "db"), await world.get("ConfigMap", "web")];
    const metadata = JSON.stringify(targets.map((target) => target?.metadata));
    expect(metadata).toContain("vaultsync.dev/owner");
    expect(metadata).not.toContain("argocd.argoproj.io");
    expect(metadata).not.toContain("app.kubernetes.io/instance");
  });

  test("differ after a spec was changed", async () => {
    await world.patch("VaultSecret", "db", { spec: { connectionRef: { name: "vault" } } });
    expect(await differences()).toMatchObject({
      db: { threeWay: true, structured: true, serverSide: true },
      web: unchanged,
    });
  });
});
