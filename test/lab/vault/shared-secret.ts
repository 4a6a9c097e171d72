import type { VaultClient, VaultResponse } from "./vault-client.ts";

let count = 0;

/** A new secret of one user and the requests that share it. */
export class SharedSecret {
  readonly name: string;
  readonly #owner: VaultClient;

  private constructor(owner: VaultClient, name: string) {
    this.#owner = owner;
    this.name = name;
  }

  static async create(owner: VaultClient): Promise<SharedSecret> {
    const name = `shared-${(count += 1)}`;
    await owner.call("protect", { key_name: name, key_value: `value of ${name}` });
    return new SharedSecret(owner, name);
  }

  /**
   * Sends `share` with the owner as the sharing user and permission R, unless `body` has others.
   */
  share(body: object, caller = this.#owner): Promise<VaultResponse> {
    return caller.call("share", {
      key_name: this.name,
      permission: "R",
      usr_id_from: this.#owner.email,
      ...body,
    });
  }

  shareWith(to: VaultClient, permission = "R"): Promise<VaultResponse> {
    return this.share({ usr_id_to: [to.email], permission });
  }

  unshare(body: object = {}, caller = this.#owner): Promise<VaultResponse> {
    return caller.call("unshare", { key_name: this.name, ...body });
  }

  dismiss(caller: VaultClient, more: object = {}): Promise<VaultResponse> {
    return caller.call("delete_shared_key_link", { key_name: this.name, ...more });
  }

  /** Returns owner, permission and shared flag of the entries with this name in a client's list. */
  async listedFor(
    caller: VaultClient,
  ): Promise<[owner: string, permission: string, shared: boolean][]> {
    const { secrets } = (await caller.call("list_no_dup")).json();
    return secrets
      .filter((secret: { key_name: string }) => secret.key_name === this.name)
      .map((secret: { owner: string; permission: string; shared: boolean }) => [
        secret.owner,
        secret.permission,
        secret.shared,
      ]);
  }

  /** Returns the outcome of reading the shared value. */
  async outcomeOfReading(caller: VaultClient): Promise<string> {
    return (await caller.call("expose_link", { key_name: this.name })).outcome();
  }
}
