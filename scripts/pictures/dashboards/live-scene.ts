import { mkdir, rename, rmdir, mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ControlPlane } from "../../../test/lab/control-plane/control-plane.ts";
import { startControlPlane } from "../../../test/lab/control-plane/start.ts";
import { collection } from "../../../test/lab/real/resources.ts";
import { workload } from "../../../test/lab/real/workloads.ts";
import { FaultProxy } from "../../../test/lab/real/fault-proxy.ts";
import { OperatorProcess } from "../../../test/lab/real/processes/operator-process.ts";
import { VaultServerProcess } from "../../../test/lab/real/processes/vault-server-process.ts";
import { VaultClient } from "../../../test/lab/vault/vault-client.ts";
import type { Target } from "./prometheus.ts";

const accounts = { shop: "shop@example.com", billing: "billing@example.com" } as const;
type Namespace = keyof typeof accounts;
const namespaces: readonly Namespace[] = ["shop", "billing"];
const SECRETS = 12;
const names = Array.from({ length: SECRETS }, (_, index) => `service-${index}`);

/**
 * A control plane, a vault server with two accounts, and an operator with a connection for each,
 * all of them processes.
 */
export class LiveScene implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly operator: OperatorProcess;
  readonly vault: VaultServerProcess;
  readonly clients: Readonly<Record<Namespace, VaultClient>>;
  /** Network between the operator and the vault, for the namespace billing. */
  readonly network: FaultProxy;
  readonly #auditLog: string;
  readonly #running: AsyncDisposableStack;
  #changes = 0;

  private constructor(
    parts: Pick<LiveScene, "plane" | "operator" | "vault" | "clients" | "network">,
    auditLog: string,
    running: AsyncDisposableStack,
  ) {
    ({
      plane: this.plane,
      operator: this.operator,
      vault: this.vault,
      clients: this.clients,
      network: this.network,
    } = parts);
    this.#auditLog = auditLog;
    this.#running = running;
  }

  static async start(): Promise<LiveScene> {
    await using running = new AsyncDisposableStack();
    const directory = running.use(
      await mkdtempDisposable(join(tmpdir(), "vaultsync-pictures-")),
    ).path;
    const auditLog = join(directory, "audit.jsonl");
    const plane = running.use(await startControlPlane());
    for (const path of ["crds", "deploy/cluster"]) await plane.kubectl(["apply", "-k", path]);
    const flags = [
      "--dev",
      "--dev-users",
      Object.values(accounts).join(),
      "--audit-log",
      auditLog,
      "--quotas",
      "secrets=20",
    ];
    const vault = running.use(await VaultServerProcess.start(flags));
    const network = running.use(await FaultProxy.start({ url: vault.url }));
    const clients = {
      shop: await logIn(vault, accounts.shop),
      billing: await logIn(vault, accounts.billing),
    };
    for (const client of Object.values(clients))
      for (const name of names) await protect(client, name, 0);
    for (const namespace of namespaces)
      await createResources(
        plane,
        namespace,
        namespace === "shop" ? vault.url : network.url,
        vault,
      );
    const operator = running.use(
      await OperatorProcess.start(plane.kubeconfigPath, ["--restart-window", "5s"]),
    );
    return new LiveScene({ plane, operator, vault, clients, network }, auditLog, running.move());
  }

  /** Targets that Prometheus scrapes. */
  get targets(): Target[] {
    return [
      {
        address: `127.0.0.1:${this.operator.port}`,
        labels: { namespace: "vaultsync-system", pod: "vaultsync-6c7d9f-x2x7k" },
      },
      {
        address: new URL(this.vault.metricsUrl).host,
        labels: { namespace: "vaultsync-vault", pod: "vault-0" },
      },
    ];
  }

  /**
   * Does what programs and users do in half a second: reads, changes in the vault and in the
   * cluster, logins.
   */
  async work(): Promise<void> {
    this.#changes += 1;
    const turn = this.#changes;
    const { shop, billing } = this.clients;
    for (const client of [shop, billing]) await client.call("list_no_dup");
    await shop.call("expose", { key_name: names[turn % SECRETS] });
    if (turn % 3 === 0)
      await protect(turn % 2 === 0 ? shop : billing, names[(turn / 3) % SECRETS] ?? "", turn);
    if (turn % 8 === 0) await logIn(this.vault, accounts.shop);
    if (turn % 20 === 0) await protect(shop, `temporary-${turn}`, turn, { delete_time: 1 });
    if (turn % 25 === 0)
      await shop.upload([
        { filename: "app.conf", bytes: Buffer.from(`turn ${turn}\n`.repeat(100)) },
      ]);
    if (turn % 30 === 0)
      await shop.call("share", {
        key_name: "service-1",
        usr_id_from: accounts.shop,
        usr_id_to: `new-${turn}@example.com`,
        permission: "R",
      });
    if (turn % 100 === 50)
      await this.plane.request("DELETE", `${collection("Secret", "shop")}/service-3`);
    if (turn % 16 === 0 && turn > 120) await protect(billing, `extra-${turn}`, turn);
    if (turn % 20 === 10)
      await this.#patch("Secret", "pushed", { stringData: { token: `token-${turn}` } });
  }

  /** Makes the audit log unwritable for a time, in milliseconds. */
  async breakAuditLog(forMs: number, sleep: (ms: number) => Promise<void>): Promise<void> {
    await rename(this.#auditLog, `${this.#auditLog}.1`);
    await mkdir(this.#auditLog);
    await sleep(forMs);
    await rmdir(this.#auditLog);
  }

  async #patch(kind: string, name: string, patch: object): Promise<void> {
    await this.plane.kubectl(
      ["patch", kind, name, "--type=merge", "--patch", JSON.stringify(patch)],
      { namespace: "shop" },
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#running.disposeAsync();
  }
}

async function logIn({ url, passwords }: VaultServerProcess, email: string): Promise<VaultClient> {
  const client = new VaultClient(url, email, { keepAlive: true });
  await client.logIn(passwords.get(email) ?? "");
  return client;
}

async function protect(
  client: VaultClient,
  key_name: string,
  turn: number,
  more: object = {},
): Promise<void> {
  await client.call("protect", { key_name, key_value: `value ${turn} of ${key_name}`, ...more });
}

/** Returns a resource that uses the connection `vault`, or that connection. */
const own = (kind: string, name: string, spec: object, metadata: object = {}): object => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind,
  metadata: { name, ...metadata },
  spec: kind === "VaultConnection" ? spec : { connectionRef: { name: "vault" }, ...spec },
});

/**
 * Creates a connection, a VaultSecret for each name, a workload that follows one, and a VaultPush.
 */
async function createResources(
  plane: ControlPlane,
  namespace: Namespace,
  url: string,
  vault: VaultServerProcess,
): Promise<void> {
  const email = accounts[namespace];
  const auth = { passwordSecretRef: { name: "login" } };
  const items = [
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "login" },
      type: "vaultsync.dev/credentials",
      stringData: { password: vault.passwords.get(email) },
    },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "pushed" },
      stringData: { token: "first" },
    },
    own("VaultConnection", "vault", {
      url,
      email,
      auth,
      refreshInterval: "5s",
      timeout: "3s",
      tokenLifetime: "1h",
    }),
    own("VaultPush", "pushed", {
      secret: { name: "pushed" },
      data: [{ secretKey: "token", remoteRef: { key: "pushed" } }],
    }),
    ...names.map((key) =>
      own("VaultSecret", key, { data: [{ secretKey: "value", remoteRef: { key } }] }),
    ),
    workload("DaemonSet", "web", {
      annotations: { "vaultsync.dev/restart": "auto" },
      secrets: ["service-1"],
    }),
  ];
  await plane.request("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
  await plane.apply(items, namespace);
}
