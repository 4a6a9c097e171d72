import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { expect, test } from "vitest";
import { generateMasterKey } from "../../../src/vault/server/crypto/master-key.ts";
import { onDatabase } from "../../lab/postgres/postgres-database.ts";
import { PostgresCluster } from "../../lab/postgres/postgres-cluster.ts";
import { TestVault } from "../../lab/vault/test-vault.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";

/**
 * The stable address of a database that fails over: forwards connections to the socket of the
 * current server.
 */
class Address implements AsyncDisposable {
  target: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(target: string) {
    this.target = target;
    this.#server = createServer((client) => {
      const upstream = connect(this.target);
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        this.#sockets.add(from);
        from.on("error", () => undefined).on("close", () => to.destroy());
        from.pipe(to);
      }
    });
  }

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const { port } = this.#server.address() as AddressInfo;
    return `postgres://test@127.0.0.1:${port}/postgres`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, "close");
  }
}

const socketOf = ({ directory }: PostgresCluster): string => `${directory}/.s.PGSQL.5432`;

test("no acknowledged write is lost when the primary is killed and the standby promoted", async () => {
  await using primary = await PostgresCluster.start();
  await using standby = await primary.standby();
  await waitUntil("a synchronous standby", async () => {
    const { rows } = await onDatabase(primary.url(), "SELECT sync_state FROM pg_stat_replication");
    return rows[0]?.sync_state === "sync";
  });
  await using address = new Address(socketOf(primary));
  await using vault = await TestVault.start({
    data: await address.listen(),
    masterKey: generateMasterKey(),
  });
  const ann = await vault.client("ann@example.com");
  const acknowledged = new Map<number, string>();
  const refused = new Set<string>();
  const ended = new AbortController();
  const writers = Array.from({ length: 4 }, async () => {
    while (!ended.signal.aborted) {
      const value = randomUUID();
      const response = await ann.call("protect", { key_name: "a", key_value: value });
      if (response.status !== 200) refused.add(response.outcome());
      else acknowledged.set(response.json().secret.key_version, value);
    }
  });
  await waitUntil("writes", () => acknowledged.size > 20);
  await primary.kill();
  const before = acknowledged.size;
  await standby.promote();
  address.target = socketOf(standby);
  await waitUntil("writes to the promoted server", () => acknowledged.size > before + 20);
  ended.abort();
  await Promise.all(writers);
  expect([...refused]).toEqual(["503 unavailable"]);
  for (const [key_version, value] of acknowledged) {
    expect(
      (await ann.call("version_expose", { key_name: "a", key_version })).json().key_value,
    ).toBe(value);
  }
});
