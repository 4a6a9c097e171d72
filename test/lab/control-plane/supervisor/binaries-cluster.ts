import { readFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { apiRequest, type ApiAccess } from "../api-request.ts";
import { kubeconfig } from "../kubeconfig.ts";
import { type Cluster, auditPolicy } from "./cluster.ts";
import { Component } from "./component.ts";
import { freePort } from "./free-port.ts";
import { administrator, controllerManager, tokenOf, type Identities } from "./identities.ts";

/** Name of etcd's Unix socket in the directory; etcd requires the form of a host and a port. */
const etcdSocket = "etcd:1";
const peerSocket = "etcd:2";

/** Address on which an API server listens, and the arguments that depend on it. */
export interface ApiServerPlace {
  readonly address: string;
  /** Omitted: a free one. */
  readonly port?: number;
  readonly arguments: readonly string[];
  readonly controllers: string;
}

/** Without nodes. */
const onLoopback: ApiServerPlace = {
  address: "127.0.0.1",
  arguments: [
    // A machine without a network has no other address, and no request is routed to this one.
    "--advertise-address=127.0.0.1",
    "--endpoint-reconciler-type=none",
    "--authorization-mode=RBAC",
    // The operator's owner references then require the permissions of deploy/.
    "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
    "--service-cluster-ip-range=10.0.0.0/24",
  ],
  controllers: "*,-nodeipam,-nodelifecycle",
};

/** Starts etcd, kube-apiserver and kube-controller-manager as child processes in `directory`. */
export async function startBinariesCluster(options: {
  directory: string;
  binaries: string;
  identities: Identities;
  note: (line: string) => void;
  signal: AbortSignal;
  place?: ApiServerPlace;
}): Promise<Cluster> {
  const { directory, binaries, identities, note, place = onLoopback } = options;
  const etcd = new Component("etcd", options);
  const apiServer = new Component("kube-apiserver", options);
  const secondApiServer = new Component("kube-apiserver", options);
  const manager = new Component("kube-controller-manager", options);

  const started = performance.now();
  await etcd.start(etcdArguments(), () => etcdIsHealthy(join(directory, etcdSocket)));
  const etcdUp = performance.now();
  note(`etcd is up after ${seconds(etcdUp - started)}`);

  const { args, access } = await startOnFreePort(apiServer, directory, identities, place);
  const apiServerUp = performance.now();
  note(`kube-apiserver is ready at ${access.server} after ${seconds(apiServerUp - etcdUp)}`);

  const managerArgs = await managerArguments(directory, access, identities, place);
  await manager.start(managerArgs, () => hasDefaultServiceAccount(access));
  const managerUp = performance.now();
  note(`kube-controller-manager works after ${seconds(managerUp - apiServerUp)}`);

  return {
    access,
    kubectl: join(binaries, "kubectl"),
    auditLog: join(directory, "audit.log"),
    timings: {
      etcd: etcdUp - started,
      apiserver: apiServerUp - etcdUp,
      controllerManager: managerUp - apiServerUp,
    },
    stopApiServer: () => apiServer.stop(),
    startApiServer: () => startAgain(apiServer, args, access),
    startSecondApiServer: async () => {
      const second = { ...access, server: `https://${place.address}:${await freePort()}` };
      const port = Number(new URL(second.server).port);
      await startAgain(
        secondApiServer,
        apiServerArguments(directory, { port, auditLog: "second-audit.log" }, identities, place),
        second,
      );
      return second.server;
    },
    stopSecondApiServer: () => secondApiServer.stop(),
  };
}

async function startOnFreePort(
  apiServer: Component,
  directory: string,
  identities: Identities,
  place: ApiServerPlace,
) {
  const certificates = join(directory, "certificates");
  await mkdir(certificates);
  await writeFile(join(directory, "audit-policy.yaml"), auditPolicy);
  for (let attempt = 1; ; attempt++) {
    const port = place.port ?? (await freePort());
    const args = apiServerArguments(directory, { port, auditLog: "audit.log" }, identities, place);
    let access: ApiAccess | undefined;
    try {
      await apiServer.start(args, async () => {
        // Read each time: a certificate that is being written is not complete.
        access = await accessOnceWritten(
          `https://${place.address}:${port}`,
          certificates,
          tokenOf(identities.users, administrator),
        );
        return access !== undefined && isReady(access);
      });
      if (access !== undefined) return { args, access };
    } catch (error) {
      const portTaken = error instanceof Error && error.message.includes("address already in use");
      if (!portTaken || attempt === 5) throw error;
    }
  }
}

/** Starts the API server again and retries while another process uses its port. */
async function startAgain(
  apiServer: Component,
  args: readonly string[],
  access: ApiAccess,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await apiServer.start(args, () => isReady(access));
      return;
    } catch (error) {
      const portTaken = error instanceof Error && error.message.includes("address already in use");
      if (!portTaken || attempt === 10) throw error;
      await sleep(1000);
    }
  }
}

function etcdArguments(): string[] {
  return [
    "--data-dir=etcd",
    `--listen-client-urls=unix://${etcdSocket}`,
    `--advertise-client-urls=unix://${etcdSocket}`,
    `--listen-peer-urls=unix://${peerSocket}`,
    `--initial-advertise-peer-urls=unix://${peerSocket}`,
    `--initial-cluster=default=unix://${peerSocket}`,
    "--unsafe-no-fsync",
    "--log-level=warn",
  ];
}

/**
 * Returns the arguments of kube-apiserver. Paths are relative to the directory: every component
 * works in it.
 */
function apiServerArguments(
  directory: string,
  { port, auditLog }: { readonly port: number; readonly auditLog: string },
  identities: Identities,
  place: ApiServerPlace,
): string[] {
  return [
    `--etcd-servers=unix://${directory}/${etcdSocket}`,
    `--secure-port=${port}`,
    `--bind-address=${place.address}`,
    "--cert-dir=certificates",
    `--token-auth-file=${identities.tokenFile}`,
    `--service-account-key-file=${identities.serviceAccountPublicKey}`,
    `--service-account-signing-key-file=${identities.serviceAccountKey}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    ...place.arguments,
    `--audit-log-path=${auditLog}`,
    "--audit-log-maxsize=4096",
    "--audit-policy-file=audit-policy.yaml",
  ];
}

async function managerArguments(
  directory: string,
  access: ApiAccess,
  identities: Identities,
  { controllers }: ApiServerPlace,
): Promise<string[]> {
  const file = join(directory, "controller-manager.kubeconfig");
  const token = tokenOf(identities.users, controllerManager);
  await writeFile(file, kubeconfig({ ...access, token, user: controllerManager }), { mode: 0o600 });
  return [
    `--kubeconfig=${file}`,
    `--service-account-private-key-file=${identities.serviceAccountKey}`,
    "--root-ca-file=certificates/apiserver.crt",
    "--use-service-account-credentials",
    `--controllers=${controllers}`,
    "--leader-elect=false",
    "--secure-port=0",
  ];
}

function etcdIsHealthy(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = request(
      { socketPath, path: "/health", signal: AbortSignal.timeout(1000) },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    probe.on("error", () => resolve(false));
    probe.end();
  });
}

async function accessOnceWritten(
  server: string,
  certificates: string,
  token: string,
): Promise<ApiAccess | undefined> {
  try {
    const ca = await readFile(join(certificates, "apiserver.crt"), "utf8");
    return { server, ca, token };
  } catch {
    return undefined;
  }
}

async function succeeds(access: ApiAccess, path: string): Promise<boolean> {
  try {
    return (await apiRequest(access, { path, timeoutMs: 2000 })).status === 200;
  } catch {
    return false;
  }
}

const isReady = (access: ApiAccess): Promise<boolean> => succeeds(access, "/readyz");
const hasDefaultServiceAccount = (access: ApiAccess): Promise<boolean> =>
  succeeds(access, "/api/v1/namespaces/default/serviceaccounts/default");

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
