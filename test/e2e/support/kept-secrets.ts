import { PersistentVault } from "../../lab/vault/persistent-vault.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import { World } from "../../lab/real/world.ts";
import { condition, type ObservedObject, vaultSecret } from "../../lab/real/resources.ts";
import { createServer, type RequestListener } from "node:http";
import { once } from "node:events";

export const NAMES = Array.from({ length: 10 }, (_, index) => `kept-${index}`);

export const isStale = (resource: ObservedObject): boolean =>
  condition(resource, "Stale")?.status === "True";

/** Ten synced Secrets of a vault that can be stopped, replaced and started again. */
export class KeptSecrets implements AsyncDisposable {
  readonly persistent: PersistentVault;
  readonly world: World;

  private constructor(persistent: PersistentVault, world: World) {
    this.persistent = persistent;
    this.world = world;
  }

  static async create(): Promise<KeptSecrets> {
    const persistent = await PersistentVault.start();
    const world = await World.create({ vault: persistent.vault });
    for (const name of NAMES) await world.protect(name, world.canaries.text(name));
    await world.apply(...NAMES.map((name) => vaultSecret(name, { password: name })));
    await world.startOperator();
    for (const name of NAMES) await world.ready("VaultSecret", name);
    return new KeptSecrets(persistent, world);
  }

  /** Returns identity, resourceVersion and content of all targets. */
  async targets(): Promise<string> {
    const secrets = (await this.world.list("Secret")).filter(({ metadata }) =>
      NAMES.includes(metadata.name),
    );
    return JSON.stringify(
      secrets.map(({ metadata, data }) => [
        metadata.name,
        metadata.uid,
        metadata.resourceVersion,
        data,
      ]),
    );
  }

  async allHave(what: string, predicate: (resource: ObservedObject) => boolean): Promise<void> {
    await waitUntil(
      what,
      async () => (await this.world.list("VaultSecret")).every(predicate),
      60_000,
    );
  }

  async expectSyncResumes(): Promise<void> {
    await this.allHave("nothing is stale", (resource) => !isStale(resource));
    const next = this.world.canaries.text("after an outage");
    await this.world.protect("kept-0", next);
    await this.world.has("kept-0", "password", next);
  }

  /** Serves another handler at the address of the vault until the returned handle is disposed. */
  async impostor(respond: RequestListener): Promise<AsyncDisposable> {
    const server = createServer(respond);
    server.listen(this.persistent.port, "127.0.0.1");
    await once(server, "listening");
    return {
      async [Symbol.asyncDispose]() {
        server.close();
        server.closeAllConnections();
        await once(server, "close");
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]();
    await this.persistent[Symbol.asyncDispose]();
  }
}
