import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { VaultClient, type VaultResponse } from "../../../test/lab/vault/vault-client.ts";
import { messageOf } from "../../../src/lib/errors.ts";

/** Latencies and errors that clients experienced. */
export interface Served {
  /** Latencies in ms. */
  readonly latencies: number[];
  /** Number of other outcomes than 200 and 304. */
  readonly errors: Record<string, number>;
}

/** Mean interval between the requests of one client. */
const INTERVAL_MS = 100;

/**
 * Clients with an account and a few secrets each. They poll their list, and read and write values.
 */
export class OrdinaryClients implements Disposable {
  readonly #clients: readonly VaultClient[];

  private constructor(clients: readonly VaultClient[]) {
    this.#clients = clients;
  }

  /** Opens clients whose password is their email. */
  static async open(url: string, emails: readonly string[]): Promise<OrdinaryClients> {
    const clients: VaultClient[] = [];
    for (const email of emails) {
      const client = await VaultClient.connect(url, email, email, { keepAlive: true });
      clients.push(client);
      for (const key_name of ["a", "b", "c"])
        await client.call("protect", { key_name, key_value: "v" });
    }
    return new OrdinaryClients(clients);
  }

  /** Sends requests for a time, and adds what the clients experience. */
  async run(forMs: number, served: Served): Promise<void> {
    const end = performance.now() + forMs;
    await Promise.all(this.#clients.map((client) => this.#work(client, end, served)));
  }

  async #work(client: VaultClient, end: number, { latencies, errors }: Served): Promise<void> {
    let etag: string | undefined;
    await sleep(randomInt(2 * INTERVAL_MS));
    while (performance.now() < end) {
      const kind = randomInt(100);
      const start = performance.now();
      const outcome = await this.#request(client, kind, etag).then((response) => {
        etag = kind < 70 ? (response.headers.etag ?? etag) : etag;
        return response.outcome();
      }, messageOf);
      latencies.push(performance.now() - start);
      if (outcome !== "200" && outcome !== "304") errors[outcome] = (errors[outcome] ?? 0) + 1;
      await sleep(randomInt(2 * INTERVAL_MS));
    }
  }

  #request(client: VaultClient, kind: number, etag: string | undefined): Promise<VaultResponse> {
    if (kind < 70) return client.call("list_no_dup", {}, { "if-none-match": etag });
    if (kind < 90) return client.call("expose", { key_name: "a" });
    return client.call("protect", { key_name: "a", key_value: "w" });
  }

  [Symbol.dispose](): void {
    for (const client of this.#clients) client[Symbol.dispose]();
  }
}
