import { afterAll, beforeAll, beforeEach } from "vitest";
import { TestVault } from "../../lab/vault/test-vault.ts";
import type { VaultClient } from "../../lab/vault/vault-client.ts";

export const ann = "ann@example.com";
export const bob = "bob@example.com";

/** One vault with two users for all tests of a file. Each test starts without secrets. */
export class AnnAndBob {
  #vault: TestVault | undefined;
  #clients: readonly VaultClient[] = [];

  constructor() {
    beforeAll(async () => {
      this.#vault = await TestVault.start({ emails: [ann, bob], trashDays: 30 });
      this.#clients = [await this.#vault.client(ann), await this.#vault.client(bob)];
    });
    beforeEach(async () => {
      for (const client of this.#clients) await deleteOwnSecrets(client);
      // Otherwise the names continue their numbers.
      for (const client of this.#clients) await client.call("trash_empty");
    });
    afterAll(() => this.#vault?.[Symbol.asyncDispose]());
  }

  get vault(): TestVault {
    if (!this.#vault) throw new Error("the vault is not running");
    return this.#vault;
  }

  get ann(): VaultClient {
    return this.#client(0);
  }

  get bob(): VaultClient {
    return this.#client(1);
  }

  #client(index: number): VaultClient {
    const client = this.#clients[index];
    if (!client) throw new Error("the vault is not running");
    return client;
  }
}

async function deleteOwnSecrets(client: VaultClient): Promise<void> {
  const secrets: { key_name: string; owner: string }[] = (await client.call("list_no_dup")).json()
    .secrets;
  const own = secrets.filter(({ owner }) => owner === client.email).map(({ key_name }) => key_name);
  if (own.length > 0) await client.call("delete", { key_name: own });
}

/** Returns the route of a secret's page. */
export function secretRoute(owner: string, name: string): string {
  return `/secrets/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
}
