import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { Helm, operatorRelease, type Release, vaultRelease } from "../lab/helm/helm.ts";
import { alertsOf, type Part, parts, rulesOf } from "../lab/monitoring/rules.ts";
import { startPrometheus } from "../lab/node/monitoring.ts";
import { vaultSecret } from "../lab/real/resources.ts";
import { readyOperators } from "./support/operator-pods.ts";
import { NodeNamespace } from "./support/scene.ts";

const slow = { timeout: 180_000, interval: 1000 };
const podMonitor = join(
  import.meta.dirname,
  "../../deploy/vault-chart/files/monitoring/pod-monitor.yaml",
);

let namespace: NodeNamespace;
/** The API of Prometheus. */
let api: string;
beforeAll(async () => {
  namespace = await NodeNamespace.create("monitored");
  const { cluster } = namespace;
  api = `${await startPrometheus(cluster, inject("monitoring"))}/api/v1`;
  await using helm = await Helm.create();
  const args = ["--set=monitoring.serviceMonitor=true", "--show-only=templates/monitoring.yaml"];
  const rendered = await helm.template(operatorRelease, args);
  const monitors = parseAllDocuments(rendered).map((one) => z.looseObject({}).parse(one.toJS()));
  await cluster.apply([...monitors, ...parts.map(quickRules)]);
  await cluster.kubectlOutput(["apply", `--filename=${podMonitor}`]);
}, 300_000);

const scale = (kind: string, { name, namespace: of }: Release, replicas: number): Promise<string> =>
  namespace.cluster.kubectlOutput(["scale", `${kind}/${name}`, `--replicas=${replicas}`], {
    namespace: of,
  });

/** The following files need both programs, and not Prometheus. */
afterAll(async () => {
  await namespace.kubectl("delete", "namespace", "monitoring", "--wait=false");
  await scale("statefulset", vaultRelease, 1);
  await scale("deployment", operatorRelease, 2);
});

/** The shipped alerts, each of which fires after its cause has lasted for 5 seconds. */
const quickRules = (part: Part): object => ({
  apiVersion: "monitoring.coreos.com/v1",
  kind: "PrometheusRule",
  metadata: { name: `quick-${part}`, namespace: "monitoring" },
  spec: {
    groups: rulesOf(part).groups.map(({ name, rules }) => ({
      name,
      rules: rules.map((rule) => ({ ...rule, for: "5s" })),
    })),
  },
});

async function query<Data>(path: string, data: z.ZodType<Data>): Promise<Data> {
  const response = await fetch(`${api}${path}`);
  return z.object({ data }).parse(await response.json()).data;
}

const Labels = z.record(z.string(), z.string());
const Vector = z.object({
  result: z.array(z.object({ metric: Labels, value: z.tuple([z.number(), z.string()]) })),
});

/** Returns the targets that Prometheus scrapes, as their job, with 1 for success. */
async function targets(): Promise<string[]> {
  const { result } = await query("/query?query=up", Vector);
  return result.map(({ metric, value }) => `${metric["job"]} ${value[1]}`).toSorted();
}

const Alerts = z.object({ alerts: z.array(z.object({ labels: Labels, state: z.string() })) });

/** Returns which alerts fire for the operator, the vault or the namespace of this test. */
async function firing(...names: readonly string[]): Promise<string[]> {
  const { alerts } = await query("/alerts", Alerts);
  const namespaces = [undefined, namespace.name, operatorRelease.namespace, vaultRelease.namespace];
  const own = alerts.filter(
    ({ labels, state }) => state === "firing" && namespaces.includes(labels["namespace"]),
  );
  return names.filter((name) => own.some(({ labels }) => labels["alertname"] === name));
}

const Rules = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ name: z.string(), health: z.string() })) })),
});

test("both replicas are scraped by the ServiceMonitor, and the vault by the PodMonitor", async () => {
  const jobs = ["vaultsync-metrics 1", "vaultsync-metrics 1"];
  await expect.poll(targets, slow).toEqual([...jobs, "vaultsync-vault/vaultsync-vault 1"]);
});

/** Returns the alerts and whether Prometheus could evaluate them. */
async function evaluated(): Promise<string[]> {
  const { groups } = await query("/rules?type=alert", Rules);
  return groups
    .flatMap(({ rules }) => rules)
    .map(({ name, health }) => `${name} ${health}`)
    .toSorted();
}

test("Prometheus evaluates each shipped alert", async () => {
  const names = parts.flatMap((part) => alertsOf(part).map(({ alert }) => `${alert} ok`));
  await expect.poll(evaluated, slow).toEqual(names.toSorted());
});

test("an alert fires for a resource without its secret, until the secret exists", async () => {
  const alerts = ["VaultsyncNotReady"];
  const late = (): Promise<string[]> => firing(...alerts);
  expect(await late()).toEqual([]);
  await namespace.apply(vaultSecret("late", { password: "prometheus-late" }));
  await expect.poll(late, slow).toEqual(alerts);
  const value = await namespace.protect("prometheus-late");
  await namespace.secretHas("late", "password", value);
  await expect.poll(late, slow).toEqual([]);
});

test("alerts fire while the vault is stopped, and stop after its start", async () => {
  const alerts = ["VaultsyncCircuitOpen", "VaultsyncNoVault", "VaultsyncVaultDown"];
  const outage = (): Promise<string[]> => firing(...alerts);
  const before = await namespace.protect("prometheus-outage");
  await namespace.apply(vaultSecret("outage", { password: "prometheus-outage" }));
  await namespace.secretHas("outage", "password", before);
  await expect.poll(outage, slow).toEqual([]);
  await scale("statefulset", vaultRelease, 0);
  await expect.poll(outage, slow).toEqual(alerts);
  await scale("statefulset", vaultRelease, 1);
  await expect.poll(outage, slow).toEqual([]);
  const after = await namespace.protect("prometheus-outage");
  await namespace.secretHas("outage", "password", after);
});

test("an alert fires while the operator is stopped, and stops after its start", async () => {
  const alerts = ["VaultsyncDown"];
  const down = (): Promise<string[]> => firing(...alerts);
  await expect.poll(down, slow).toEqual([]);
  await scale("deployment", operatorRelease, 0);
  await expect.poll(down, slow).toEqual(alerts);
  await scale("deployment", operatorRelease, 2);
  await expect.poll(down, slow).toEqual([]);
  await expect.poll(() => readyOperators(namespace.cluster), slow).toEqual([true, true]);
});
