/**
 * A value that is not the default, and text that the rendered chart then has; and text that only
 * the default has.
 */
export type Effect = readonly [
  path: string,
  value: object | string | number | boolean,
  present: string,
  absent?: string,
];

const digest = `sha256:${"0".repeat(64)}`;

/** Effects of the values that both charts have. */
const ofBoth: readonly Effect[] = [
  [
    "image.repository",
    "registry.example.com:5000/vaultsync",
    "image: registry.example.com:5000/vaultsync:0.1.0",
  ],
  ["image.tag", "1.2.3", "image: REGISTRY/vaultsync:1.2.3"],
  ["image.digest", digest, `image: REGISTRY/vaultsync@${digest}`],
  ["image.pullPolicy", "Always", "imagePullPolicy: Always"],
  ["imagePullSecrets", [{ name: "registry" }], "imagePullSecrets:\n        - name: registry"],
  ["env", [{ name: "HTTPS_PROXY", value: "http://proxy" }], "- name: HTTPS_PROXY"],
  ["podDisruptionBudget.enabled", false, "kind: Service", "kind: PodDisruptionBudget"],
  ["networkPolicy.enabled", false, "kind: Service", "kind: NetworkPolicy"],
  [
    "networkPolicy.metricsFrom",
    [{ podSelector: { matchLabels: { app: "prometheus" } } }],
    "app: prometheus",
  ],
  ["monitoring.dashboard", true, 'grafana_dashboard: "1"'],
  ["monitoring.podMonitor", true, "kind: PodMonitor"],
  ["labels", { team: "platform" }, "team: platform"],
  ["annotations", { "example.com/owner": "platform" }, "example.com/owner: platform"],
  ["podLabels", { tier: "pods" }, "tier: pods"],
  ["podAnnotations", { "example.com/scan": "off" }, 'example.com/scan: "off"'],
  ["resources", { limits: { memory: "1Gi" } }, "memory: 1Gi", "memory: 512Mi"],
  [
    "priorityClassName",
    "system-cluster-critical",
    "priorityClassName:\n        system-cluster-critical",
  ],
  ["nodeSelector", { "kubernetes.io/os": "linux" }, "kubernetes.io/os: linux"],
  ["tolerations", [{ key: "dedicated", operator: "Exists" }], "key: dedicated"],
  ["affinity", { podAntiAffinity: null }, "kind: Service", "podAntiAffinity"],
  ["topologySpreadConstraints", [], "kind: Service", "topologySpreadConstraints"],
  ["podSecurityContext", { runAsUser: null }, "runAsNonRoot: true", "runAsUser"],
  ["securityContext", { runAsUser: 1000 }, "runAsUser: 1000"],
];

export const operatorEffects: readonly Effect[] = [
  ...ofBoth,
  ["namespaces", ["shop", "billing"], "namespaces: shop,billing", "ClusterRoleBinding"],
  ["targetWatch", false, "--target-watch=off"],
  ["restarts", false, "--auto-restart=off", "- rollouts\n  verbs"],
  ["flags", { logLevel: "debug" }, '"--log-level=debug"'],
  ["replicas", 3, "replicas: 3"],
  ["crds.install", false, "kind: Service", "kind: CustomResourceDefinition"],
  ["cluster.install", false, "kind: Service", "name: vaultsync-crd-deletion"],
  ["policies.install", false, "kind: Service", "name: vaultsync-operator-targets"],
  ["priorityAndFairness.enabled", false, "kind: Service", "kind: FlowSchema"],
  [
    "networkPolicy.egressTo",
    [{ ipBlock: { cidr: "192.0.2.0/24" } }],
    "cidr: 192.0.2.0/24",
    "169.254.0.0/16",
  ],
  ["networkPolicy.egressPorts", [8443], "port: 8443", "port: 6443"],
  ["monitoring.prometheusRule", true, "summary: '{{ $value }} shards"],
];

export const vaultEffects: readonly Effect[] = [
  ...ofBoth,
  ["postgres.enabled", true, "name: vault-postgres", "value: /data/vault.db"],
  ["replicas", 0, "replicas: 0"],
  ["storage.size", "20Gi", "storage: 20Gi", "storage: 10Gi"],
  ["storage.auditSize", "20Gi", "storage: 20Gi", "storage: 5Gi"],
  ["storage.className", "fast", "storageClassName: fast"],
  ["flags", { appUrl: "https://vault.example.com" }, '"--app-url=https://vault.example.com"'],
  [
    "networkPolicy.smtpTo",
    [{ ipBlock: { cidr: "192.0.2.0/24" } }],
    "cidr: 192.0.2.0/24",
    "169.254.0.0/16",
  ],
  ["monitoring.prometheusRule", true, "kind: PrometheusRule"],
];
