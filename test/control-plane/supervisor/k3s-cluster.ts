import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { apiRequest, type ApiAccess } from "../api-request.ts";
import { auditPolicy } from "./audit-policy.ts";
import type { Cluster } from "./cluster.ts";
import { waitUntil } from "../../support/clock/wait-until.ts";
import { freePort } from "./free-port.ts";
import { administrator, tokenOf, type Identities } from "./identities.ts";

const run = promisify(execFile);
const mount = "/vaultsync";
const readyTimeoutMs = 180_000;

/**
 * Starts a k3s server without its agent in a container. It is one process instead of three, runs as the calling user, and has the
 * directory mounted for its certificates and audit log. Its parts are not timed separately.
 */
export async function startK3sCluster(options: {
  directory: string;
  image: string;
  kubectl: string;
  identities: Identities;
  note: (line: string) => void;
  signal: AbortSignal;
}): Promise<Cluster> {
  const { directory, image, kubectl, identities, note, signal } = options;
  const name = `vaultsync-control-plane-${randomBytes(6).toString("hex")}`;
  await mkdir(join(directory, "k3s"));
  await writeFile(join(directory, "audit-policy.yaml"), auditPolicy);
  // In its own process group, so that it outlives the end of this one.
  const remove = (): void =>
    void spawn("docker", ["rm", "--force", "--volumes", name], { detached: true, stdio: "ignore" }).on("error", () => {});
  signal.addEventListener("abort", remove);

  const started = performance.now();
  const port = await freePort();
  await run("docker", ["run", "--detach", "--name", name, ...containerArguments(directory, port), image, ...serverArguments()]);
  const access = { server: `https://127.0.0.1:${port}`, ca: "", token: tokenOf(identities.users, administrator) };
  const ca = await waitUntil(
    "k3s writes its CA",
    () => readFile(join(directory, "k3s/server/tls/server-ca.crt"), "utf8"),
    readyTimeoutMs,
  );
  const trusted: ApiAccess = { ...access, ca };
  const ready = (path: string) => waitUntil(`k3s serves ${path}`, () => isOk(trusted, path), readyTimeoutMs);
  await ready("/readyz");
  const apiServerUp = performance.now();
  await ready("/api/v1/namespaces/default/serviceaccounts/default");
  const managerUp = performance.now();
  note(`k3s is ready at ${trusted.server} after ${((managerUp - started) / 1000).toFixed(1)} s`);
  return {
    access: trusted,
    kubectl,
    auditLog: join(directory, "audit.log"),
    timings: { etcd: 0, apiserver: apiServerUp - started, controllerManager: managerUp - apiServerUp },
    stopApiServer: async () => void (await run("docker", ["stop", name])),
    startApiServer: async () => {
      await run("docker", ["start", name]);
      await ready("/readyz");
    },
    startSecondApiServer: () => {
      throw new Error("k3s runs one API server: set KUBEBUILDER_ASSETS, or stop the Docker daemon to use another source");
    },
    stopSecondApiServer: () => Promise.resolve(),
  };
}

function containerArguments(directory: string, port: number): string[] {
  const user = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  return ["--user", user, "--volume", `${directory}:${mount}`, "--publish", `127.0.0.1:${port}:6443`];
}

function serverArguments(): string[] {
  const apiServer = ["token-auth-file=tokens.csv", "audit-log-path=audit.log", "audit-policy-file=audit-policy.yaml"];
  return [
    "server",
    "--disable-agent",
    "--disable-scheduler",
    "--disable-cloud-controller",
    "--disable-network-policy",
    "--disable-helm-controller",
    "--disable=coredns,local-storage,metrics-server,servicelb,traefik",
    "--tls-san=127.0.0.1",
    "--kube-apiserver-arg=enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
    `--data-dir=${mount}/k3s`,
    `--write-kubeconfig=${mount}/k3s/kubeconfig`,
    ...apiServer.map((argument) => argument.replace(/=/, `=${mount}/`)).map((argument) => `--kube-apiserver-arg=${argument}`),
  ];
}

async function isOk(access: ApiAccess, path: string): Promise<boolean> {
  return (await apiRequest(access, { path, timeoutMs: 2000 })).status === 200;
}
