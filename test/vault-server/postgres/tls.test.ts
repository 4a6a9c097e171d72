import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { generateMasterKey } from "../../../src/vault/server/crypto/master-key.ts";
import { openPostgresStore } from "../../../src/vault/server/store/postgres/postgres-store.ts";
import { failureOf } from "../../lab/assertions/failure-of.ts";
import { freePort } from "../../lab/control-plane/supervisor/free-port.ts";
import { certificate } from "../../lab/certificates.ts";
import { PostgresCluster } from "../../lab/postgres/postgres-cluster.ts";
import { onDatabase } from "../../lab/postgres/postgres-database.ts";
import { TestVault } from "../../lab/vault/test-vault.ts";

const authority = certificate("authority");
const other = certificate("other authority");
const { cert, keyPem: key } = certificate("database", { issuer: authority, hosts: ["localhost"] });
const port = await freePort();
const cluster = await PostgresCluster.start({ tcp: { port, cert, key } });
afterAll(() => cluster[Symbol.asyncDispose]());
const [trusted, untrusted] = [
  join(cluster.directory, "authority.pem"),
  join(cluster.directory, "other.pem"),
];
await writeFile(trusted, authority.cert);
await writeFile(untrusted, other.cert);

const url = (host: string, ca: string, database = "postgres") =>
  `postgres://test@${host}:${port}/${database}?sslmode=verify-full&sslrootcert=${encodeURIComponent(ca)}`;
const message = async (location: string): Promise<string> =>
  String(await failureOf(openPostgresStore(location)));

const rejected = (host: string, code: string) =>
  `Error: the certificate of the PostgreSQL database postgres at ${host}:${port} was not accepted (${code}): ` +
  "check sslrootcert and the host name";

test("every connection of a server with sslmode=verify-full is encrypted", async () => {
  await onDatabase(cluster.url(), "CREATE DATABASE vault TEMPLATE template0");
  await using vault = await TestVault.start({
    data: url("localhost", trusted, "vault"),
    masterKey: generateMasterKey(),
  });
  const ann = await vault.client("ann@example.com");
  expect((await ann.call("protect", { key_name: "a", key_value: "v" })).status).toBe(200);
  const connections =
    "SELECT application_name, ssl, version FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = 'vault'";
  const { rows } = await onDatabase(cluster.url(), connections);
  expect(new Set(rows.map(({ application_name }) => application_name))).toEqual(
    new Set(["vaultsync", "vaultsync_changes"]),
  );
  expect(rows.filter(({ ssl, version }) => ssl !== true || version !== "TLSv1.3")).toEqual([]);
});

test("a certificate for another host, or of an unknown authority, is rejected", async () => {
  expect(await message(url("127.0.0.1", trusted))).toBe(
    rejected("127.0.0.1", "ERR_TLS_CERT_ALTNAME_INVALID"),
  );
  expect(await message(url("localhost", untrusted))).toBe(
    rejected("localhost", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
  );
});

test("neither end falls back to a plain connection", async () => {
  await writeFile(trusted, authority.cert);
  const plainPort = await freePort();
  await using _plain = await PostgresCluster.start({ tcp: { port: plainPort } });
  const withoutTls = url("localhost", trusted).replace(String(port), String(plainPort));
  expect(await message(withoutTls)).toMatch(
    /^Error: cannot connect to the PostgreSQL database postgres at localhost/u,
  );
  await writeFile(
    join(cluster.directory, "data/pg_hba.conf"),
    "local all all trust\nhostssl all all all trust\n",
  );
  await onDatabase(cluster.url(), "SELECT pg_reload_conf()");
  expect(await message(`postgres://test@localhost:${port}/postgres`)).toMatch(
    /rejected the user: .*pg_hba\.conf$/u,
  );
  await using _store = await openPostgresStore(url("localhost", trusted, "template1"));
});
