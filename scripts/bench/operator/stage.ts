import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { hashPassword } from "../../../src/vault/server/accounts/password-hasher.ts";
import { terminalProgress, type Progress } from "../../../test/lab/control-plane/progress.ts";
import {
  startControlPlane,
  type OwnedControlPlane,
} from "../../../test/lab/control-plane/start.ts";
import { installOperator } from "../../../test/lab/kube/install-crds.ts";
import { valueIn } from "../../../test/lab/monitoring/scrape.ts";
import { secretThrough, vaultConnection } from "../../../test/lab/real/resources.ts";
import { SERVICE_ACCOUNT } from "../../../test/lab/real/world.ts";
import {
  OperatorProcess,
  type OperatorOptions,
} from "../../../test/lab/real/processes/operator-process.ts";
import { VaultServerProcess } from "../../../test/lab/real/processes/vault-server-process.ts";
import { CHEAP_HASH, StoreLocation } from "../../../test/lab/vault/store-location.ts";
import { VaultClient } from "../../../test/lab/vault/vault-client.ts";
import { KubeWriter } from "./kube-writer.ts";
import { VALUE_KEY } from "./secret-watch.ts";
import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SERVICE_ACCOUNT_DIRECTORY } from "../../../src/operator/kube/credentials/load-credentials.ts";
import type { ApiAccess } from "../../../test/lab/control-plane/api-request.ts";
import type { ProcessOptions } from "../../../test/lab/real/processes/vaultsync-process.ts";

/**
 * Mounts the ServiceAccount for one process, in a separate mount namespace, and executes the rest
 * of its arguments.
 */
const MOUNT = `mount -t tmpfs tmpfs /var/run && mkdir -p ${SERVICE_ACCOUNT_DIRECTORY} && mount --bind "$0" ${SERVICE_ACCOUNT_DIRECTORY} && exec "$@"`;

/**
 * Returns with what a process on this machine runs as in a pod: it finds its ServiceAccount where
 * the kubelet mounts it, and Node limits its heap as it does in a container with so much memory.
 * Requires user namespaces.
 */
async function podOptions(access: ApiAccess, directory: string, limitMiB: number) {
  const account = await mkdtemp(join(directory, "service-account-"));
  const files = { token: access.token, "ca.crt": access.ca, namespace: SERVICE_ACCOUNT.namespace };
  for (const [name, content] of Object.entries(files))
    await writeFile(join(account, name), content, { mode: 0o600 });
  const { hostname, port } = new URL(access.server);
  return {
    env: {
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
      NODE_ENV: "production",
    },
    through: ["unshare", "--map-root-user", "--mount", "sh", "-c", MOUNT, account],
    // What Node 26 derives from a limit of the container: half of it for old objects, and a 128th
    // for each half of the young ones.
    nodeArgs: [`--max-old-space-size=${limitMiB / 2}`, `--max-semi-space-size=${limitMiB / 128}`],
  } satisfies ProcessOptions;
}

interface ConnectionSpec {
  readonly email: string;
  /** URL of a proxy instead of the vault. */
  readonly url?: string;
  readonly refreshInterval?: string;
  readonly follow?: "Auto" | "Interval";
  readonly timeout?: string;
}

const statusList = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ generation: z.number() }),
      status: z
        .object({
          observedGeneration: z.number().optional(),
          conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
        })
        .optional(),
    }),
  ),
});

/**
 * `server`: the vault server on a SQLite file; `stub`: a process that stores everything in memory,
 * for more than some 10,000 secrets.
 */
export type VaultProgram = "server" | "stub";

interface BenchOptions extends OperatorOptions {
  /** With it, the operator runs as in a pod with this limit of its memory. */
  readonly limitMiB?: number;
}

/**
 * A control plane and a vault as processes of their own, with accounts, and operators as needed.
 * Disposing it stops everything.
 */
export class Stage implements AsyncDisposable {
  readonly plane: OwnedControlPlane;
  readonly vault: VaultServerProcess;
  readonly kube: KubeWriter;
  readonly progress: Progress;
  readonly #place: StoreLocation;
  /** Password of every account. */
  readonly password: string;
  readonly #running: AsyncDisposableStack;

  private constructor(parts: {
    plane: OwnedControlPlane;
    vault: VaultServerProcess;
    place: StoreLocation;
    progress: Progress;
    password: string;
    running: AsyncDisposableStack;
  }) {
    this.plane = parts.plane;
    this.vault = parts.vault;
    this.progress = parts.progress;
    this.#place = parts.place;
    this.password = parts.password;
    this.#running = parts.running;
    this.kube = parts.running.use(new KubeWriter(parts.plane.access));
  }

  static async start(
    accounts: readonly string[],
    program: VaultProgram = "server",
  ): Promise<Stage> {
    await using running = new AsyncDisposableStack();
    const progress = terminalProgress();
    const place = running.use(await StoreLocation.create("sqlite"));
    const password = randomBytes(12).toString("hex");
    const vault = running.use(
      program === "stub" ? await startStubVault() : await startVault(place, accounts, password),
    );
    const plane = running.use(await startControlPlane({ progress }));
    await installOperator(plane);
    progress.note("control plane and vault are ready");
    return new Stage({ plane, vault, place, progress, password, running: running.move() });
  }

  /** Returns a client of the vault with an access token, on kept connections. */
  async client(email: string): Promise<VaultClient> {
    const { url } = this.vault;
    return this.#running.use(
      await VaultClient.connect(url, email, this.password, { keepAlive: true }),
    );
  }

  /** Creates connections in a namespace, all with the same password. */
  async connections(namespace: string, specs: ReadonlyMap<string, ConnectionSpec>): Promise<void> {
    const objects = [...specs].map(([name, spec]) =>
      vaultConnection(name, { url: this.vault.url, ...spec, password: this.password }),
    );
    for (const kind of [0, 1] as const)
      await this.kube.create(
        namespace,
        objects.map((pair) => pair[kind]),
      );
  }

  /** Stores the first value of each name in the vault. */
  async fill(client: VaultClient, names: readonly string[]): Promise<void> {
    await forEach(names, (name) => protect(client, name, `${name} 0`));
  }

  /** Creates a VaultSecret for each name, with a target of the same name. */
  async secrets(namespace: string, connection: string, names: readonly string[]): Promise<void> {
    await this.kube.create(
      namespace,
      names.map((name) => secretThrough(connection, name, { [VALUE_KEY]: name })),
    );
  }

  /** Starts an operator for these namespaces, or for all if there are none. */
  async operator(
    namespaces: readonly string[],
    options: BenchOptions = {},
  ): Promise<OperatorProcess> {
    const args = [
      ...(namespaces.length > 0 ? ["--namespaces", namespaces.join()] : []),
      "--no-leader-elect",
    ];
    const { limitMiB, nodeArgs = [], ...others } = options;
    if (limitMiB === undefined)
      return OperatorProcess.start(await this.plane.kubeconfigFor(SERVICE_ACCOUNT), args, options);
    const token = await this.plane.serviceAccountToken(SERVICE_ACCOUNT);
    const pod = await podOptions({ ...this.plane.access, token }, this.plane.directory, limitMiB);
    return OperatorProcess.start(undefined, args, {
      ...others,
      ...pod,
      nodeArgs: [...pod.nodeArgs, ...nodeArgs],
    });
  }

  /** Launches one of several operators that elect a leader, and does not wait for it. */
  async replica(namespace: string): Promise<OperatorProcess> {
    const kubeconfig = await this.plane.kubeconfigFor(SERVICE_ACCOUNT);
    return OperatorProcess.launch(kubeconfig, ["--namespaces", namespace]);
  }

  /** Returns the number of resources of a kind that are Ready. */
  async readyCount(kind: string, namespace: string): Promise<number> {
    const { items } = statusList.parse(await this.kube.list(kind, namespace));
    const isReady = ({ status }: (typeof items)[number]): boolean =>
      status?.conditions.some((one) => one.type === "Ready" && one.status === "True") ?? false;
    return items.filter(isReady).length;
  }

  /** Returns the number of resources of a kind whose status is about their present spec. */
  async observedCount(kind: string, namespace: string): Promise<number> {
    const { items } = statusList.parse(await this.kube.list(kind, namespace));
    const isCurrent = ({ metadata, status }: (typeof items)[number]): boolean =>
      status?.observedGeneration === metadata.generation;
    return items.filter(isCurrent).length;
  }

  /**
   * Returns the number of responses of the vault by operation and status, such as `list_no_dup
   * 304`.
   */
  async vaultRequests(): Promise<Map<string, number>> {
    const response = await fetch(`${this.vault.metricsUrl}/metrics`);
    if (response.status !== 200) throw new Error(`metrics of the vault: ${response.status}`);
    const text = await response.text();
    const samples = text.matchAll(
      /^vaultsync_vault_requests_total\{operation="(\w+)",status="(\d+)"\} (\d+)$/gm,
    );
    return new Map(
      [...samples].map(([, operation, status, count]) => [`${operation} ${status}`, Number(count)]),
    );
  }

  /** Returns the size of etcd's file in bytes, with every revision that was written. */
  async etcdBytes(): Promise<number> {
    const text = await this.kube.metrics();
    const [, size] = /^apiserver_storage_size_bytes\{[^}]*\} (\S+)$/mu.exec(text) ?? [];
    if (size === undefined) throw new Error("the API server reports no size of etcd");
    return Number(size);
  }

  /** Changes the password of an account in the vault and ends its tokens. */
  async rotatePassword(email: string): Promise<void> {
    await using store = await this.#place.open();
    const passwordHash = await hashPassword(randomBytes(12).toString("hex"), CHEAP_HASH);
    await store.write(async ({ users, tokens }) => {
      await users.setPasswordHash({ email, passwordHash });
      await tokens.removeOf(email);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running.disposeAsync();
  }
}

/** Starts the vault that stores everything in memory. It ends with this process. */
export const startStubVault = (): Promise<VaultServerProcess> =>
  VaultServerProcess.start([], {
    program: join(import.meta.dirname, "stub-vault.ts"),
    holdInput: true,
  });

async function startVault(
  place: StoreLocation,
  accounts: readonly string[],
  password: string,
): Promise<VaultServerProcess> {
  await place.addAccounts(accounts, password);
  // --dev raises the rate limits of the vault.
  return VaultServerProcess.start(["--dev", ...place.args]);
}

/** Does a thing for each name, some at a time, from the last to the first. */
export async function forEach(
  names: readonly string[],
  act: (name: string) => Promise<void>,
): Promise<void> {
  const waiting = [...names];
  const work = async (): Promise<void> => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) await act(name);
  };
  await Promise.all(Array.from({ length: 8 }, work));
}

/**
 * Stores the next version, as fast as the vault permits to its account. @throws Error with the
 * status when the vault rejects it
 */
export async function protect(client: VaultClient, name: string, value: string): Promise<void> {
  for (;;) {
    const response = await client.call("protect", { key_name: name, key_value: value });
    if (response.status === 200) return;
    if (response.status !== 429) throw new Error(`protect: ${response.outcome()}`);
    await sleep(1_000);
  }
}

/** The metrics of an operator that show its work. */
export interface Work {
  /** Every connection was listed, every resource was reconciled at least once, and none waits. */
  readonly isQuiet: boolean;
  /** Number of reconciles of resources, whatever their outcome. */
  readonly reconciles: number;
  readonly meanReconcileMs: number;
  /**
   * CPU time of the process since its start, to tell the cost of the operator from other load on
   * the machine.
   */
  readonly cpuSeconds: number;
  /** Mean duration of a request for one value. */
  readonly meanExposeMs: number;
}

/**
 * Returns the work so far; the operator is quiet once it has listed so many connections and
 * reconciled so many resources.
 */
export async function workOf(
  operator: OperatorProcess,
  resources: number,
  connections = 1,
): Promise<Work> {
  const { body } = await operator.page("/metrics");
  const sample = (name: string): number => valueIn(body, name) ?? 0;
  const meanMs = (name: string, labels: string): number =>
    (sample(`${name}_sum{${labels}}`) / sample(`${name}_count{${labels}}`)) * 1_000;
  const reconciled = sample('vaultsync_reconciles_total{controller="sync",outcome="done"}');
  const waiting = sample('vaultsync_workqueue_depth{controller="sync"}');
  const listed = body.split("\nvaultsync_connection_last_success_timestamp_seconds{").length - 1;
  return {
    isQuiet: listed >= connections && waiting === 0 && reconciled >= resources,
    reconciles: sample('vaultsync_reconcile_duration_seconds_count{controller="sync"}'),
    meanReconcileMs: meanMs("vaultsync_reconcile_duration_seconds", 'controller="sync"'),
    cpuSeconds: sample("process_cpu_seconds_total"),
    meanExposeMs: meanMs("vaultsync_client_request_duration_seconds", 'operation="version_expose"'),
  };
}
