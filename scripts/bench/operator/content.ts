import type { VaultClient } from "../../../test/lab/vault/vault-client.ts";
import { protect, type Stage } from "./stage.ts";

/** Sizes of values in bytes, by their share: 80 % small, 18 % medium, 2 % large. */
const SIZES = [
  ...Array.from({ length: 40 }, () => 200),
  ...Array.from({ length: 9 }, () => 4_096),
  200 * 1_024,
] as const;

export const accountOf = (connection: number): string => `account-${connection}@example.com`;

/**
 * The secrets of the vault that all subjects of a run sync, divided among accounts, and their
 * current values.
 */
export class Content {
  readonly names: readonly string[];
  readonly connections: number;
  /** First line of the current value, by name. */
  readonly values = new Map<string, string>();
  readonly #clients: readonly VaultClient[];
  #version = 0;

  private constructor(names: readonly string[], clients: readonly VaultClient[]) {
    this.names = names;
    this.connections = clients.length;
    this.#clients = clients;
  }

  static async fill(stage: Stage, resources: number, connections: number): Promise<Content> {
    const names = Array.from({ length: resources }, (_, index) => `s-${index}`);
    const clients: VaultClient[] = [];
    for (let connection = 0; connection < connections; connection += 1)
      clients.push(await stage.client(accountOf(connection)));
    const content = new Content(names, clients);
    await Promise.all(
      clients.map(async (_, connection) => {
        for (let index = connection; index < resources; index += connections) {
          await content.change(index);
          stage.progress.update(`${content.values.size} of ${resources} values are stored`);
        }
      }),
    );
    return content;
  }

  /** Stores a new version of a secret and returns the first line of its value. */
  async change(index: number): Promise<string> {
    const name = this.names[index] ?? "";
    const client = this.#clients[index % this.connections];
    if (client === undefined) throw new Error("no account");
    const line = `${name} ${(this.#version += 1)}`;
    const size = SIZES[index % SIZES.length] ?? 0;
    await protect(client, name, `${line}\n`.padEnd(size, "x"));
    this.values.set(name, line);
    return line;
  }

  /** Returns the access token of an account. */
  tokenOf(connection: number): string {
    return this.#clients[connection]?.token ?? "";
  }
}
