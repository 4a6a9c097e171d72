import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import type { Progress } from "../control-plane/progress.ts";
import { type GoModule, goPrograms } from "../tools/go-tool.ts";
import type { NodeCluster } from "./node-cluster.ts";
import { modules, small, writeProgramImage } from "./programs.ts";

const operatorModule = "github.com/prometheus-operator/prometheus-operator";
const image = (program: string): string => `docker.io/library/${program}:local`;

const prometheus: GoModule = {
  name: "prometheus",
  directory: join(modules, "prometheus"),
  programs: { prometheus: "github.com/prometheus/prometheus/cmd/prometheus" },
  flags: ["-tags=remove_all_sd,enable_kubernetes_sd", ...small],
  finish: (directory) => writeProgramImage(directory, "prometheus", image("prometheus")),
};

const kinds = [
  "podmonitors",
  "probes",
  "prometheuses",
  "prometheusrules",
  "servicemonitors",
] as const;

const operator: GoModule = {
  name: "prometheus-operator",
  directory: join(modules, "prometheus-operator"),
  programs: {
    operator: `${operatorModule}/cmd/operator`,
    "prometheus-config-reloader": `${operatorModule}/cmd/prometheus-config-reloader`,
  },
  flags: small,
  finish: async (directory, go) => {
    for (const program of Object.keys(operator.programs))
      await writeProgramImage(directory, program, image(program));
    const source = await go.moduleDirectory(operator.directory, operatorModule);
    const crds = join(source, "example/prometheus-operator-crd");
    for (const kind of kinds) {
      const file = `monitoring.coreos.com_${kind}.yaml`;
      await copyFile(join(crds, file), join(directory, file));
    }
  },
};

/** Directories of the images of Prometheus and its operator, and of the CRDs. */
export interface MonitoringPrograms {
  readonly prometheus: string;
  readonly operator: string;
}

/** Returns Prometheus and its operator from the user's cache, built once in about ten minutes. */
export async function monitoringPrograms(progress: Progress): Promise<MonitoringPrograms> {
  return {
    prometheus: await goPrograms(prometheus, progress),
    operator: await goPrograms(operator, progress),
  };
}

const namespace = "monitoring";

/** Returns a ServiceAccount with permissions in all namespaces. */
function account(name: string, rules: readonly object[]): object[] {
  const api = "rbac.authorization.k8s.io";
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } },
    { apiVersion: `${api}/v1`, kind: "ClusterRole", metadata: { name }, rules },
    {
      apiVersion: `${api}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup: api, kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    },
  ];
}

function operatorObjects(): object[] {
  const name = "prometheus-operator";
  const metadata = { name, namespace };
  const labels = { app: name };
  const args = [`--prometheus-config-reloader=${image("prometheus-config-reloader")}`];
  const container = { name, image: image("operator"), args, imagePullPolicy: "Never" };
  return [
    ...account(name, [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]),
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { serviceAccountName: name, containers: [container] },
        },
      },
    },
  ];
}

/** A Prometheus that selects every PodMonitor and PrometheusRule of the cluster. */
function prometheusObjects(): object[] {
  const name = "prometheus";
  const read = ["get", "list", "watch"];
  return [
    ...account(name, [
      { apiGroups: [""], resources: ["pods", "services", "endpoints"], verbs: read },
    ]),
    {
      apiVersion: "monitoring.coreos.com/v1",
      kind: "Prometheus",
      metadata: { name, namespace },
      spec: {
        image: image("prometheus"),
        version: "3.16.0",
        serviceAccountName: name,
        evaluationInterval: "5s",
        podMonitorSelector: {},
        podMonitorNamespaceSelector: {},
        serviceMonitorSelector: {},
        serviceMonitorNamespaceSelector: {},
        ruleSelector: {},
        ruleNamespaceSelector: {},
        resources: { requests: { memory: "128Mi" } },
        securityContext: { runAsNonRoot: true, runAsUser: 65_534, fsGroup: 65_534 },
      },
    },
  ];
}

/**
 * Starts the Prometheus Operator in the namespace `monitoring`, with a Prometheus that this machine
 * reaches. Returns its address.
 */
export async function startPrometheus(
  cluster: NodeCluster,
  programs: MonitoringPrograms,
): Promise<string> {
  await cluster.importImage(join(programs.prometheus, "prometheus.tar"));
  for (const program of Object.keys(operator.programs))
    await cluster.importImage(join(programs.operator, `${program}.tar`));
  for (const kind of kinds) {
    const crd = join(programs.operator, `monitoring.coreos.com_${kind}.yaml`);
    await cluster.kubectlOutput(["apply", "--server-side", `--filename=${crd}`]);
  }
  await cluster.kubectlOutput(["wait", "--for=condition=Established", "crd", "--all"]);
  await cluster.createNamespace(namespace, namespace);
  await cluster.apply([...operatorObjects(), ...prometheusObjects()]);
  const pod = "prometheus-prometheus-0";
  const created = ["wait", "--for=create", "--timeout=120s", `pod/${pod}`];
  await cluster.kubectlOutput(created, { namespace });
  return `http://${await cluster.readyPod(pod, namespace)}:9090`;
}
