import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import {
  apiRequest,
  type ApiAccess,
  type ApiResponse,
} from "../../lab/control-plane/api-request.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import type { Write } from "./hostile-writes.ts";
import { workload } from "../../lab/real/workloads.ts";
import { vaultSecret } from "../../lab/real/resources.ts";

const root = join(import.meta.dirname, "../../..");

/** An object of the cluster. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly [field: string]: unknown;
}

const Policy = z.looseObject({
  apiVersion: z.string(),
  kind: z.literal("ValidatingAdmissionPolicy"),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    matchConstraints: z.looseObject({
      resourceRules: z.array(z.looseObject({ resources: z.array(z.string()) })),
    }),
    matchConditions: z.array(z.object({ name: z.string(), expression: z.string() })),
    validations: z.array(z.looseObject({ expression: z.string(), message: z.string() })),
  }),
});
export type Policy = z.output<typeof Policy>;

/** Returns the install of an overlay whose ServiceAccount is `my-vaultsync` in this namespace. */
export async function overlayFor(plane: ControlPlane, namespace: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "vaultsync-overlay-"));
  const path = (from: string, to: string): string =>
    relative(join(folder, from), join(root, "deploy", to));
  const files = {
    "operator/kustomization.yaml": {
      namespace,
      namePrefix: "my-",
      resources: [path("operator", "overlays/cluster-wide")],
    },
    "kustomization.yaml": { resources: ["operator"], components: [path("", "policies/identity")] },
  };
  try {
    await mkdir(join(folder, "operator"));
    for (const [name, object] of Object.entries(files))
      await writeFile(join(folder, name), JSON.stringify(object));
    return await plane.kubectlOutput(["kustomize", folder]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Returns the policies that limit the operator of an overlay. */
export function policiesIn(overlay: string): Policy[] {
  const policies = parseAllDocuments(overlay).flatMap(
    (document) => Policy.safeParse(document.toJS()).data ?? [],
  );
  return policies.filter(({ metadata }) => metadata.name.startsWith("my-vaultsync-operator-"));
}

/**
 * Returns a policy without one of its validations, for a separate ServiceAccount, and the binding
 * of the policy.
 */
export function withoutValidation(
  policy: Policy,
  index: number,
  name: string,
  account: string,
): Manifest[] {
  const spec = {
    ...policy.spec,
    matchConditions: policy.spec.matchConditions.map((condition) => ({
      ...condition,
      expression: condition.expression.replace("'my-vaultsync'", `'${account}'`),
    })),
    validations: policy.spec.validations.toSpliced(index, 1),
  };
  const { apiVersion } = policy;
  return [
    { apiVersion, kind: policy.kind, metadata: { name }, spec },
    {
      apiVersion,
      kind: `${policy.kind}Binding`,
      metadata: { name },
      spec: { policyName: name, validationActions: ["Deny"] },
    },
  ];
}

/** Sends a write that the API server checks and does not execute. */
export function tryWrite(
  access: ApiAccess,
  write: Write,
  places: { namespace: string; own: string; as?: string },
): Promise<ApiResponse> {
  const { namespace, own, as } = places;
  const path = write.path.replace("NAMESPACE", namespace).replace("OWN", own);
  const manager =
    write.manager === undefined
      ? ""
      : `&force=true&fieldManager=${encodeURIComponent(write.manager)}`;
  const patchType =
    write.manager === undefined ? "application/merge-patch+json" : "application/apply-patch+yaml";
  const headers = {
    ...(write.method === "PATCH" && { "content-type": patchType }),
    ...(as !== undefined && {
      "impersonate-user": as,
      "impersonate-group": `system:serviceaccounts:${own}`,
    }),
  };
  return apiRequest(access, {
    method: write.method,
    path: `${path}?dryRun=All${manager}`,
    body: write.body,
    headers,
  });
}

const marks = { "app.kubernetes.io/managed-by": "vaultsync" };
const data = { password: "dGhlaXJz" };

const secret = (name: string, metadata: object, more: object = { data }): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, ...metadata },
  ...more,
});
const resource = (kind: string, name: string, metadata: object, spec: object): object => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind,
  metadata: { name, ...metadata },
  spec,
});

const by = (apiVersion: string, kind: string, name: string, uid: string | undefined): object => ({
  ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
});

/** Objects that control others. */
export const controllers: readonly object[] = [
  vaultSecret("db", { password: "db" }),
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "foreign" }, data },
];

/** Objects that the writes are about. `uids` are the uids of the controllers, in their order. */
export function objects([ours, theirs]: readonly string[]): object[] {
  const owned = { labels: marks, annotations: { "vaultsync.dev/owner": "VaultSecret/db" } };
  return [
    secret("foreign", {}),
    secret("owned", owned),
    secret("unmarked", by("vaultsync.dev/v1alpha1", "VaultSecret", "db", ours)),
    secret("controlled", { ...owned, ...by("v1", "ConfigMap", "foreign", theirs) }),
    secret("handed-over", { annotations: { "vaultsync.dev/adopt": "VaultSecret/db" } }),
    secret("keys-handed-over", {
      annotations: { "vaultsync.dev/adopt": "VaultSecret/db,VaultSecret/web" },
    }),
    secret("merged", {}),
    secret(
      "login",
      { annotations: { "vaultsync.dev/hosts": "a" } },
      { type: "vaultsync.dev/credentials", data },
    ),
    secret("release", {}, { type: "helm.sh/release.v1" }),
    secret(
      "token",
      { annotations: { "kubernetes.io/service-account.name": "default" } },
      { type: "kubernetes.io/service-account-token" },
    ),
    workload("Deployment", "web"),
    workload("DaemonSet", "web"),
    resource(
      "VaultConnection",
      "vault",
      { annotations: { "vaultsync.dev/confirm-removals": "1" } },
      {
        url: "https://vault.example.com",
        email: "a@example.com",
        auth: { passwordSecretRef: { name: "login" } },
      },
    ),
    resource(
      "VaultPush",
      "push",
      { finalizers: ["example.com/kept"] },
      {
        connectionRef: { name: "none" },
        secret: { name: "owned" },
        data: [{ secretKey: "password", remoteRef: { key: "db" } }],
      },
    ),
  ];
}
