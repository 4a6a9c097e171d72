import { API_GROUP, API_VERSION } from "../../../src/operator/api/kinds.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";

const apiVersion = `${API_GROUP}/${API_VERSION}`;

/** Returns a condition of generation 2. */
export const condition = (
  type: string,
  status: "True" | "False",
  reason: string,
  message: string = reason,
): object => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: "2026-11-21T00:00:00Z",
  observedGeneration: 2,
});

export const namespaceOf = (name: string, labels: Readonly<Record<string, string>> = {}) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels: { "kubernetes.io/metadata.name": name, ...labels } },
});

interface Changes {
  readonly spec?: object;
  readonly status?: object;
  readonly version?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

export const items = (version: number, latest = version): object[] => [
  { secretKey: "password", key: "login", version, latest },
];

/** The connection of the cluster that every namespace may use. */
export const corporate = (spec: object = {}): KubeObject => ({
  apiVersion,
  kind: "ClusterVaultConnection",
  metadata: { name: "corporate", uid: "corporate", generation: 1 },
  spec: {
    url: "https://vault.example.com",
    email: "ops@example.com",
    auth: { passwordSecretRef: { name: "login" } },
    access: [{ namespaceSelector: { matchLabels: {} }, secrets: ["*"], files: ["*"] }],
    ...spec,
  },
});

/**
 * A ClusterVaultSecret of generation 2 that selects the namespaces of the team shop, and is in sync
 * in two of them.
 */
export const clusterSecret = (
  name: string,
  { spec, status, version = 2, annotations = {}, labels = {} }: Changes = {},
): KubeObject => ({
  apiVersion,
  kind: "ClusterVaultSecret",
  metadata: {
    name,
    uid: name,
    resourceVersion: "1",
    generation: 2,
    annotations,
    labels,
  },
  spec: {
    connectionRef: { kind: "ClusterVaultConnection", name: "corporate" },
    namespaceSelector: { matchLabels: { team: "shop" } },
    data: [{ secretKey: "password", remoteRef: { key: "login" } }],
    ...spec,
  },
  status: {
    observedGeneration: 2,
    conditions: [condition("Ready", "True", "Synced", "the targets of 2 namespaces are in sync")],
    target: { kind: "Secret", name },
    items: items(version),
    namespaces: { selected: 2, ready: 2, failed: 0 },
    ...status,
  },
});

/** The status of one that is in sync in one of two namespaces. */
export const failing = (reason: string, message = `the reason is ${reason}`): object => ({
  conditions: [
    condition("Ready", "False", reason, `1 of 2 namespaces not in sync; blog: ${message}`),
  ],
  namespaces: { selected: 2, ready: 1, failed: 1 },
  failures: [{ namespace: "blog", reason, message }],
});
