import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubeClient } from "../../../src/operator/kube/client/kube-client.ts";
import {
  CONFIG_MAPS,
  type KubeObject,
  LEASES,
  SECRETS,
} from "../../../src/operator/kube/resource.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { runInProcess } from "../../lab/real/processes/run-in-process.ts";
import { connect } from "../kube/connect.ts";

const forever = new AbortController().signal;
const rule = (apiGroups: string[], resources: string[], verbs: string[]): object => ({
  apiGroups,
  resources,
  verbs,
});
/** More than a page of a list. */
const MANY = 501;

let plane: ControlPlane;
let client: KubeClient;
let namespace: string;

beforeAll(async () => {
  plane = await sharedControlPlane();
  client = await connect(plane.kubeconfigPath);
  namespace = await plane.createNamespace("cli-release");
});
afterAll(() => client[Symbol.asyncDispose]());

const release = (kubeconfig: string, ...args: readonly string[]) =>
  runInProcess([
    "release",
    "--kubeconfig",
    kubeconfig,
    "-n",
    namespace,
    "--operator-namespace",
    namespace,
    ...args,
  ]);

function target(kind: string, name: string): KubeObject {
  const annotations = {
    "vaultsync.dev/owner": `VaultSecret/${name}`,
    "vaultsync.dev/content": "digest",
  };
  return {
    apiVersion: "v1",
    kind,
    metadata: {
      namespace,
      name,
      annotations,
      labels: { "app.kubernetes.io/managed-by": "vaultsync" },
    },
  };
}

async function apply(object: object): Promise<void> {
  const { code, stderr } = await plane.kubectl(["apply", "-f", "-"], {
    namespace,
    input: JSON.stringify(object),
  });
  expect(code, stderr).toBe(0);
}

test("what could not be released is reported, and released when the command is repeated", async () => {
  const names = Array.from({ length: MANY }, (_, n) => `many-${n}`);
  await Promise.all(
    names.map((name) => client.create(CONFIG_MAPS, target("ConfigMap", name), forever)),
  );
  await client.create(SECRETS, target("Secret", "db"), forever);
  const account = "mover";
  await apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: account } });
  await apply({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: account },
    rules: [
      rule([""], ["configmaps"], ["get", "list", "patch"]),
      rule([""], ["secrets"], ["list"]),
      rule(["coordination.k8s.io"], ["leases"], ["list"]),
      rule(["vaultsync.dev"], ["vaultpushes"], ["list"]),
    ],
  });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: account };
  const subjects = [{ kind: "ServiceAccount", name: account, namespace }];
  await apply({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: account },
    roleRef,
    subjects,
  });

  const mover = await plane.kubeconfigFor({ serviceAccount: account, namespace });
  const denied = await runInProcess(["release", "--kubeconfig", mover, "-n", namespace]);
  expect(denied).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("name the operator's namespace with --operator-namespace"),
  });
  const half = await release(mover, "--confirm");
  expect(half.code).toBe(1);
  expect(half.stdout.split("\n").filter((line) => line.endsWith(" released"))).toHaveLength(MANY);
  expect(half.stdout).toMatch(/Secret\/db +VaultSecret\/db +failed: .*Forbidden/u);
  expect(half.stderr).toContain(`released ${MANY} of ${MANY + 1} objects\n`);
  expect(half.stderr).toContain(
    "1 objects were not released: run the command again before you delete anything",
  );

  const rest = await release(plane.kubeconfigPath, "--confirm");
  expect(rest.code).toBe(0);
  expect(rest.stderr).toBe("released 1 of 1 objects\n");
  const again = await release(plane.kubeconfigPath);
  expect(again).toEqual({
    code: 0,
    stdout: "",
    stderr: `nothing to release in namespace ${namespace}\n`,
  });
  const { metadata } = await client.get(SECRETS, { namespace, name: "db" }, forever);
  expect(metadata.annotations).toBeUndefined();
  expect(metadata.labels).toBeUndefined();
});

test("a Lease of an operator that was killed does not prevent a release when it has expired", async () => {
  const spec = {
    holderIdentity: "killed",
    leaseDurationSeconds: 2,
    renewTime: "2099-01-01T00:00:00.000000Z",
  };
  const lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace, name: "vaultsync" },
    spec,
  };
  await client.create(LEASES, lease, forever);
  await client.create(SECRETS, target("Secret", "late"), forever);
  expect(await release(plane.kubeconfigPath, "--confirm")).toMatchObject({
    code: 0,
    stderr: "released 1 of 1 objects\n",
  });
});
