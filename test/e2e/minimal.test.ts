import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import type { AuditEvent } from "../lab/control-plane/audit.ts";
import { type ControlPlane } from "../lab/control-plane/control-plane.ts";
import { sharedControlPlane } from "../lab/kube/control-plane.ts";
import { manifestsOf, permissionOf, permissionsOf } from "../lab/real/granted.ts";
import { World } from "../lab/real/world.ts";
import { vaultSecret } from "../lab/real/resources.ts";

/**
 * An operator with the arguments and the permissions of deploy/overlays/minimal, and no others.
 * Other tests use the rest of the cluster, so it serves one namespace.
 */
const Pods = z.object({
  template: z.object({
    spec: z.object({ containers: z.tuple([z.object({ args: z.array(z.string()) })]) }),
  }),
});

let plane: ControlPlane;
let operatorNamespace: string;
let manifests: Awaited<ReturnType<typeof manifestsOf>>;
let world: World;
let mark: number;

beforeAll(async () => {
  plane = await sharedControlPlane();
  operatorNamespace = await plane.createNamespace("minimal");
  manifests = await manifestsOf(plane, "deploy/overlays/minimal", operatorNamespace);
  // The rules of the cluster stay as in deploy/base for other tests: these rules get separate
  // names.
  const rbac = JSON.stringify(
    manifests.filter((manifest) => isRbac(manifest.kind) && !isOfUsers(manifest)),
  ).replaceAll('"name":"vaultsync', `"name":"${operatorNamespace}`);
  const input = `{"apiVersion":"v1","kind":"List","items":${rbac}}`;
  await plane.kubectlOutput(["apply", "-f", "-"], { input });
  mark = await plane.auditMark();
  world = await World.create({
    account: { serviceAccount: operatorNamespace, namespace: operatorNamespace },
  });
  await world.startClusterOperator([...args(), "--namespaces", world.namespace]);
});

afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await plane.kubectl([
    "delete",
    "clusterrolebinding,clusterrole",
    operatorNamespace,
    `${operatorNamespace}-cluster-connections`,
  ]);
  await plane.request("DELETE", `/api/v1/namespaces/${operatorNamespace}`);
});

const isRbac = (kind: string): boolean =>
  kind === "ServiceAccount" || /^(?:Cluster)?Role(?:Binding)?$/u.test(kind);

/** Reports whether this is a role of deploy/cluster that no binding gives to the operator. */
const isOfUsers = ({ kind, metadata: { name } }: (typeof manifests)[number]): boolean =>
  kind === "ClusterRole" &&
  !manifests.some((other) => other.kind === "ClusterRoleBinding" && other.metadata.name === name);

/** Returns the arguments of the overlay after the command, without the address of the pod. */
function args(): string[] {
  const deployment = manifests.find(({ kind }) => kind === "Deployment");
  const [container] = Pods.parse(deployment?.["spec"]).template.spec.containers;
  return container.args.slice(1).filter((arg) => !arg.startsWith("--listen="));
}

async function requests(): Promise<AuditEvent[]> {
  const user = `system:serviceaccount:${operatorNamespace}:${operatorNamespace}`;
  return (await plane.auditEvents({ since: mark })).filter((event) => event.user.username === user);
}

test("deploy/overlays/minimal grants everything of deploy/base but list and watch on Secrets", async () => {
  const base = permissionsOf(await manifestsOf(plane, "deploy/base", operatorNamespace));
  const operator = manifests.filter((manifest) => !isOfUsers(manifest));
  expect([...base].filter((one) => !permissionsOf(operator).has(one))).toEqual([
    "list /secrets",
    "watch /secrets",
  ]);
  expect([...permissionsOf(operator)].filter((one) => !base.has(one))).toEqual([]);
  expect(args()).toEqual(["--target-watch=off"]);
});

test("without list and watch on Secrets, targets are created, repaired, changed and moved", async () => {
  const first = world.canaries.text("first");
  await world.protect("unwatched", first);
  await world.apply(vaultSecret("unwatched", { password: "unwatched" }, { name: "unwatched-1" }));
  await world.has("unwatched-1", "password", first);
  await world.ready("VaultSecret", "unwatched");

  const { namespace } = world;
  await plane.kubectl(["delete", "secret", "unwatched-1"], { namespace });
  const next = world.canaries.text("next");
  await world.protect("unwatched", next);
  await world.has("unwatched-1", "password", next, 40_000);

  await world.apply(vaultSecret("unwatched", { password: "unwatched" }, { name: "unwatched-2" }));
  await world.until("Secret", "unwatched-2", () => true);
  await world.gone("Secret", "unwatched-1");
});

test("the operator neither lists nor watches Secrets, and no request of it is denied", async () => {
  await world.operator.stop();
  const ours = await requests();
  expect(ours.map(permissionOf)).toContain("get /secrets");
  expect(
    ours.filter(
      ({ objectRef, verb }) => objectRef?.resource === "secrets" && /^(list|watch)$/.test(verb),
    ),
  ).toEqual([]);
  expect(
    ours.filter(({ responseStatus }) => responseStatus?.code === 403).map(permissionOf),
  ).toEqual([]);
});
