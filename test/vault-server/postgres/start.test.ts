import { Client } from "pg";
import { expect, test } from "vitest";
import { generateMasterKey } from "../../../src/vault/server/crypto/master-key.ts";
import { startVaultServer } from "../../../src/vault/server/vault-server.ts";
import { type LogLine, recordingLogger } from "../../lab/assertions/recording-logger.ts";
import { freePort } from "../../lab/control-plane/supervisor/free-port.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import { PostgresCluster } from "../../lab/postgres/postgres-cluster.ts";
import { sendRequest } from "../../lab/vault/vault-client.ts";

/** Returns the options of a server on this data, its log, and what its `/readyz` says. */
async function serverOn(data: string) {
  const { logger, lines } = recordingLogger();
  const port = await freePort();
  const listen = { host: "127.0.0.1", port: 0 };
  const options = {
    data,
    masterKey: generateMasterKey(),
    logger,
    listen,
    metricsListen: { ...listen, port },
  };
  const readiness = async (): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    return `${response?.status} ${await response?.text()}`;
  };
  return { options, lines, readiness };
}

const messages = ({ lines }: { readonly lines: readonly LogLine[] }): string[] =>
  lines.filter(({ level }) => level === "error").map(({ message }) => message);

test("a server whose database is down starts when it is up, and names it meanwhile", async () => {
  await using cluster = await PostgresCluster.start();
  await cluster.down("fast");
  const server = await serverOn(cluster.url());
  const starting = startVaultServer(server.options);
  await waitUntil(
    "the problem is named",
    async () => (await server.readiness()).includes("cannot connect"),
    30_000,
  );
  expect(await server.readiness()).toMatch(
    /^503 not ready: cannot connect to the PostgreSQL database postgres at /u,
  );
  expect(messages(server)).toEqual(["store cannot be reached, retrying"]);
  await cluster.up();
  await using running = await starting;
  expect(await server.readiness()).toBe("200 ok\n");
  expect((await sendRequest(`${running.url}/readyz`, { method: "GET" })).status).toBe(200);
});

test("a server that is stopped while its database is down ends", async () => {
  await using cluster = await PostgresCluster.start();
  await cluster.down("fast");
  const server = await serverOn(cluster.url());
  const stop = new AbortController();
  const starting = startVaultServer(server.options, stop.signal).catch(String);
  await waitUntil("the problem is named", async () => messages(server).length > 0, 30_000);
  stop.abort(new Error("received a stop signal"));
  expect(await starting).toBe("Error: received a stop signal");
  expect(await server.readiness()).toBe("undefined undefined");
});

test("a database of a newer release ends the start", async () => {
  await using cluster = await PostgresCluster.start();
  const server = await serverOn(cluster.url());
  await (await startVaultServer(server.options))[Symbol.asyncDispose]();
  const client = new Client({ connectionString: cluster.url() });
  await client.connect();
  await client.query("UPDATE schema_version SET version = version + 1");
  await client.end();
  await expect(startVaultServer(server.options)).rejects.toThrow(
    "the database was written by a newer release of vaultsync",
  );
});
