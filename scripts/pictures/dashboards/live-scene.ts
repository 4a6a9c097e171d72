import { mkdir, rename, rmdir, mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultQuotas } from "../../../src/vault/server/limits.ts";
import { startControlPlane } from "../../../test/lab/control-plane/start.ts";
import { installOperator } from "../../../test/lab/kube/install-crds.ts";
import { FaultProxy } from "../../../test/lab/real/fault-proxy.ts";
import { vaultPush, vaultSecret } from "../../../test/lab/real/resources.ts";
import { workload } from "../../../test/lab/real/workloads.ts";
import { World } from "../../../test/lab/real/world.ts";
import { TestVault } from "../../../test/lab/vault/test-vault.ts";
import type { Target } from "./prometheus.ts";

const accounts = { shop: "shop@example.com", billing: "billing@example.com" } as const;
const SECRETS = 12;
const names = Array.from({ length: SECRETS }, (_, index) => `service-${index}`);

/** Two namespaces, each with a connection to the account of its name in one vault. */
export class LiveScene implements AsyncDisposable {
  readonly shop: World;
  readonly billing: World;
  /** Network between the operator and the vault, for the namespace billing. */
  readonly network: FaultProxy;
  readonly #auditLog: string;
  readonly #running: AsyncDisposableStack;
  #changes = 0;

  private constructor(
    parts: Pick<LiveScene, "shop" | "billing" | "network">,
    auditLog: string,
    running: AsyncDisposableStack,
  ) {
    ({ shop: this.shop, billing: this.billing, network: this.network } = parts);
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
    await installOperator(plane);
    const vault = await TestVault.start({
      emails: Object.values(accounts),
      data: ":memory:",
      auditLog: { file: auditLog },
      limits: { quotas: { ...defaultQuotas, secrets: 20 } },
    });
    running.use(vault);
    const network = running.use(await FaultProxy.start({ url: vault.url }));
    const open = async (namespace: keyof typeof accounts, url: string): Promise<World> => {
      const email = accounts[namespace];
      const spec = { url, email, refreshInterval: "5s", timeout: "3s", tokenLifetime: "1h" };
      const world = running.use(await World.create({ plane, vault, namespace, connection: spec }));
      await fill(world);
      return world;
    };
    const shop = await open("shop", vault.url);
    const billing = await open("billing", network.url);
    await shop.startClusterOperator(["--restart-window", "5s"]);
    return new LiveScene({ shop, billing, network }, auditLog, running.move());
  }

  /** Targets that Prometheus scrapes. */
  get targets(): Target[] {
    return [
      {
        address: `127.0.0.1:${this.shop.operator.port}`,
        labels: { namespace: "vaultsync-system", pod: "vaultsync-6c7d9f-x2x7k" },
      },
      {
        address: new URL(this.shop.vault.metricsUrl).host,
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
    const [{ caller: shop }, { caller: billing }] = [this.shop, this.billing];
    for (const client of [shop, billing]) await client.call("list_no_dup");
    await shop.call("expose", { key_name: names[turn % SECRETS] });
    if (turn % 3 === 0)
      await store(
        turn % 2 === 0 ? this.shop : this.billing,
        names[(turn / 3) % SECRETS] ?? "",
        turn,
      );
    if (turn % 8 === 0) await this.shop.vault.client(accounts.shop);
    if (turn % 20 === 0) await store(this.shop, `temporary-${turn}`, turn, { delete_time: 1 });
    if (turn % 25 === 0)
      await this.shop.upload("app.conf", Buffer.from(`turn ${turn}\n`.repeat(100)));
    if (turn % 30 === 0)
      await shop.call("share", {
        key_name: "service-1",
        usr_id_from: accounts.shop,
        usr_id_to: `new-${turn}@example.com`,
        permission: "R",
      });
    if (turn % 100 === 50) await this.shop.delete("Secret", "service-3");
    if (turn % 16 === 0 && turn > 120) await store(this.billing, `extra-${turn}`, turn);
    if (turn % 20 === 10)
      await this.shop.patch("Secret", "pushed", { stringData: { token: `token-${turn}` } });
  }

  /** Makes the audit log unwritable for a time, in milliseconds. */
  async breakAuditLog(forMs: number, sleep: (ms: number) => Promise<void>): Promise<void> {
    await rename(this.#auditLog, `${this.#auditLog}.1`);
    await mkdir(this.#auditLog);
    await sleep(forMs);
    await rmdir(this.#auditLog);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#running.disposeAsync();
  }
}

/** Stores a version; faults and quotas of the scene may reject it. */
async function store(
  { caller }: World,
  key_name: string,
  turn: number,
  more: object = {},
): Promise<void> {
  await caller.call("protect", { key_name, key_value: `value ${turn} of ${key_name}`, ...more });
}

/** Creates secrets, a VaultSecret for each, a workload that follows one, and a VaultPush. */
async function fill(world: World): Promise<void> {
  for (const name of names) await store(world, name, 0);
  await world.apply(
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "pushed" },
      stringData: { token: "first" },
    },
    vaultPush("pushed", [{ secretKey: "token", remoteRef: { key: "pushed" } }]),
    ...names.map((name) => vaultSecret(name, { value: name })),
    workload("DaemonSet", "web", {
      annotations: { "vaultsync.dev/restart": "auto" },
      secrets: ["service-1"],
    }),
  );
}
