import { readFile } from "node:fs/promises";
import { parseAllDocuments } from "yaml";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { apiRequest, type ApiResponse } from "../lab/control-plane/api-request.ts";
import type { ControlPlane } from "../lab/control-plane/control-plane.ts";
import { sharedControlPlane } from "../lab/kube/control-plane.ts";
import { fannedOut, vaultSecret } from "../lab/real/resources.ts";

/** Users of a namespace on an API server with deploy/cluster, and who may approve versions there. */
const roles = { editor: "vaultsync-edit", approver: "vaultsync-approve" };
/** The same for the cluster-scoped kinds. */
const clusterRoles = {
  "cluster-editor": "vaultsync-cluster-edit",
  "cluster-approver": "vaultsync-cluster-approve",
};
type User = keyof typeof roles | keyof typeof clusterRoles;
const RBAC = "rbac.authorization.k8s.io";
const CLUSTER_SECRETS = "/apis/vaultsync.dev/v1alpha1/clustervaultsecrets";

/** Returns what binds a role to a user. */
const binding = (kind: string) => (entry: readonly [user: string, role: string]) => ({
  apiVersion: `${RBAC}/v1`,
  kind,
  metadata: { name: entry[0] },
  roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: entry[1] },
  subjects: [{ apiGroup: RBAC, kind: "User", name: entry[0] }],
});

let plane: ControlPlane;
let namespace: string;

beforeAll(async () => {
  plane = await sharedControlPlane();
  for (const file of ["approval-policy", "user-roles"]) {
    const text = await readFile(`deploy/chart/files/cluster/${file}.yaml`, "utf8");
    await plane.apply(parseAllDocuments(text).map((document) => document.toJS() as object));
  }
  namespace = await plane.createNamespace("approvals");
  await plane.apply(Object.entries(roles).map(binding("RoleBinding")), namespace);
  await plane.apply(Object.entries(clusterRoles).map(binding("ClusterRoleBinding")));
  await plane.apply([fannedOut("ClusterVaultSecret", namespace, "corporate", { password: "a" })]);
  await plane.apply(
    [
      vaultSecret("waiting", { password: "a" }),
      {
        ...vaultSecret("approved", { password: "b" }),
        metadata: { name: "approved", annotations: { "vaultsync.dev/approve": "digest-1" } },
      },
    ],
    namespace,
  );
  await waitUntil("roles and policy are in force", async () => {
    const [denied, allowed, ofCluster] = [
      await annotate("editor", "waiting", "digest-0"),
      await annotate("approver", "waiting", "digest-0"),
      await annotateOfCluster("cluster-approver", "digest-0"),
    ];
    return denied.status === 403 && allowed.status === 200 && ofCluster.status === 200;
  });
});
afterAll(async () => {
  await plane.request("DELETE", `${CLUSTER_SECRETS}/${namespace}`);
  for (const user of Object.keys(clusterRoles))
    await plane.request("DELETE", `/apis/${RBAC}/v1/clusterrolebindings/${user}`);
});

const collection = (): string =>
  `/apis/vaultsync.dev/v1alpha1/namespaces/${namespace}/vaultsecrets`;

/** Sends a write that the API server checks and does not execute. */
const send = (user: User, method: string, path: string, body: object): Promise<ApiResponse> =>
  apiRequest(plane.access, {
    method,
    path: `${path}?dryRun=All`,
    body,
    headers: {
      "impersonate-user": user,
      ...(method === "PATCH" && { "content-type": "application/merge-patch+json" }),
    },
  });

const annotate = (user: User, name: string, digest: string | null, spec?: object) =>
  send(user, "PATCH", `${collection()}/${name}`, {
    metadata: { annotations: { "vaultsync.dev/approve": digest } },
    ...(spec && { spec }),
  });

/** Sets the annotation of the cluster-scoped resource: its name is the one of the namespace. */
const annotateOfCluster = (user: User, digest: string | null, spec?: object) =>
  send(user, "PATCH", `${CLUSTER_SECRETS}/${namespace}`, {
    metadata: { annotations: { "vaultsync.dev/approve": digest } },
    ...(spec && { spec }),
  });

test.each([
  ["approve versions", () => annotate("editor", "waiting", "digest-1")],
  ["approve other versions", () => annotate("editor", "approved", "digest-2")],
  [
    "approve versions of a new resource",
    () =>
      send("editor", "POST", collection(), {
        ...vaultSecret("new", { password: "a" }),
        metadata: { name: "new", annotations: { "vaultsync.dev/approve": "digest-1" } },
      }),
  ],
  [
    "approve versions of a cluster-scoped resource",
    () => annotateOfCluster("cluster-editor", "digest-1"),
  ],
])("a user without the verb approve cannot %s", async (_, write) => {
  const { status, body } = await write();
  expect(status).toBe(403);
  expect(body).toContain("ask for a binding of the ClusterRole vaultsync-approve");
});

test.each([
  ["change the spec of an approved resource", "approved", "digest-1"],
  ["take an approval back", "approved", null],
  ["change a resource that waits for an approval", "waiting", null],
] as const)("a user without the verb approve can %s", async (_, name, digest) => {
  const response = await annotate("editor", name, digest, { suspend: true });
  expect(response.status, response.body).toBe(200);
});

test("a user with the verb approve can approve versions", async () => {
  const response = await annotate("approver", "approved", "digest-2");
  expect(response.status, response.body).toBe(200);
});

test("an editor of the cluster-scoped kinds can change what an approval waits for", async () => {
  const response = await annotateOfCluster("cluster-editor", null, { suspend: true });
  expect(response.status, response.body).toBe(200);
});

test.each(["editor", "approver"] as const)(
  "the %s of a namespace has no permission for a cluster-scoped resource",
  async (user) => {
    const response = await annotateOfCluster(user, "digest-1");
    expect(response.status).toBe(403);
    expect(response.body).toContain("cannot patch resource");
  },
);

test("a user with the verb approve on the cluster-scoped kinds can approve versions", async () => {
  const response = await annotateOfCluster("cluster-approver", "digest-2");
  expect(response.status, response.body).toBe(200);
});
