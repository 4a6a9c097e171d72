import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { K3sContainer } from "@testcontainers/k3s";
import { PullPolicy, Wait } from "testcontainers";
import { parse } from "yaml";
import { z } from "zod";
import { docker } from "../../docker/docker.ts";
import { apiRequest, type ApiAccess } from "../api-request.ts";
import { type Cluster, auditPolicy } from "./cluster.ts";
import { waitUntil } from "../../clock/wait-until.ts";
import { freePort } from "./free-port.ts";
import { administrator, tokenOf, type Identities } from "./identities.ts";

const mount = "/vaultsync";
const apiServerPort = 6443;
const readyTimeoutMs = 180_000;

const Kubeconfig = z.object({
  clusters: z.tuple([
    z.object({ cluster: z.object({ "certificate-authority-data": z.base64() }) }),
  ]),
});

/**
 * The server of k3s without its agent, on one loopback port that it keeps when it is stopped and
 * started.
 */
export class K3sServer extends K3sContainer {
  /** `directory` has the tokens and the audit policy, and gets the audit log. */
  constructor(
    image: string,
    { name, directory, port }: { name: string; directory: string; port: number },
  ) {
    super(image);
    this.withName(name)
      .withPullPolicy(PullPolicy.neverPull())
      // The supervisor removes it; the container that testcontainers would start for that has to be
      // pulled.
      .withAutoCleanup(false)
      .withBindMounts([{ source: directory, target: mount }])
      .withCommand(serverArguments())
      .withStartupTimeout(readyTimeoutMs)
      .withWaitStrategy(Wait.forLogMessage(/Wrote kubeconfig/u));
    this.exposedPorts = [apiServerPort];
    this.hostConfig.PortBindings = {
      [`${apiServerPort}/tcp`]: [{ HostIp: "127.0.0.1", HostPort: String(port) }],
    };
  }
}

/**
 * Starts k3s in a container: one process instead of three, whose parts are not timed separately.
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
  await writeFile(join(directory, "audit-policy.yaml"), auditPolicy);
  // The server runs as root, and appends to the file of this user.
  await writeFile(join(directory, "audit.log"), "", { mode: 0o600 });
  // In a separate process group: it outlives the end of this process.
  const remove = (): void =>
    void spawn("docker", ["rm", "--force", "--volumes", name], {
      detached: true,
      stdio: "ignore",
    }).on("error", () => {});
  signal.addEventListener("abort", remove);

  const started = performance.now();
  const port = await freePort();
  const container = await new K3sServer(image, { name, directory, port }).start();
  const [{ cluster }] = Kubeconfig.parse(parse(container.getKubeConfig())).clusters;
  const ca = Buffer.from(cluster["certificate-authority-data"], "base64").toString("utf8");
  const access: ApiAccess = {
    server: `https://127.0.0.1:${port}`,
    ca,
    token: tokenOf(identities.users, administrator),
  };
  const ready = (path: string) =>
    waitUntil(`k3s serves ${path}`, () => isOk(access, path), readyTimeoutMs);
  await ready("/readyz");
  const apiServerUp = performance.now();
  await ready("/api/v1/namespaces/default/serviceaccounts/default");
  const managerUp = performance.now();
  note(`k3s is ready at ${access.server} after ${((managerUp - started) / 1000).toFixed(1)} s`);
  return {
    access,
    kubectl,
    auditLog: join(directory, "audit.log"),
    timings: {
      etcd: 0,
      apiserver: apiServerUp - started,
      controllerManager: managerUp - apiServerUp,
    },
    stopApiServer: async () => void (await docker(["stop", name])),
    startApiServer: async () => {
      await docker(["start", name]);
      await ready("/readyz");
    },
    startSecondApiServer: () => {
      throw new Error(
        "k3s runs one API server: set KUBEBUILDER_ASSETS, or stop the Docker daemon to use another source",
      );
    },
    stopSecondApiServer: () => Promise.resolve(),
  };
}

function serverArguments(): string[] {
  const apiServer = [
    "token-auth-file=tokens.csv",
    "audit-log-path=audit.log",
    "audit-policy-file=audit-policy.yaml",
  ];
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
    ...apiServer
      .map((argument) => argument.replace(/=/, `=${mount}/`))
      .map((argument) => `--kube-apiserver-arg=${argument}`),
  ];
}

async function isOk(access: ApiAccess, path: string): Promise<boolean> {
  return (await apiRequest(access, { path, timeoutMs: 2000 })).status === 200;
}
