import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chown, copyFile, mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { image } from "../../../scripts/cluster/image.ts";
import { certificate } from "../../lab/certificates.ts";
import type { NodeCluster } from "../../lab/node/node-cluster.ts";
import { PostgresCluster } from "../../lab/postgres/postgres-cluster.ts";
import { onDatabase } from "../../lab/postgres/postgres-database.ts";

const run = promisify(execFile);
const port = 5432;
const user = 65_534;
const labels = { app: "postgres" };

/** Connections have TLS and a password. */
const access = "hostssl vault vault all scram-sha-256\n";

/** Copies the libraries of this machine that a program needs: the image has only Node's. */
async function copyLibraries(program: string, target: string): Promise<void> {
  const { stdout } = await run("ldd", [program]);
  for (const [, path = ""] of stdout.matchAll(/=> (\/(?:usr\/)?lib\S+)/gu))
    await copyFile(path, join(target, basename(path)));
}

/** Writes programs and data of a server with the database `vault` into a directory. */
async function prepare(directory: string, password: string, host: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  await using server = await PostgresCluster.start({ durable: true });
  await onDatabase(server.url(), `CREATE ROLE vault LOGIN PASSWORD '${password}'`);
  await onDatabase(server.url(), "CREATE DATABASE vault OWNER vault");
  await server.down("fast");
  const native = join(server.directory, "native");
  await run("cp", ["-a", native, join(server.directory, "data"), directory]);
  await copyLibraries(join(native, "bin/postgres"), join(directory, "native/lib"));
  const authority = certificate("postgres-ca");
  const { cert, keyPem } = certificate("postgres", { issuer: authority, hosts: [host] });
  const files = { "server.crt": cert, "server.key": keyPem, "pg_hba.conf": access };
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, "data", name);
    await writeFile(path, text, { mode: 0o600 });
    await chown(path, user, user);
  }
  return authority.cert;
}

/**
 * Starts PostgreSQL as a pod of a namespace, and creates the Secret `vault-postgres` with its URL
 * in another one.
 */
export async function startPostgres(
  cluster: NodeCluster,
  namespace: string,
  vaultNamespace: string,
): Promise<void> {
  const path = join(cluster.directory, "volumes", namespace);
  const password = randomBytes(18).toString("hex");
  const host = `postgres.${namespace}.svc`;
  const ca = await prepare(path, password, host);
  const settings = ["listen_addresses=*", "unix_socket_directories=", "ssl=on"];
  const url = `postgres://vault:${password}@${host}:${port}/vault?sslmode=verify-full&sslrootcert=/etc/vaultsync/postgres/ca.crt`;
  await cluster.apply(
    [
      {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "vault-postgres", namespace: vaultNamespace },
        stringData: { url, "ca.crt": ca },
      },
    ],
    vaultNamespace,
  );
  await cluster.apply(
    [
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "postgres" },
        spec: { selector: labels, ports: [{ port }] },
      },
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "postgres", labels },
        spec: {
          automountServiceAccountToken: false,
          securityContext: { runAsUser: user, runAsGroup: user },
          containers: [
            {
              name: "postgres",
              image,
              imagePullPolicy: "Never",
              command: ["/postgres/native/bin/postgres", "-D", "/postgres/data"],
              env: [{ name: "LD_LIBRARY_PATH", value: "/postgres/native/lib" }],
              args: settings.flatMap((one) => ["-c", one]),
              readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
              volumeMounts: [{ name: "data", mountPath: "/postgres" }],
            },
          ],
          volumes: [{ name: "data", hostPath: { path } }],
        },
      },
    ],
    namespace,
  );
  await cluster.readyPod("postgres", namespace);
}
