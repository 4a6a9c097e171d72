/**
 * A write to the API server. Paths contain `NAMESPACE` and `OWN`, the namespace of the operator.
 */
export interface Write {
  readonly name: string;
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: object;
  /** Field manager of a server-side apply with force; a PATCH is a JSON merge patch otherwise. */
  readonly manager?: string;
}

export interface HostileWrite extends Write {
  readonly policy: string;
  /** A part of the message of the validation that denies the write. */
  readonly message: string;
  /** The RBAC rules of the operator do not allow it either. */
  readonly isBeyondRbac?: true;
}

const SECRETS = "/api/v1/namespaces/NAMESPACE/secrets";
const CONFIG_MAPS = "/api/v1/namespaces/NAMESPACE/configmaps";
const WORKLOADS = "/apis/apps/v1/namespaces/NAMESPACE/deployments";
const SYSTEM_WORKLOADS = "/apis/apps/v1/namespaces/kube-system/deployments";
const DAEMON_SETS = "/apis/apps/v1/namespaces/NAMESPACE/daemonsets";
const RESOURCES = "/apis/vaultsync.dev/v1alpha1/namespaces/NAMESPACE";
const data = { password: "c3RvbGVu" };
const OWNER = "vaultsync.dev/owner";

const marks = (owner = "VaultSecret/db", more: object = {}): object => ({
  labels: { "app.kubernetes.io/managed-by": "vaultsync" },
  annotations: { [OWNER]: owner, ...more },
});
const create = (
  path: string,
  object: object,
  more: object = {},
): Pick<Write, "method" | "path" | "body"> => ({
  method: "POST",
  path,
  body: { metadata: { name: "created", ...object }, ...more },
});
const patch = (path: string, body: object): Pick<Write, "method" | "path" | "body"> => ({
  method: "PATCH",
  path,
  body,
});
const remove = (path: string): Pick<Write, "method" | "path"> => ({ method: "DELETE", path });
const merged = (
  object: string,
  values: object,
  recorded = true,
  resource = "db",
): Pick<Write, "method" | "path" | "body" | "manager"> => ({
  ...patch(`${SECRETS}/${object}`, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: object,
      ...(recorded && {
        labels: { "vaultsync.dev/merged": "true" },
        annotations: { [`merge.vaultsync.dev/vaultsecret.${resource}`]: "{}" },
      }),
    },
    ...(Object.keys(values).length > 0 && { data: values }),
  }),
  manager: `vaultsync:VaultSecret/${resource}`,
});
/** Changes to whom an object is handed over. */
const handedOver = (adopters: string): object => ({
  metadata: { annotations: { "vaultsync.dev/adopt": adopters } },
});
const restart = (
  path: string,
  kind: string,
): Pick<Write, "method" | "path" | "body" | "manager"> => ({
  ...patch(`${path}/web`, {
    apiVersion: "apps/v1",
    kind,
    metadata: { name: "web", annotations: { "vaultsync.dev/restart-state": "{}" } },
    ...template({ metadata: { annotations: { "vaultsync.dev/content": "digest" } } }),
  }),
  manager: "vaultsync:restart",
});
const template = (content: object): object => ({ spec: { template: content } });
const container = { name: "app", image: "example.com/stolen" };

const targets: readonly Omit<HostileWrite, "policy">[] = [
  {
    name: "create a Secret without the label",
    message: "creates only",
    ...create(SECRETS, {}, { data }),
  },
  {
    name: "create a ConfigMap without the label",
    message: "creates only",
    ...create(CONFIG_MAPS, {}),
  },
  ...["Deployment/web", "ClusterVaultConnection/vault"].map((owner) => ({
    name: `create a Secret for ${owner}`,
    message: "creates only",
    ...create(SECRETS, marks(owner)),
  })),
  { name: "delete a Secret of others", message: "deletes only", ...remove(`${SECRETS}/foreign`) },
  {
    name: "delete a ConfigMap of others",
    message: "deletes only",
    ...remove(`${CONFIG_MAPS}/foreign`),
  },
  {
    name: "delete a Secret that was handed over",
    message: "deletes only",
    ...remove(`${SECRETS}/handed-over`),
  },
  {
    name: "delete a Secret that another controller owns",
    message: "deletes only",
    ...remove(`${SECRETS}/controlled`),
  },
  {
    name: "change a target in the name of another resource",
    message: "in the name of the resource",
    ...patch(`${SECRETS}/owned`, { metadata: marks("VaultSecret/other"), data }),
  },
  {
    name: "take over what was handed over to another resource",
    message: "in the name of the resource",
    ...patch(`${SECRETS}/handed-over`, { metadata: marks("VaultSecret/other"), data }),
  },
  { name: "overwrite a key of others", message: "keys that it merged", ...merged("foreign", data) },
  {
    name: "remove a key of others",
    message: "keys that it merged",
    ...patch(`${SECRETS}/foreign`, { data: { password: null } }),
  },
  {
    name: "overwrite a key in a ConfigMap of others",
    message: "keys that it merged",
    ...patch(`${CONFIG_MAPS}/foreign`, { data }),
  },
  {
    name: "merge keys that were handed over to other resources",
    message: "keys that it merged",
    ...merged("keys-handed-over", data, true, "api"),
  },
  {
    name: "hand keys over to another resource",
    message: "the operator changes nothing of an object",
    ...patch(`${SECRETS}/keys-handed-over`, handedOver("VaultSecret/api")),
  },
  {
    name: "add a key without a record",
    message: "only with an annotation",
    ...merged("foreign", { added: "YQ==" }, false),
  },
  {
    name: "make a Secret of others its own",
    message: "nothing of an object of others",
    ...patch(`${SECRETS}/foreign`, { metadata: marks() }),
  },
  {
    name: "hand a Secret of others over to itself",
    message: "nothing of an object of others",
    ...patch(`${SECRETS}/foreign`, handedOver("VaultSecret/db")),
  },
  {
    name: "change a password of credentials",
    message: "access_token",
    ...patch(`${SECRETS}/login`, { data }),
  },
  {
    name: "remove the hosts of credentials",
    message: "access_token",
    ...patch(`${SECRETS}/login`, { metadata: { annotations: { "vaultsync.dev/hosts": null } } }),
  },
  {
    name: "keep a target from being deleted",
    message: "finalizers",
    ...patch(`${SECRETS}/owned`, { metadata: { finalizers: ["example.com/kept"] } }),
  },
  {
    name: "name a ServiceAccount in an annotation",
    message: "service-account.name",
    ...create(
      SECRETS,
      marks("VaultSecret/db", { "kubernetes.io/service-account.name": "default" }),
    ),
  },
  {
    name: "make a Secret a cluster of Argo CD",
    message: "argocd.argoproj.io",
    ...patch(`${SECRETS}/owned`, {
      metadata: { labels: { "argocd.argoproj.io/secret-type": "cluster" } },
    }),
  },
];

const types: readonly Omit<HostileWrite, "policy">[] = [
  ...[
    "bootstrap.kubernetes.io/token",
    "helm.sh/release.v1",
    "vaultsync.dev/credentials",
    "example.com/other",
  ].map((type): Omit<HostileWrite, "policy"> => ({
    name: `create a Secret of the type ${type}`,
    message: "no Secrets of this type",
    ...create(SECRETS, marks(), { type }),
  })),
  {
    name: "add a key to the token of a ServiceAccount",
    message: "its tools",
    ...merged("token", { added: "YQ==" }),
  },
  {
    name: "add a key to a Helm release",
    message: "its tools",
    ...merged("release", { added: "YQ==" }),
  },
];

const namespaces: readonly Omit<HostileWrite, "policy">[] = [
  {
    name: "create a Secret in kube-system",
    message: "namespaces kube-*",
    ...create("/api/v1/namespaces/kube-system/secrets", marks()),
  },
  {
    name: "create a Secret in its own namespace",
    message: "its own namespace",
    ...create("/api/v1/namespaces/OWN/secrets", marks()),
  },
];

const workloads: readonly Omit<HostileWrite, "policy">[] = [
  {
    name: "restart a Deployment of Kubernetes",
    message: "restarts no workloads",
    ...restart(SYSTEM_WORKLOADS, "Deployment"),
  },
  {
    name: "delete a Deployment",
    message: "deletes no workloads",
    isBeyondRbac: true,
    ...remove(`${WORKLOADS}/web`),
  },
  {
    name: "stop a Deployment",
    message: "spec of a workload",
    ...patch(`${WORKLOADS}/web`, { spec: { replicas: 0 } }),
  },
  {
    name: "change an image",
    message: "pods of a workload",
    ...patch(`${WORKLOADS}/web`, template({ spec: { containers: [container] } })),
  },
  {
    name: "run pods under another ServiceAccount",
    message: "pods of a workload",
    ...patch(`${WORKLOADS}/web`, template({ spec: { serviceAccountName: "admin" } })),
  },
  {
    name: "mount a volume of the node",
    message: "pods of a workload",
    ...patch(
      `${WORKLOADS}/web`,
      template({ spec: { volumes: [{ name: "root", hostPath: { path: "/" } }] } }),
    ),
  },
  {
    name: "set an annotation of a pod template",
    message: "of a pod template",
    ...patch(
      `${WORKLOADS}/web`,
      template({ metadata: { annotations: { "sidecar.istio.io/inject": "false" } } }),
    ),
  },
  {
    name: "ask for restarts of a workload",
    message: "restart-state",
    ...patch(`${WORKLOADS}/web`, {
      metadata: { annotations: { "vaultsync.dev/restart": "auto" } },
    }),
  },
];

const resources: readonly Omit<HostileWrite, "policy">[] = [
  {
    name: "delete a VaultConnection",
    message: "no custom resources",
    isBeyondRbac: true,
    ...remove(`${RESOURCES}/vaultconnections/vault`),
  },
  {
    name: "send credentials to another host",
    message: "never changes the spec",
    ...patch(`${RESOURCES}/vaultconnections/vault`, {
      spec: { url: "https://stolen.example.com" },
    }),
  },
  {
    name: "push another Secret",
    message: "never changes the spec",
    ...patch(`${RESOURCES}/vaultpushes/push`, { spec: { secret: { name: "foreign" } } }),
  },
  {
    name: "confirm removals itself",
    message: "no metadata",
    ...patch(`${RESOURCES}/vaultconnections/vault`, {
      metadata: { annotations: { "vaultsync.dev/confirm-removals": "99" } },
    }),
  },
  {
    name: "remove a finalizer of others",
    message: "no finalizer but",
    ...patch(`${RESOURCES}/vaultpushes/push`, { metadata: { finalizers: [] } }),
  },
];

const withPolicy = (
  policy: string,
  writes: readonly Omit<HostileWrite, "policy">[],
): HostileWrite[] => writes.map((write) => ({ ...write, policy: `vaultsync-operator-${policy}` }));

/** Writes that the operator never makes, each with the policy that denies it. */
export const hostileWrites: readonly HostileWrite[] = [
  ...withPolicy("targets", targets),
  ...withPolicy("targets", types),
  ...withPolicy("targets", namespaces),
  ...withPolicy("workloads", workloads),
  ...withPolicy("resources", resources),
];

/** Writes that the operator makes. */
export const ownWrites: readonly Write[] = [
  {
    name: "create a target",
    ...create(SECRETS, marks(), { data, type: "kubernetes.io/basic-auth" }),
  },
  ...["VaultFile/web", "ClusterVaultSecret/web", "ClusterVaultFile/web"].map((owner) => ({
    name: `create a ConfigMap as a target of ${owner}`,
    ...create(CONFIG_MAPS, marks(owner)),
  })),
  { name: "change a target", ...patch(`${SECRETS}/owned`, { metadata: marks(), data }) },
  {
    name: "repair a target without marks by its owner reference",
    ...patch(`${SECRETS}/unmarked`, { metadata: marks(), data }),
  },
  {
    name: "release a target",
    ...patch(`${SECRETS}/unmarked`, { metadata: { ownerReferences: [] } }),
  },
  { name: "delete a target", ...remove(`${SECRETS}/owned`) },
  {
    name: "take over what was handed over",
    ...patch(`${SECRETS}/handed-over`, {
      metadata: marks("VaultSecret/db", { "vaultsync.dev/adopt": null }),
      data,
    }),
  },
  { name: "merge keys that were handed over", ...merged("keys-handed-over", data) },
  {
    name: "end the handing over of keys to one of two resources",
    ...patch(`${SECRETS}/keys-handed-over`, handedOver("VaultSecret/web")),
  },
  { name: "add a key to an object of others", ...merged("foreign", { added: "YQ==" }) },
  { name: "add a key to a large Secret of others", ...merged("large", { added: "YQ==" }) },
  { name: "change a merged key", ...merged("merged", { ours: "YQ==" }) },
  { name: "remove all merged keys", ...merged("merged", {}, false) },
  {
    name: "store renewed tokens",
    ...patch(`${SECRETS}/login`, { data: { access_token: "YQ==", refresh_token: "YQ==" } }),
  },
  {
    name: "create the content key",
    ...create(
      "/api/v1/namespaces/OWN/secrets",
      {},
      {
        metadata: { name: "vaultsync-content-key" },
        type: "vaultsync.dev/content-key",
      },
    ),
  },
  { name: "restart a Deployment", ...restart(WORKLOADS, "Deployment") },
  { name: "restart a DaemonSet", ...restart(DAEMON_SETS, "DaemonSet") },
  {
    name: "remove the confirmation of removals",
    ...patch(`${RESOURCES}/vaultconnections/vault`, {
      metadata: { annotations: { "vaultsync.dev/confirm-removals": null } },
    }),
  },
  {
    name: "add the finalizer of a VaultPush",
    ...patch(`${RESOURCES}/vaultpushes/push`, {
      metadata: { finalizers: ["example.com/kept", "vaultsync.dev/push"] },
    }),
  },
];
