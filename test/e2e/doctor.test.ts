import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startApiProxy } from "../faults/support/api-proxy.ts";
import { FaultProxy } from "../lab/real/fault-proxy.ts";
import { certificate } from "../lab/certificates.ts";
import { ACCOUNT, World } from "../lab/real/world.ts";
import { vaultSecret } from "../lab/real/resources.ts";

/** `vaultsync doctor` on set-ups that are broken in one way each. No operator runs. */
let world: World;
let html: FaultProxy;
let late: FaultProxy;
let tls: FaultProxy;
beforeAll(async () => {
  world = await World.create();
  html = await FaultProxy.start(world.vault);
  html.inject(({ response }) =>
    response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
  );
  late = await FaultProxy.start(world.vault);
  late.inject(async ({ response, forward }) => {
    const from = await forward();
    response.writeHead(from.statusCode ?? 502, {
      ...from.headers,
      date: new Date(Date.now() - 300_000).toUTCString(),
    });
    from.pipe(response);
  });
  const { cert, keyPem: key } = certificate("vault", {
    issuer: certificate("CA"),
    hosts: ["127.0.0.1"],
  });
  tls = await FaultProxy.start(world.vault, { tls: { cert, key } });
  await world.protect("db", world.canaries.text("value"));
});
afterAll(async () => {
  for (const each of [html, late, tls, world]) await each[Symbol.asyncDispose]();
});

const doctor = (...args: string[]) => world.run("doctor", "--allow-http", ...args);

const report = z.object({
  checks: z.array(
    z.object({
      subject: z.string(),
      check: z.string(),
      result: z.string(),
      message: z.string(),
      remedy: z.string().optional(),
    }),
  ),
});

/** Runs the command and returns its checks, of one subject if it is given. */
async function checks(subject: string | undefined, ...args: string[]) {
  const { stdout, stderr } = await doctor("-o", "json", ...args);
  expect(world.canaries.tracesIn({ stdout, stderr })).toEqual([]);
  const all = report.parse(JSON.parse(stdout)).checks;
  return subject === undefined ? all : all.filter((check) => check.subject === subject);
}

/**
 * Creates a connection that differs from the working one, and returns the checks of it that did not
 * succeed.
 */
async function broken(name: string, spec: object, ...args: string[]) {
  const object = {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultConnection",
    metadata: { name },
  };
  const auth = { passwordSecretRef: { name: "vault-login" } };
  await world.apply({ ...object, spec: { url: world.vault.url, email: ACCOUNT, auth, ...spec } });
  const found = await checks(`vaultconnection/${name}`, name, ...args);
  return found
    .filter(({ result }) => result !== "ok")
    .map(({ check, message, remedy = "" }) => [check, `${message}; ${remedy}`]);
}

const secret = (name: string, more: object): Promise<void> =>
  world.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    type: "vaultsync.dev/credentials",
    ...more,
  });
const login = (name: string) => ({ auth: { passwordSecretRef: { name } } });
const like = (text: RegExp): unknown => expect.stringMatching(text);

test("a working connection has no failure, and each step is printed", async () => {
  await world.apply(vaultSecret("works", { password: "db" }));
  const { stdout } = await doctor("vault");
  for (const check of ["spec", "credentials", "clock", "login", "references"])
    expect(stdout).toMatch(new RegExp(`vaultconnection/vault +${check} +ok`, "u"));
  expect(stdout).toMatch(/the vault lists all 1 names that resources refer to/u);
});

test("an API server that does not respond", async () => {
  const kubeconfig = await world.plane.kubeconfigFor(
    { user: "admin" },
    { server: "https://127.0.0.1:1" },
  );
  const { code, stderr } = await world.run("doctor", "--kubeconfig", kubeconfig);
  expect(code).toBe(1);
  expect(stderr).toEqual(
    like(/no response from the API server 127\.0\.0\.1:1: check the kubeconfig's server/u),
  );
});

test("CRDs that are not installed", async () => {
  const { proxy, api } = await startApiProxy();
  await using _ = proxy;
  proxy.inject(({ request, response, relay }) =>
    request.path.startsWith("/apis/vaultsync.dev/")
      ? response
          .writeHead(404, { "audit-id": "a", "content-type": "text/plain" })
          .end("404 page not found\n")
      : relay(),
  );
  const kubeconfig = await world.plane.kubeconfigFor({ user: "admin" }, api);
  const found = await checks(undefined, "--kubeconfig", kubeconfig);
  expect(found).toMatchObject([
    { check: "CRDs", result: "failed", remedy: like(/kubectl apply -k crds/u) },
  ]);
});

test("an operator that does not run, one that stopped renewing its Lease, and one that runs", async () => {
  const { namespace } = world;
  const running = async () =>
    (await checks("operator", "--operator-namespace", namespace, "vault"))[0];
  expect(await running()).toMatchObject({
    result: "failed",
    message: `no Lease of an operator in namespace ${namespace}`,
  });
  const renewed = (ago: number) =>
    world.apply({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "vaultsync" },
      spec: {
        holderIdentity: "pod-1_x",
        renewTime: new Date(Date.now() - ago).toISOString().replace("Z", "000Z"),
      },
    });
  await renewed(3_600_000);
  expect(await running()).toMatchObject({
    result: "failed",
    message: like(/renewed 36\d\d s ago for the last time/u),
  });
  await renewed(0);
  expect(await running()).toMatchObject({ result: "ok", message: like(/^pod-1 leads/u) });
});

test("permissions that the ServiceAccount of the operator lacks", async () => {
  const [, all] = await checks("operator", "vault");
  expect(all).toMatchObject({ check: "permissions", result: "ok" });
  const [, none] = await checks("operator", "vault", "--service-account", "default");
  expect(none).toMatchObject({ result: "failed", remedy: like(/rbac\.yaml/u) });
  expect(none?.message).toMatch(
    /vaultsync-system:default may not: list vaultconnections in .* and \d+ more/u,
  );
});

test("addresses that the operator refuses", async () => {
  expect(await broken("hosts", {}, "--vault-hosts", "vault.example.com")).toEqual([
    ["spec", like(/--vault-hosts/u)],
  ]);
  const { code, stdout } = await world.run("doctor", "-o", "json", "vault");
  expect(code).toBe(3);
  expect(stdout).toEqual(like(/spec\.url: a password is not sent over plain http/u));
});

test("credentials that are missing, of another type, without the key, or for another host", async () => {
  expect(await broken("missing", login("nothing"))).toEqual([
    ["credentials", like(/Secret nothing not found.*kubectl create/u)],
  ]);
  await secret("typed", {
    type: "Opaque",
    stringData: { password: world.canaries.text("password") },
  });
  expect(await broken("type", login("typed"))).toEqual([
    ["credentials", like(/must have the type vaultsync\.dev\/credentials/u)],
  ]);
  await secret("keyless", { stringData: { passwort: world.canaries.text("other") } });
  expect(await broken("key", login("keyless"))).toEqual([
    ["credentials", like(/no value under the key password/u)],
  ]);
  const metadata = { name: "bound", annotations: { "vaultsync.dev/hosts": "vault.example.com" } };
  await secret("bound", { metadata, stringData: { password: world.canaries.text("bound") } });
  expect(await broken("host", login("bound"))).toEqual([
    ["credentials", like(/does not allow the host 127\.0\.0\.1/u)],
  ]);
});

test("a CA bundle that is missing, and a certificate of an unknown authority", async () => {
  const { url } = tls;
  const caBundleRef = { kind: "ConfigMap", name: "no-bundle" };
  expect(await broken("bundle", { url, caBundleRef })).toEqual([
    ["CA bundle", like(/ConfigMap no-bundle not found/u)],
  ]);
  expect(await broken("authority", { url })).toEqual([
    ["TLS", like(/UNABLE_TO_VERIFY.*name that in spec\.caBundleRef/u)],
  ]);
});

test("a host without an address, and a port at which nothing listens", async () => {
  expect(await broken("dns", { url: "https://vault.invalid" })).toEqual([
    ["DNS", like(/vault\.invalid has no address/u)],
  ]);
  expect(await broken("refused", { url: "https://127.0.0.1:1" })).toEqual([
    ["network", like(/127\.0\.0\.1:1 \(ECONNREFUSED\)/u)],
  ]);
});

test("a rejected password, and a URL of something else than a vault", async () => {
  await secret("wrong", { stringData: { password: world.canaries.text("wrong") } });
  expect(await broken("password", login("wrong"))).toEqual([
    ["login", like(/rejects the password in Secret wrong, key password.*spec\.email/u)],
  ]);
  expect(await broken("html", { url: html.url })).toEqual([
    ["vault", like(/base URL of the vault/u)],
  ]);
});

test("a clock that differs by minutes", async () => {
  expect(await broken("late", { url: late.url })).toEqual([
    ["clock", like(/the clock of the vault is \d+ s behind.*NTP/u)],
  ]);
});

test("names that the vault does not list, and a scope that excludes a name", async () => {
  const data = ["db", "no-such-secret"].map((key) => ({ secretKey: key, remoteRef: { key } }));
  const spec = { connectionRef: { name: "names" }, data };
  await world.apply({
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    metadata: { name: "refers" },
    spec,
  });
  expect(await broken("names", {})).toEqual([
    ["references", like(/does not list no-such-secret \(vaultsecret\/refers\), of 2 names/u)],
  ]);
  expect(await broken("names", { scope: { secretName: ["other"] } })).toEqual([
    ["references", like(/list db \(vaultsecret\/refers\), no-such-secret/u)],
  ]);
});

test("a connection of the cluster that does not select the namespace, or not a name", async () => {
  const { namespace } = world;
  const data = ["db", "no-such-secret"].map((key) => ({ secretKey: key, remoteRef: { key } }));
  const name = `doctor-${namespace}`;
  const connectionRef = { kind: "ClusterVaultConnection", name };
  const kinds = {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    metadata: { name: "through-cluster" },
  };
  await world.apply({ ...kinds, spec: { connectionRef, data } });
  const use = async (access: object[]) => {
    const auth = { passwordSecretRef: { name: "vault-login" } };
    const spec = { url: world.vault.url, email: ACCOUNT, auth, access };
    await world.apply({ ...kinds, kind: "ClusterVaultConnection", metadata: { name }, spec });
    return (
      await checks(`clustervaultconnection/${name}`, name, "--operator-namespace", namespace)
    ).slice(1);
  };
  const failed = { check: "access", result: "failed" };
  const [none] = await use([]);
  expect(none).toMatchObject({ ...failed, message: like(/no entry of spec\.access selects/u) });
  const selected = {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    secrets: ["d*"],
  };
  const [access, ...rest] = await use([selected]);
  expect(access).toMatchObject({ ...failed, message: like(/may not read no-such-secret$/u) });
  expect(rest.map(({ check, result }) => `${check} ${result}`)).toEqual([
    "credentials ok",
    "clock ok",
    "login ok",
    "references failed",
    "owners ok",
  ]);
  await world.plane.request(
    "DELETE",
    `/apis/vaultsync.dev/v1alpha1/clustervaultconnections/${name}`,
  );
});

test("a user who may not read Secrets learns what was not checked", async () => {
  const { namespace } = world;
  const rules = [{ apiGroups: ["vaultsync.dev"], resources: ["*"], verbs: ["list", "get"] }];
  const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: "viewer" } };
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "viewer" };
  const subjects = [{ kind: "ServiceAccount", name: "viewer", namespace }];
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "viewer" } };
  await world.apply(
    account,
    { ...rbac, kind: "Role", rules },
    { ...rbac, kind: "RoleBinding", roleRef, subjects },
  );
  const kubeconfig = await world.plane.kubeconfigFor({ serviceAccount: "viewer", namespace });
  const found = await checks(undefined, "--kubeconfig", kubeconfig, "vault");
  expect(found.filter(({ result }) => result === "skipped").map(({ check }) => check)).toEqual([
    "CRD fields",
    "running",
    "permissions",
    "credentials",
  ]);
});
