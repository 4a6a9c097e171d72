import { mkdir, readdir, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { z } from "zod";
import { manifestsOf } from "../real/granted.ts";
import { certificate } from "../certificates.ts";
import { sharedControlPlane } from "../kube/control-plane.ts";
import { PostgresCluster } from "../postgres/postgres-cluster.ts";
import { readyLine } from "../real/processes/vault-server-process.ts";
import { VaultsyncProcess } from "../real/processes/vaultsync-process.ts";
import { TestDirectory } from "../test-directory.ts";
import { freePort } from "./supervisor/free-port.ts";

/**
 * The container of each vault overlay, as a process: with its arguments, its variables, and its
 * files below a temporary directory in place of the root of the container.
 */
const Variable = z.object({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z
    .object({ secretKeyRef: z.object({ name: z.string(), optional: z.boolean().default(false) }) })
    .optional(),
});
const Container = z.object({ args: z.array(z.string()), env: z.array(Variable) });
const StatefulSet = z.object({
  template: z.object({ spec: z.object({ containers: z.tuple([Container]) }) }),
});

const SERVICE = "vault.vaultsync-vault.svc";
const directory = new TestDirectory();
const authority = certificate("authority");
const { cert, keyPem } = certificate("vault", { issuer: authority, hosts: [SERVICE] });

const below = (path: string): string =>
  path.replaceAll(/(^|=)(\/(?:audit|data|etc)(?:\/|$))/gu, `$1${directory.path}$2`);
const put = async (path: string, content: string): Promise<void> => {
  await mkdir(dirname(below(path)), { recursive: true });
  await writeFile(below(path), content);
};

/** Creates the volumes of the pod, and returns the container's arguments and variables. */
async function container(overlay: string, secrets: Readonly<Record<string, string>>) {
  const manifests = await manifestsOf(
    await sharedControlPlane(),
    `deploy/overlays/${overlay}`,
    "vaultsync-system",
  );
  const { spec } = z
    .object({ spec: StatefulSet })
    .parse(manifests.find(({ kind }) => kind === "StatefulSet"));
  const { args, env } = spec.template.spec.containers[0];
  await mkdir(below("/data/"));
  await mkdir(below("/audit/"));
  await mkdir(below("/etc/vaultsync/master-key"), { recursive: true });
  const key = ["vault", "key", "generate", below("/etc/vaultsync/master-key/master.key")];
  expect(await VaultsyncProcess.run(key)).toMatchObject({ code: 0 });
  await put("/etc/vaultsync/tls/tls.crt", cert);
  await put("/etc/vaultsync/tls/tls.key", keyPem);
  const values = env.map(({ name, value, valueFrom }) => [
    name,
    value ?? secrets[valueFrom?.secretKeyRef.name ?? ""],
  ]);
  // An optional Secret that does not exist sets no variable.
  const given = values
    .filter(([, value]) => value !== undefined)
    .map(([name = "", value = ""]) => [name, below(value)]);
  return {
    args: args.map((arg) => below(arg).replace(/:(?:8200|9464)$/u, ":0")),
    env: Object.fromEntries(given),
  };
}

/**
 * Sends a request as a client that trusts the authority only, to the host of the Service or to the
 * address of the pod.
 */
async function get(
  url: string,
  host: string,
  path: string,
): Promise<{ status: number | undefined; body: string }> {
  const { port } = new URL(url);
  const sent = request({
    host: "127.0.0.1",
    port,
    path,
    servername: SERVICE,
    ca: authority.cert,
    headers: { host },
  }).end();
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number | undefined;
    body: string;
  }>();
  sent.on("error", reject).on("response", (response) => {
    void text(response).then((body) => resolve({ status: response.statusCode, body }), reject);
  });
  return promise;
}

/**
 * Runs the container until it is ready, uses it as the kubelet, Prometheus and users do, and stops
 * it.
 */
async function use({ args, env }: Awaited<ReturnType<typeof container>>): Promise<void> {
  const settings = {
    VAULTSYNC_VAULT_APP_URL: "https://vault.example.com",
    VAULTSYNC_VAULT_ALLOWED_HOSTS: SERVICE,
  };
  await using server = new VaultsyncProcess(args, { env: { ...env, ...settings } });
  const ready = await server.waitForOutput(({ stdout }) => {
    return stdout.includes("\n") ? readyLine.parse(JSON.parse(stdout)) : undefined;
  });
  expect((await get(ready.url, "10.0.0.1:8200", "/healthz")).status).toBe(200);
  expect((await get(ready.url, "10.0.0.1:8200", "/readyz")).status).toBe(200);
  expect((await get(ready.url, SERVICE, "/v1/openapi.json")).status).toBe(200);
  expect((await get(ready.url, "other.example.com", "/readyz")).status).toBe(421);
  const metrics = new URL("/metrics", ready.metrics_url);
  metrics.hostname = "127.0.0.1";
  expect(await (await fetch(metrics)).text()).toContain("vaultsync_vault_requests_total");
  const added = await VaultsyncProcess.run(["vault", "user", "add", "ann@example.com"], {
    env,
    input: "correct horse battery staple 9",
  });
  expect(added).toMatchObject({ code: 0 });
  expect(await server.stop("SIGTERM")).toBe(0);
}

test("the container of the overlay vault serves with SQLite, with all files in its volumes", async () => {
  await use(await container("vault", {}));
  const files = await readdir(below("/data/"));
  expect(files).toEqual(expect.arrayContaining(["vault.db", "vault.db-mail"]));
  expect(await readdir(below("/audit/"))).toContain("audit.jsonl");
});

test("the container of the overlay vault-postgres serves with a database, by verified TLS", async () => {
  const server = certificate("database", { issuer: authority, hosts: ["localhost"] });
  const port = await freePort();
  await using _postgres = await PostgresCluster.start({
    tcp: { port, cert: server.cert, key: server.keyPem },
  });
  const ca = "/etc/vaultsync/postgres/ca.crt";
  await put(ca, authority.cert);
  const url = `postgres://test@localhost:${port}/postgres?sslmode=verify-full&sslrootcert=${ca}`;
  await use(await container("vault-postgres", { "vault-postgres": url }));
  const files = await readdir(below("/data/"));
  expect(await readdir(below("/audit/"))).toContain("audit.jsonl");
  expect(files.filter((file) => file.startsWith("vault.db"))).toEqual([]);
});

test("the data of a vault outlives the deletion of its overlay", async () => {
  const plane = await sharedControlPlane();
  const namespace = await plane.createNamespace("vault");
  const { stdout } = await plane.kubectl(["kustomize", "deploy/overlays/vault"]);
  const input = stdout.replaceAll("namespace: vaultsync-vault", `namespace: ${namespace}`);
  expect(await plane.kubectl(["apply", "-f", "-"], { input })).toMatchObject({ code: 0 });
  const names = async (...args: string[]): Promise<string> =>
    (
      await plane.kubectl(["get", "-o", "jsonpath={.items[*].metadata.name}", ...args], {
        namespace,
      })
    ).stdout;
  await expect
    .poll(() => names("pods,persistentvolumeclaims"), { timeout: 20_000, interval: 200 })
    .toBe("vault-0 audit-vault-0 data-vault-0");
  expect(await plane.kubectl(["delete", "-f", "-"], { input })).toMatchObject({ code: 0 });
  await expect.poll(() => names("pods,statefulsets"), { timeout: 30_000, interval: 200 }).toBe("");
  expect(await names("persistentvolumeclaims")).toBe("audit-vault-0 data-vault-0");
  await plane.request("DELETE", `/api/v1/namespaces/${namespace}`);
});
