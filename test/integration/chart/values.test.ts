import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { chartValues } from "../../../scripts/generate/chart/values.ts";
import { operatorCommand } from "../../../src/operator/cli/operator.ts";
import { vaultCommand } from "../../../src/vault/cli/vault.ts";
import { operatorConfig } from "../../../src/operator/config.ts";
import { Helm, operatorRelease, type Release, vaultRelease } from "../../lab/helm/helm.ts";

/**
 * A value that is not the default, and text that the rendered chart then has; and text that only
 * the default has.
 */
type Effect = readonly [
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
  ["env", [{ name: "NODE_EXTRA_CA_CERTS", value: "/ca/ca.crt" }], "- name: NODE_EXTRA_CA_CERTS"],
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

const operatorEffects: readonly Effect[] = [
  ...ofBoth,
  ["nameOverride", "syncer", "kind: Deployment\nmetadata:\n  name: syncer\n"],
  ["nameOverride", "syncer", "\n  name: syncer-metrics\n", "\n  name: vaultsync-metrics\n"],
  ["extraArgs", ["--log-level=debug"], "- --log-level=debug\n"],
  [
    "extraVolumes",
    [{ name: "ca", configMap: { name: "ca" } }],
    "- configMap:\n            name: ca",
  ],
  ["extraVolumeMounts", [{ name: "ca", mountPath: "/ca" }], "- mountPath: /ca\n"],
  ["serviceAccount.create", false, "kind: Deployment", "\nkind: ServiceAccount\n"],
  ["serviceAccount.name", "syncer", "serviceAccountName: syncer"],
  ["serviceAccount.annotations", { "example.com/role": "reader" }, "example.com/role: reader"],
  ["probes.startup", { failureThreshold: 600 }, "failureThreshold: 600", "failureThreshold: 60\n"],
  ["probes.liveness", { timeoutSeconds: 30 }, "timeoutSeconds: 30"],
  ["probes.readiness", { initialDelaySeconds: 7 }, "initialDelaySeconds: 7"],
  ["strategy", { type: "Recreate" }, "strategy:\n    type: Recreate"],
  ["dnsConfig", { options: [{ name: "ndots", value: "1" }] }, "dnsConfig:\n        options:"],
  ["hostAliases", [{ ip: "192.0.2.1", hostnames: ["vault.lan"] }], "- vault.lan"],
  ["hostUsers", false, "hostUsers: false"],
  ["monitoring.serviceMonitor", true, "kind: ServiceMonitor"],
  ["namespaces", ["shop", "billing"], "namespaces: shop,billing", "ClusterRoleBinding"],
  ["targetWatch", false, "--target-watch=off"],
  ["restarts", false, "--auto-restart=off", "- rollouts\n  verbs"],
  ["serviceAccountLogins", ["vault-login"], "resourceNames:\n  - vault-login"],
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

const vaultEffects: readonly Effect[] = [
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

const workload = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({ containers: z.tuple([z.object({ args: z.array(z.string()) })]) }),
    }),
  }),
});

let helm: Helm;
beforeAll(async () => void (helm = await Helm.create()));
afterAll(() => helm[Symbol.asyncDispose]());

const set = (path: string, value: Effect[1]): string[] => [
  "--set-json",
  `${path}=${JSON.stringify(value)}`,
];

/** Returns the arguments of the container of the Deployment or StatefulSet. */
function argumentsOf(rendered: string): string[] {
  const [manifest = ""] = rendered
    .split("\n---\n")
    .filter((text) => /^kind: (?:Deployment|StatefulSet)$/mu.test(text));
  return workload.parse(parse(manifest)).spec.template.spec.containers[0].args;
}

describe.each<[string, Release, readonly Effect[]]>([
  ["operator", operatorRelease, operatorEffects],
  ["vault", vaultRelease, vaultEffects],
])("a value of the chart of the %s", (_, release, effects) => {
  let byDefault: string;
  beforeAll(async () => void (byDefault = await helm.template(release)));

  test.each(effects.map(([path, ...effect]) => ({ path, effect })))(
    "$path has an effect",
    async ({ path, effect }) => {
      const [value, present, absent] = effect;
      const rendered = await helm.template(release, set(path, value));
      expect(rendered).toContain(present);
      expect(rendered).not.toBe(byDefault);
      if (absent === undefined) return;
      expect(byDefault).toContain(absent);
      expect(rendered).not.toContain(absent);
    },
  );

  test("each has a test of its effect", async () => {
    const values = chartValues(await readFile(join(release.chart, "values.yaml"), "utf8"));
    const tested = [
      ...effects.map(([path]) => path),
      "monitoring.labels",
      "networkPolicy.postgresTo",
    ];
    const groups = new Set(tested.map((path) => path.split(".").slice(0, -1).join(".")));
    const names = values.map(({ path }) => path.join("."));
    const inside = (name: string): boolean => tested.some((path) => name.startsWith(`${path}.`));
    expect(
      names.filter((name) => !tested.includes(name) && !groups.has(name) && !inside(name)),
    ).toEqual([]);
  });

  test("monitoring.labels are those of the objects for monitoring only", async () => {
    const monitoring = {
      podMonitor: true,
      prometheusRule: true,
      dashboard: true,
      labels: { release: "prometheus" },
    };
    expect(
      (await helm.template(release, set("monitoring", monitoring))).match(
        /release: prometheus$/gmu,
      ),
    ).toHaveLength(3);
  });
});

const account = (name: string): RegExp =>
  new RegExp(`kind: ServiceAccount\\n +name: ${name}\\n`, "gu");

test("everything that names the ServiceAccount has its name, in a namespaced release as well", async () => {
  for (const namespaces of [[], ["shop"]]) {
    const values = [...set("serviceAccount.name", "syncer"), ...set("namespaces", namespaces)];
    const rendered = await helm.template(operatorRelease, values);
    const byDefault = await helm.template(operatorRelease, set("namespaces", namespaces));
    const uses = byDefault.match(account("vaultsync"))?.length ?? 0;
    expect(uses).toBeGreaterThan(1);
    expect(rendered.match(account("syncer"))).toHaveLength(uses);
    expect(rendered).not.toMatch(account("vaultsync"));
    expect(rendered.match(/'vaultsync-system',\s+'syncer'\]\.join/gu)).toHaveLength(3);
    expect(rendered).not.toContain("'vaultsync'].join");
    expect(rendered.match(/serviceAccount:\n +name: syncer\n/gu)).toHaveLength(2);
    expect(rendered).toMatch(/\nkind: ServiceAccount\nmetadata:\n(?: .*\n)*? {2}name: syncer\n/u);
  }
});

test("networkPolicy.postgresTo is where a vault on PostgreSQL may connect to", async () => {
  const peers = [{ ipBlock: { cidr: "192.0.2.0/24" } }];
  const args = [...set("networkPolicy.postgresTo", peers), "--set=postgres.enabled=true"];
  expect(await helm.template(vaultRelease, args)).toMatch(
    /- ipBlock:\n +cidr: 192\.0\.2\.0\/24\n +ports:\n.* port: 5432 /u,
  );
});

test("an allowed type of Secrets is allowed by the policy as well", async () => {
  const rendered = await helm.template(
    operatorRelease,
    set("flags", { allowedSecretTypes: ["example.com/login"] }),
  );
  expect(rendered).toContain('"--allowed-secret-types=example.com/login"');
  expect(rendered).toMatch(/\+ \["example\.com\/login"\]'\n +name: allowedTypes$/mu);
});

test("flags are arguments that the operator accepts", async () => {
  const flags = {
    logLevel: "debug",
    shards: 4,
    valueCacheBytes: 33_554_432,
    maxListBytes: 33_554_432,
    allowHttp: true,
    vaultHosts: ["vault.example.com", "*.vaults.example.com"],
    allowedSecretTypes: ["example.com/login"],
    resync: "1h",
    restartWindow: "1m",
    volumeSync: "2m",
    concurrency: 8,
    autoRestart: "off",
  };
  const [name, ...args] = argumentsOf(await helm.template(operatorRelease, set("flags", flags)));
  expect(name).toBe("operator");
  const command = operatorCommand().exitOverride();
  expect(command.parseOptions(args)).toEqual({ operands: [], unknown: [] });
  const { logLevel, ...config } = command.opts();
  expect(logLevel).toBe("debug");
  const expected = {
    ...flags,
    resync: 3_600_000,
    restartWindow: 60_000,
    volumeSync: 120_000,
    listen: { host: "0.0.0.0", port: 8080 },
  };
  expect({ logLevel, ...operatorConfig(config) }).toMatchObject(expected);
});

test("flags are arguments that the vault accepts", async () => {
  const flags = {
    logLevel: "debug",
    appUrl: "https://vault.example.com",
    allowedHosts: ["vault.example.com", "*.example.org"],
    trustProxy: ["10.0.0.0/8"],
    proxyProtocol: true,
    quotas: ["secrets=1000", "bytes=1073741824"],
    lowSpace: 134_217_728,
    maxTokenHours: 8,
    signUp: "closed",
    mailFrom: "vault@example.com",
    auditRetention: 30,
  };
  const [vault, serve, ...args] = argumentsOf(
    await helm.template(vaultRelease, set("flags", flags)),
  );
  expect(vault).toBe("vault");
  expect(serve).toBe("serve");
  const command = vaultCommand().commands.find((one) => one.name() === "serve");
  expect(command?.exitOverride().parseOptions(args)).toEqual({ operands: [], unknown: [] });
  expect(command?.opts()).toMatchObject({
    lowSpace: 134_217_728,
    signUp: "closed",
    proxyProtocol: true,
    auditLog: "/audit/audit.jsonl",
  });
});

/** Returns the requests of the probes of a container. */
function probesOf(rendered: string): string[] {
  return rendered.match(/(?<=httpGet: \{ ).*(?= \})/gu) ?? [];
}

test("the probes of a vault with PROXY headers are sent where none is expected", async () => {
  const flags = { trustProxy: ["10.0.0.0/8"], proxyProtocol: true };
  expect(probesOf(await helm.template(vaultRelease, set("flags", flags)))).toEqual(
    ["/healthz", "/healthz", "/readyz"].map((path) => `path: ${path}, port: metrics`),
  );
  expect(probesOf(await helm.template(vaultRelease))).toContain(
    "path: /readyz, port: https, scheme: HTTPS",
  );
});

test.each<[string, Effect[1], string, Release?]>([
  ["replica", 3, "additional properties 'replica' not allowed"],
  ["image.version", "1", "at '/image': additional properties 'version' not allowed"],
  ["extraArgs", ["shards=1"], "at '/extraArgs/0': 'shards=1' does not match pattern"],
  ["extraVolumes", [{ name: "service-account" }], "at '/extraVolumes/0/name': 'not' failed"],
  ["probes.liveness", { httpGet: {} }, "additional properties 'httpGet' not allowed"],
  ["monitoring", { podMonitor: true, serviceMonitor: true }, "at '/monitoring': 'not' failed"],
  ["replicas", "many", "at '/replicas': got string, want integer"],
  ["replicas", -1, "at '/replicas': minimum: got -1, want 0"],
  ["targetWatch", "off", "at '/targetWatch': got string, want boolean"],
  ["namespaces", "shop", "at '/namespaces': got string, want array"],
  ["namespaces", ["Shop"], "at '/namespaces/0': 'Shop' does not match pattern"],
  ["image.digest", "0.1.0", "at '/image/digest': '0.1.0' does not match pattern"],
  ["image.pullPolicy", "always", "value must be one of '', 'Always', 'IfNotPresent', 'Never'"],
  [
    "flags.logLevel",
    "loud",
    "at '/flags/logLevel': value must be one of 'debug', 'info', 'warn', 'error'",
  ],
  ["flags.shards", 0, "at '/flags/shards': minimum: got 0, want 1"],
  ["flags.concurrency", 257, "at '/flags/concurrency': maximum: got 257, want 256"],
  ["flags.vaultHosts", ["https://vault"], "'https://vault' does not match pattern"],
  ["flags.allowedSecretTypes", ["helm.sh/release.v1"], "at '/flags/allowedSecretTypes/0': 'not'"],
  ["flags.resync", "5s", "at '/flags/resync': '5s' does not match pattern"],
  ["flags.keepVersions", 0, "at '/flags/keepVersions': minimum: got 0, want 1", vaultRelease],
  ["flags.namespaces", "shop", "at '/flags': additional properties 'namespaces' not allowed"],
  [
    "networkPolicy.egressPorts",
    ["https"],
    "at '/networkPolicy/egressPorts/0': got string, want integer",
  ],
  ["labels", { "app.kubernetes.io/name": "x" }, "value must be 'vaultsync'"],
  ["replicas", 2, "at '/replicas': maximum: got 2, want 1", vaultRelease],
  ["storage.size", "big", "at '/storage/size': 'big' does not match pattern", vaultRelease],
  ["flags.data", "vault.db", "at '/flags': additional properties 'data' not allowed", vaultRelease],
  [
    "flags.signUp",
    "all",
    "at '/flags/signUp': value must be one of 'open', 'invited', 'closed'",
    vaultRelease,
  ],
])(
  "Helm rejects the value %s=%j and says why",
  async (path, value, message, release = operatorRelease) => {
    await expect(helm.template(release, set(path, value))).rejects.toThrow(message);
  },
);
