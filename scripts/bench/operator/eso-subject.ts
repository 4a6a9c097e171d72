import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { operationPath } from "../../../src/protocol/operation-paths.ts";
import { accountOf } from "./content.ts";
import { VALUE_KEY } from "./secret-watch.ts";
import type { Stage } from "./stage.ts";
import { INTERVAL_SECONDS, type RunningSubject, type Subject, type Work } from "./subject.ts";

const apiVersion = "external-secrets.io/v1";
const SERVICE_ACCOUNT = { serviceAccount: "external-secrets", namespace: "default" };
/** The user as whom it sends requests to the API server. */
export const ESO_USER = `system:serviceaccount:${SERVICE_ACCOUNT.namespace}:${SERVICE_ACCOUNT.serviceAccount}`;

/** The settings that its documentation and issues advise for many resources. */
const TUNED = [
  "--concurrent=50",
  "--client-qps=1000",
  "--client-burst=2000",
  "--enable-secrets-caching",
];

export interface EsoFiles {
  /** The binary `external-secrets`. */
  readonly program: string;
  /** The definitions of its custom resources. */
  readonly crds: string;
}

/** External Secrets Operator with its webhook provider at the same vault. */
export function externalSecrets(mode: "defaults" | "tuned", files: EsoFiles): Subject {
  return {
    label: `ESO ${mode}`,
    user: ESO_USER,
    kind: "ExternalSecret",
    plural: "externalsecrets",
    prepare: (stage) => installEso(stage, files.crds),
    create,
    start: (stage, namespace) =>
      start(stage, namespace, files.program, mode === "tuned" ? TUNED : []),
  };
}

/** Installs its definitions, and its ServiceAccount. */
export async function installEso(stage: Stage, crds: string): Promise<void> {
  const { serviceAccount, namespace } = SERVICE_ACCOUNT;
  const steps = [
    ["apply", "--server-side", "--force-conflicts", "-f", crds],
    ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"],
    ["create", "serviceaccount", serviceAccount, "-n", namespace],
    [
      "create",
      "clusterrolebinding",
      serviceAccount,
      "--clusterrole=cluster-admin",
      `--serviceaccount=${namespace}:${serviceAccount}`,
    ],
  ];
  for (const args of steps) {
    const { code, stderr } = await stage.plane.kubectl(args);
    if (code !== 0 && !/already ?exists/iu.test(stderr))
      throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
  }
}

async function create(stage: Stage, { namespace, content, url }: Work): Promise<void> {
  const connections = Array.from({ length: content.connections }, (_, index) => index);
  const tokens = connections.map((index) => ({
    kind: "Secret",
    apiVersion: "v1",
    metadata: { name: `store-${index}`, labels: { "external-secrets.io/type": "webhook" } },
    stringData: { token: content.tokenOf(index) },
  }));
  const stores = connections.map((index) => ({
    kind: "SecretStore",
    apiVersion,
    metadata: { name: `store-${index}` },
    spec: {
      provider: {
        webhook: {
          url: `${url}${operationPath.expose}`,
          method: "POST",
          headers: { "Content-Type": "application/json", Authorization: "{{ .auth.token }}" },
          body: `{"email":"${accountOf(index)}","key_name":"{{ .remoteRef.key }}"}`,
          result: { jsonPath: "$.key_value" },
          secrets: [{ name: "auth", secretRef: { name: `store-${index}`, key: "token" } }],
        },
      },
    },
  }));
  const secrets = content.names.map((name, at) => ({
    kind: "ExternalSecret",
    apiVersion,
    metadata: { name },
    spec: {
      refreshInterval: `${INTERVAL_SECONDS}s`,
      secretStoreRef: { kind: "SecretStore", name: `store-${at % content.connections}` },
      target: { name },
      data: [{ secretKey: VALUE_KEY, remoteRef: { key: name } }],
    },
  }));
  for (const objects of [tokens, stores, secrets]) await stage.kube.create(namespace, objects);
}

async function start(
  stage: Stage,
  namespace: string,
  program: string,
  flags: readonly string[],
): Promise<RunningSubject> {
  const KUBECONFIG = await stage.plane.kubeconfigFor(SERVICE_ACCOUNT);
  const addresses = ["--metrics-addr=127.0.0.1:0", "--live-addr=127.0.0.1:0"];
  // Its other controllers need the definitions of all its kinds, and have no work here.
  const only = ["ClusterStore", "ClusterExternalSecret", "ClusterPushSecret", "PushSecret"].map(
    (name) => `--enable-${name.replaceAll(/\B[A-Z]/g, "-$&").toLowerCase()}-reconciler=false`,
  );
  const args = ["--namespace", namespace, ...addresses, ...only, "--loglevel=error", ...flags];
  const child = spawn(program, args, {
    env: { PATH: process.env["PATH"], KUBECONFIG },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (log = (log + text).slice(-4_000)));
  const exited = once(child, "exit");
  const hasExited = (): boolean => child.exitCode !== null || child.signalCode !== null;
  await Promise.race([sleep(1_000), exited]);
  if (hasExited()) throw new Error(`${program} exited: ${log}`);
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (!hasExited()) child.kill(signal);
    await exited;
  };
  return { pid: child.pid ?? 0, stop, [Symbol.asyncDispose]: () => stop("SIGKILL") };
}
