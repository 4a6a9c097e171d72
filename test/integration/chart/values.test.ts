import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { chartValues } from "../../../scripts/generate/chart/values.ts";
import { operatorCommand } from "../../../src/cli/operator.ts";
import { operatorConfig } from "../../../src/operator/config.ts";
import { chart, Helm } from "../../support/helm/helm.ts";

const deployment = z.object({
  spec: z.object({ template: z.object({ spec: z.object({ containers: z.tuple([z.object({ args: z.array(z.string()) })]) }) }) }),
});

let helm: Helm;
let byDefault: string;
beforeAll(async () => {
  helm = await Helm.create();
  byDefault = await helm.template();
});
afterAll(() => helm[Symbol.asyncDispose]());

const digest = `sha256:${"0".repeat(64)}`;

/** For each value another one, and what it makes of the rendered chart. The second half of a pair is absent afterwards. */
const effects: readonly (readonly [path: string, value: object | string | number | boolean, present: string, absent?: string])[] =
  [
    ["image.repository", "registry.example.com:5000/vaultsync", "image: registry.example.com:5000/vaultsync:0.1.0"],
    ["image.tag", "1.2.3", "image: REGISTRY/vaultsync:1.2.3"],
    ["image.digest", digest, `image: REGISTRY/vaultsync@${digest}`],
    ["image.pullPolicy", "Always", "imagePullPolicy: Always"],
    ["imagePullSecrets", [{ name: "registry" }], "imagePullSecrets:\n        - name: registry"],
    ["namespaces", ["shop", "billing"], "namespaces: shop,billing", "ClusterRoleBinding"],
    ["targetWatch", false, "--target-watch=off"],
    ["restarts", false, "--auto-restart=off", "- rollouts\n  verbs"],
    ["flags", { logLevel: "debug" }, '"--log-level=debug"'],
    ["env", [{ name: "HTTPS_PROXY", value: "http://proxy" }], "- name: HTTPS_PROXY"],
    ["replicas", 3, "replicas: 3"],
    ["crds.install", false, "kind: Deployment", "kind: CustomResourceDefinition"],
    ["cluster.install", false, "kind: Deployment", "kind: ValidatingAdmissionPolicy"],
    ["podDisruptionBudget.enabled", false, "kind: Deployment", "kind: PodDisruptionBudget"],
    ["priorityAndFairness.enabled", false, "kind: Deployment", "kind: FlowSchema"],
    ["networkPolicy.enabled", false, "kind: Deployment", "kind: NetworkPolicy"],
    ["networkPolicy.metricsFrom", [{ podSelector: { matchLabels: { app: "prometheus" } } }], "app: prometheus"],
    ["networkPolicy.egressTo", [{ ipBlock: { cidr: "192.0.2.0/24" } }], "cidr: 192.0.2.0/24", "169.254.0.0/16"],
    ["networkPolicy.egressPorts", [8443], "port: 8443", "port: 6443"],
    ["monitoring.podMonitor", true, "kind: PodMonitor"],
    ["monitoring.prometheusRule", true, "summary: '{{ $value }} shards"],
    ["labels", { team: "platform" }, "team: platform"],
    ["annotations", { "example.com/owner": "platform" }, "example.com/owner: platform"],
    ["podLabels", { tier: "pods" }, "tier: pods"],
    ["podAnnotations", { "example.com/scan": "off" }, 'example.com/scan: "off"'],
    ["resources", { limits: { memory: "1Gi" } }, "memory: 1Gi", "memory: 512Mi"],
    ["priorityClassName", "system-cluster-critical", "priorityClassName:\n        system-cluster-critical"],
    ["nodeSelector", { "kubernetes.io/os": "linux" }, "kubernetes.io/os: linux"],
    ["tolerations", [{ key: "dedicated", operator: "Exists" }], "key: dedicated"],
    ["affinity", { podAntiAffinity: null }, "kind: Deployment", "podAntiAffinity"],
    ["topologySpreadConstraints", [], "kind: Deployment", "topologySpreadConstraints"],
    ["podSecurityContext", { runAsUser: null }, "runAsNonRoot: true", "runAsUser"],
    ["securityContext", { runAsUser: 1000 }, "runAsUser: 1000"],
  ];

const set = (path: string, value: object | string | number | boolean): string[] => [
  "--set-json",
  `${path}=${JSON.stringify(value)}`,
];

/** Returns the arguments of the operator's container. */
function argumentsOf(rendered: string): string[] {
  const [manifest = ""] = rendered.split("\n---\n").filter((text) => /^kind: Deployment$/mu.test(text));
  return deployment.parse(parse(manifest)).spec.template.spec.containers[0].args;
}

describe("a value of the chart", () => {
  test.each(effects.map(([path, ...effect]) => ({ path, effect })))("$path has an effect", async ({ path, effect }) => {
    const [value, present, absent] = effect;
    const rendered = await helm.template(set(path, value));
    expect(rendered).toContain(present);
    expect(rendered).not.toBe(byDefault);
    if (absent === undefined) return;
    expect(byDefault).toContain(absent);
    expect(rendered).not.toContain(absent);
  });

  test("each has a test of its effect", async () => {
    const values = chartValues(await readFile(join(chart, "values.yaml"), "utf8"));
    const tested = [...effects.map(([path]) => path), "monitoring.labels"];
    const groups = new Set(tested.map((path) => path.split(".").slice(0, -1).join(".")));
    const names = values.map(({ path }) => path.join("."));
    const inside = (name: string): boolean => tested.some((path) => name.startsWith(`${path}.`));
    expect(names.filter((name) => !tested.includes(name) && !groups.has(name) && !inside(name))).toEqual([]);
  });

  test("monitoring.labels are those of the PodMonitor and of the PrometheusRule only", async () => {
    const monitoring = { podMonitor: true, prometheusRule: true, labels: { release: "prometheus" } };
    expect((await helm.template(set("monitoring", monitoring))).match(/release: prometheus$/gmu)).toHaveLength(2);
  });

  test("an allowed type of Secrets is allowed by the policy as well", async () => {
    const rendered = await helm.template(set("flags", { allowedSecretTypes: ["example.com/login"] }));
    expect(rendered).toContain('"--allowed-secret-types=example.com/login"');
    expect(rendered).toMatch(/\+ \["example\.com\/login"\]'\n +name: allowedTypes$/mu);
  });

  test("flags are arguments that the operator accepts", async () => {
    const flags = {
      logLevel: "debug",
      shards: 4,
      valueCacheBytes: 33_554_432,
      allowHttp: true,
      vaultHosts: ["vault.example.com", "*.vaults.example.com"],
      allowedSecretTypes: ["example.com/login"],
      resync: "1h",
      restartWindow: "1m",
      concurrency: 8,
      autoRestart: "off",
    };
    const [name, ...args] = argumentsOf(await helm.template(set("flags", flags)));
    expect(name).toBe("operator");
    const command = operatorCommand().exitOverride();
    expect(command.parseOptions(args)).toEqual({ operands: [], unknown: [] });
    const { logLevel, ...config } = command.opts();
    expect(logLevel).toBe("debug");
    const expected = { ...flags, resync: 3_600_000, restartWindow: 60_000, listen: { host: "0.0.0.0", port: 8080 } };
    expect({ logLevel, ...operatorConfig(config) }).toMatchObject(expected);
  });
});

test.each([
  ["replica", 3, "additional properties 'replica' not allowed"],
  ["image.version", "1", "at '/image': additional properties 'version' not allowed"],
  ["replicas", "many", "at '/replicas': got string, want integer"],
  ["replicas", -1, "at '/replicas': minimum: got -1, want 0"],
  ["targetWatch", "off", "at '/targetWatch': got string, want boolean"],
  ["namespaces", "shop", "at '/namespaces': got string, want array"],
  ["namespaces", ["Shop"], "at '/namespaces/0': 'Shop' does not match pattern"],
  ["image.digest", "0.1.0", "at '/image/digest': '0.1.0' does not match pattern"],
  ["image.pullPolicy", "always", "value must be one of '', 'Always', 'IfNotPresent', 'Never'"],
  ["flags.logLevel", "loud", "at '/flags/logLevel': value must be one of 'debug', 'info', 'warn', 'error'"],
  ["flags.namespaces", "shop", "at '/flags': additional properties 'namespaces' not allowed"],
  ["networkPolicy.egressPorts", ["https"], "at '/networkPolicy/egressPorts/0': got string, want integer"],
  ["labels", { "app.kubernetes.io/name": "x" }, "value must be 'vaultsync'"],
])("Helm rejects the value %s=%j and says why", async (path, value, message) => {
  await expect(helm.template(set(path, value))).rejects.toThrow(message);
});
