import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { waitUntil } from "../../clock/wait-until.ts";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { apiRequest, type ApiAccess } from "../api-request.ts";
import { kubeconfig } from "../kubeconfig.ts";
import { type Cluster, auditPolicy } from "./cluster.ts";
import { freePort } from "./free-port.ts";
import { administrator, controllerManager, tokenOf, type Identities } from "./identities.ts";

const restartDelayMs = 1000;
/**
 * Time between SIGTERM and SIGKILL. Watches do not end by themselves: an API server would wait a
 * minute for them.
 */
const gracePeriodMs = 2000;
const readyTimeoutMs = 120_000;

interface ComponentOptions {
  /** Directory of the executable. */
  readonly binaries: string;
  /** Working directory. It also contains `<name>.log`. */
  readonly directory: string;
  /** Kills the process when aborted; its data is not needed any more. */
  readonly signal: AbortSignal;
}

/** One server of the control plane, restarted when it dies unexpectedly. */
class Component {
  private readonly name: string;
  private readonly options: ComponentOptions;
  private child: ChildProcess | undefined;
  private supervised = false;

  constructor(name: string, options: ComponentOptions) {
    this.name = name;
    this.options = options;
  }

  /**
   * Starts the server and waits until `ready` returns true. Afterwards it is restarted whenever it
   * dies by itself.
   * @throws Error with the end of its log when it dies first or is not ready after two minutes
   */
  async start(args: readonly string[], ready: () => Promise<boolean>): Promise<void> {
    const child = this.spawn(args);
    const settled = async (): Promise<boolean> => hasEnded(child) || (await ready());
    const inTime = await waitUntil(`${this.name} is ready`, settled, readyTimeoutMs, 50).catch(
      () => false,
    );
    if (hasEnded(child)) throw new Error(`${this.name} ended:\n${await this.logTail()}`);
    if (!inTime)
      throw new Error(`${this.name} is not ready after two minutes:\n${await this.logTail()}`);
    this.supervised = true;
  }

  /** Stops the server and does not restart it. */
  async stop(): Promise<void> {
    this.supervised = false;
    const child = this.child;
    if (child === undefined || hasEnded(child)) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    const timeout = setTimeout(() => child.kill("SIGKILL"), gracePeriodMs);
    await ended;
    clearTimeout(timeout);
  }

  private async logTail(): Promise<string> {
    const text = await readFile(this.logFile(), "utf8");
    return text.trimEnd().split("\n").slice(-8).join("\n");
  }

  private logFile(): string {
    return join(this.options.directory, `${this.name}.log`);
  }

  private spawn(args: readonly string[]): ChildProcess {
    const { binaries, directory, signal } = this.options;
    const log = openSync(this.logFile(), "a", 0o600);
    const stdio: ["ignore", number, number] = ["ignore", log, log];
    const child = spawn(join(binaries, this.name), args, {
      cwd: directory,
      stdio,
      signal,
      killSignal: "SIGKILL",
    });
    closeSync(log);
    this.child = child;
    // `hasEnded` reports a file that is not executable; an abort is intended.
    child.on("error", () => {});
    child.on("exit", () => {
      setTimeout(() => {
        if (this.supervised && this.child === child && !signal.aborted) this.spawn(args);
      }, restartDelayMs);
    });
    return child;
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/** Name of etcd's Unix socket in the directory; etcd requires the form of a host and a port. */
const etcdSocket = "etcd:1";
const peerSocket = "etcd:2";

/** Starts etcd, kube-apiserver and kube-controller-manager as child processes in `directory`. */
export async function startBinariesCluster(options: {
  directory: string;
  binaries: string;
  identities: Identities;
  note: (line: string) => void;
  signal: AbortSignal;
}): Promise<Cluster> {
  const { directory, binaries, identities, note } = options;
  const etcd = new Component("etcd", options);
  const apiServer = new Component("kube-apiserver", options);
  const secondApiServer = new Component("kube-apiserver", options);
  const manager = new Component("kube-controller-manager", options);

  const started = performance.now();
  await etcd.start(etcdArguments(), () => etcdIsHealthy(join(directory, etcdSocket)));
  const etcdUp = performance.now();
  note(`etcd is up after ${seconds(etcdUp - started)}`);

  const { args, access } = await startOnFreePort(apiServer, directory, identities);
  const apiServerUp = performance.now();
  note(`kube-apiserver is ready at ${access.server} after ${seconds(apiServerUp - etcdUp)}`);

  await manager.start(await managerArguments(directory, access, identities), () =>
    hasDefaultServiceAccount(access),
  );
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
      const second = { ...access, server: `https://127.0.0.1:${await freePort()}` };
      const port = Number(new URL(second.server).port);
      await startAgain(
        secondApiServer,
        apiServerArguments(directory, { port, auditLog: "second-audit.log" }, identities),
        second,
      );
      return second.server;
    },
    stopSecondApiServer: () => secondApiServer.stop(),
  };
}

async function startOnFreePort(apiServer: Component, directory: string, identities: Identities) {
  const certificates = join(directory, "certificates");
  await mkdir(certificates);
  await writeFile(join(directory, "audit-policy.yaml"), auditPolicy);
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const args = apiServerArguments(directory, { port, auditLog: "audit.log" }, identities);
    let access: ApiAccess | undefined;
    try {
      await apiServer.start(args, async () => {
        // Read each time: a certificate that is being written is not complete.
        access = await accessOnceWritten(
          port,
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
): string[] {
  return [
    `--etcd-servers=unix://${directory}/${etcdSocket}`,
    `--secure-port=${port}`,
    "--bind-address=127.0.0.1",
    // A machine without a network has no other address, and no request is routed to this one.
    "--advertise-address=127.0.0.1",
    "--endpoint-reconciler-type=none",
    "--cert-dir=certificates",
    `--token-auth-file=${identities.tokenFile}`,
    `--service-account-key-file=${identities.serviceAccountPublicKey}`,
    `--service-account-signing-key-file=${identities.serviceAccountKey}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    "--authorization-mode=RBAC",
    // The operator's owner references then require the permissions of deploy/.
    "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
    "--service-cluster-ip-range=10.0.0.0/24",
    `--audit-log-path=${auditLog}`,
    "--audit-log-maxsize=4096",
    "--audit-policy-file=audit-policy.yaml",
  ];
}

async function managerArguments(
  directory: string,
  access: ApiAccess,
  identities: Identities,
): Promise<string[]> {
  const file = join(directory, "controller-manager.kubeconfig");
  const token = tokenOf(identities.users, controllerManager);
  await writeFile(file, kubeconfig({ ...access, token, user: controllerManager }), { mode: 0o600 });
  return [
    `--kubeconfig=${file}`,
    `--service-account-private-key-file=${identities.serviceAccountKey}`,
    "--root-ca-file=certificates/apiserver.crt",
    "--use-service-account-credentials",
    "--controllers=*,-nodeipam,-nodelifecycle",
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
  port: number,
  certificates: string,
  token: string,
): Promise<ApiAccess | undefined> {
  try {
    const ca = await readFile(join(certificates, "apiserver.crt"), "utf8");
    return { server: `https://127.0.0.1:${port}`, ca, token };
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
