import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { responseError } from "../../src/operator/kube/client/response-error.ts";
import type { ApiAccess } from "../lab/control-plane/api-request.ts";
import type { ControlPlane } from "../lab/control-plane/control-plane.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { sharedControlPlane } from "../lab/kube/control-plane.ts";
import {
  type HostileWrite,
  hostileWrites,
  ownWrites,
  type Write,
} from "./support/hostile-writes.ts";
import {
  controllers,
  objects,
  overlayFor,
  policiesIn,
  type Manifest,
  type Policy,
  tryWrite,
  withoutValidation,
} from "./support/policy-scene.ts";
import { workload } from "../lab/real/workloads.ts";
import { SERVICE_ACCOUNT } from "../lab/real/world.ts";

/**
 * A client with the token of the operator and bad intent, on an API server with deploy/policies.
 * Every write is a dry run.
 */
const own = SERVICE_ACCOUNT.namespace;
const MERGE_MANAGER = "fieldManager=vaultsync%3AVaultSecret%2Fdb";

let plane: ControlPlane;
let namespace: string;
/** Namespace of the operators whose policies lack a validation. */
let lenient: string;
let operator: ApiAccess;

beforeAll(async () => {
  plane = await sharedControlPlane();
  namespace = await plane.createNamespace("policies");
  lenient = await plane.createNamespace("lenient");
  await plane.apply(controllers, namespace);
  const uid = [
    "get",
    "vaultsecret/db",
    "configmap/foreign",
    "-o",
    "jsonpath={.items[*].metadata.uid}",
  ];
  await plane.apply(
    objects((await plane.kubectl(uid, { namespace })).stdout.split(" ")),
    namespace,
  );
  await plane.apply([workload("Deployment", "web")], "kube-system");
  // As large as an object can be: the API server limits the cost of an expression.
  const many = Array.from({ length: 12_000 }, (_, index) => [
    `key-${index}`,
    Buffer.alloc(64, index).toString("base64"),
  ]);
  const large = { metadata: { name: "large" }, data: Object.fromEntries(many) };
  await plane.request("POST", `/api/v1/namespaces/${namespace}/secrets`, large);
  const ours = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "merged" },
    data: { ours: "b3Vycw==" },
  };
  const path = `/api/v1/namespaces/${namespace}/secrets/merged?${MERGE_MANAGER}`;
  await plane.request("PATCH", path, ours, { "content-type": "application/apply-patch+yaml" });
  operator = { ...plane.access, token: await plane.serviceAccountToken(SERVICE_ACCOUNT) };
  const [unlabeled] = hostileWrites;
  await waitUntil(
    "the policies are in force",
    async () => (await send(unlabeled as HostileWrite)).status === 403,
  );
});
afterAll(async () => {
  await plane.kubectl(
    ["patch", "vaultpush/push", "--type=merge", "-p", '{"metadata":{"finalizers":[]}}'],
    { namespace },
  );
  for (const name of [namespace, lenient])
    await plane.request("DELETE", `/api/v1/namespaces/${name}`);
  await plane.kubectl(["delete", "deployment/web"], { namespace: "kube-system" });
});

const send = (write: Write) => tryWrite(operator, write, { namespace, own });
const messageOf = ({ body }: { readonly body: string }): string =>
  z.object({ message: z.string() }).parse(JSON.parse(body)).message;
const succeeds = ({ status }: { readonly status: number }): boolean =>
  status === 200 || status === 201;

test.each(hostileWrites.filter(({ isBeyondRbac }) => !isBeyondRbac))(
  "the token of the operator cannot $name: $policy",
  async (write) => {
    const { status, body } = await send(write);
    const { kind, deniedBy } = responseError({
      operation: write.name,
      status,
      body: JSON.parse(body),
      now: 0,
    });
    expect({ kind, deniedBy, message: messageOf({ body }) }).toEqual({
      kind: "Forbidden",
      deniedBy: `the ValidatingAdmissionPolicy ${write.policy}`,
      message: expect.stringContaining(write.message),
    });
  },
);

test("tokens of ServiceAccounts cannot be created with the token of the operator", async () => {
  const metadata = {
    name: "minted",
    annotations: { "kubernetes.io/service-account.name": "default" },
  };
  const body = { metadata, type: "kubernetes.io/service-account-token" };
  const response = await send({
    name: "",
    method: "POST",
    path: "/api/v1/namespaces/NAMESPACE/secrets",
    body,
  });
  expect(response.status).toBe(403);
  expect(messageOf(response)).toEqual(expect.stringContaining("vaultsync-operator-"));
});

test.each(ownWrites)("the token of the operator can $name", async (write) => {
  const { status, body } = await send(write);
  // The operator of another test may have created the content key: admission comes first.
  const isAdmitted =
    succeeds({ status }) || (status === 409 && body.includes("vaultsync-content-key"));
  expect(isAdmitted, body).toBe(true);
});

test("the policies concern the operator only: an administrator can make each of these writes", async () => {
  for (const write of hostileWrites) {
    const response = await tryWrite(plane.access, write, { namespace, own });
    expect(succeeds(response), `${write.name}: ${response.body}`).toBe(true);
  }
});

/** A validation that was removed from a policy for a ServiceAccount that may do anything. */
interface Removed {
  readonly policy: Policy;
  readonly index: number;
  readonly account: string;
}

const rbac = "rbac.authorization.k8s.io";

/** Gives all permissions to all ServiceAccounts of a namespace. */
const administratorsOf = (name: string): Manifest => ({
  apiVersion: `${rbac}/v1`,
  kind: "ClusterRoleBinding",
  metadata: { name },
  roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ apiGroup: rbac, kind: "Group", name: `system:serviceaccounts:${name}` }],
});

const pathOf = ({ apiVersion, kind }: Manifest): string =>
  `/apis/${apiVersion}/${kind.toLowerCase().replace(/y$/u, "ie")}s`;

test("without one of its validations, a policy allows what that validation denies", async () => {
  const overlay = await overlayFor(plane, lenient);
  // Another name and namespace of the ServiceAccount are everywhere.
  expect(overlay).not.toContain("vaultsync-system");
  const policies = policiesIn(overlay);
  // The API server converts the object of each write for each policy that concerns its resource.
  const resources = policies.flatMap(({ spec }) =>
    spec.matchConstraints.resourceRules.flatMap((rule) => rule.resources),
  );
  expect(resources.toSorted()).toEqual([
    "*",
    "configmaps",
    "daemonsets",
    "deployments",
    "rollouts",
    "secrets",
    "statefulsets",
  ]);
  const removed: readonly Removed[] = policies.flatMap((policy) =>
    policy.spec.validations.map((_, index) => ({
      policy,
      index,
      account: `${policy.metadata.name}-${index}`,
    })),
  );
  const variants = removed.flatMap(({ policy, index, account }) =>
    withoutValidation(policy, index, `${account}-${namespace}`, account),
  );
  const all = [administratorsOf(lenient), ...variants];
  try {
    await Promise.all(all.map((object) => plane.request("POST", pathOf(object), object)));
    await Promise.all(removed.map(checkRemoved));
  } finally {
    await Promise.all(
      all.map((object) => plane.request("DELETE", `${pathOf(object)}/${object.metadata.name}`)),
    );
  }
});

async function checkRemoved({ policy, index, account }: Removed): Promise<void> {
  const as = `system:serviceaccount:${lenient}:${account}`;
  const attempt = (write: Write) => tryWrite(plane.access, write, { namespace, own: lenient, as });
  const writes = hostileWrites.filter((write) => `my-${write.policy}` === policy.metadata.name);
  const message = policy.spec.validations[index]?.message ?? "";
  const isOfThis = (write: HostileWrite): boolean => message.includes(write.message);
  const other = writes.find((write) => !isOfThis(write)) as HostileWrite;
  await waitUntil(`${account} is in force`, async () => (await attempt(other)).status === 403);
  const allowed = writes.filter(isOfThis);
  expect(allowed.length, message).toBeGreaterThan(0);
  for (const write of allowed) {
    const response = await attempt(write);
    expect(succeeds(response), `${write.name}: ${response.body}`).toBe(true);
  }
}
