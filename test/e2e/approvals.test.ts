import { readFile } from "node:fs/promises";
import { parseAllDocuments } from "yaml";
import { beforeAll, expect, test } from "vitest";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { apiRequest, type ApiResponse } from "../lab/control-plane/api-request.ts";
import type { ControlPlane } from "../lab/control-plane/control-plane.ts";
import { sharedControlPlane } from "../lab/kube/control-plane.ts";
import { vaultSecret } from "../lab/real/resources.ts";

/** Users of a namespace on an API server with deploy/cluster, and who may approve versions there. */
const roles = { editor: "vaultsync-edit", approver: "vaultsync-approve" };
type User = keyof typeof roles;

let plane: ControlPlane;
let namespace: string;

beforeAll(async () => {
  plane = await sharedControlPlane();
  for (const file of ["approval-policy", "user-roles"]) {
    const text = await readFile(`deploy/chart/files/cluster/${file}.yaml`, "utf8");
    await plane.apply(parseAllDocuments(text).map((document) => document.toJS() as object));
  }
  namespace = await plane.createNamespace("approvals");
  await plane.apply(
    Object.entries(roles).map(([user, role]) => ({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: user },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
    })),
    namespace,
  );
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
    const [denied, allowed] = [
      await annotate("editor", "waiting", "digest-0"),
      await annotate("approver", "waiting", "digest-0"),
    ];
    return denied.status === 403 && allowed.status === 200;
  });
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
