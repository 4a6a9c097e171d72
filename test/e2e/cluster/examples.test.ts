import { existsSync, readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { chosenRelease, newest } from "../../lab/control-plane/binaries/version.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import type { ProgramResult } from "../../lab/processes/run-to-end.ts";
import { Canaries } from "../../lab/assertions/canary.ts";
import { certificate } from "../../lab/certificates.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { OperatorProcess } from "../../lab/real/processes/operator-process.ts";
import { TestVault } from "../../lab/vault/test-vault.ts";
import type { VaultClient } from "../../lab/vault/vault-client.ts";
import { healthOf } from "../support/health.ts";
import { SERVICE_ACCOUNT } from "../../lab/real/world.ts";
import { collection, condition, observedObject } from "../../lab/real/resources.ts";

/**
 * Applies each directory of examples/ without a change, except the URL of the vault, and checks
 * what the operator makes of it.
 */
const SHOP = "shop@example.com";
const PLATFORM = "platform@example.com";
const CORPORATE = "/apis/vaultsync.dev/v1alpha1/clustervaultconnections/corporate";
const WAVE = "argocd.argoproj.io/sync-wave";
/** Mark of Argo CD on the objects of an application: the annotation, before version 3 the label. */
const TRACKING = "argocd.argoproj.io/tracking-id";
const INSTANCE = { "app.kubernetes.io/instance": "billing" };
const waved = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), annotations: z.record(z.string(), z.string()) }),
});
const canaries = new Canaries();
let plane: ControlPlane;
let vault: TestVault;
let shop: VaultClient;
let platform: VaultClient;
let operator: OperatorProcess;
/** The first two in kubectl.test.ts and cluster-connection.test.ts. */
const tested = new Set(["demo", "many-namespaces"]);
/** Everything that was applied, to apply it again. */
const manifests: string[] = [];

beforeAll(async () => {
  plane = await sharedControlPlane();
  vault = await TestVault.start({ emails: [SHOP, PLATFORM] });
  [shop, platform] = [await vault.client(SHOP), await vault.client(PLATFORM)];
  operator = await OperatorProcess.start(await plane.kubeconfigFor(SERVICE_ACCOUNT), [
    "--restart-window",
    "1s",
  ]);
  await apply("connection");
  await createLogin("vault-login", "shop", SHOP);
});
afterAll(async () => {
  await plane.request("DELETE", CORPORATE);
  await plane.request(
    "DELETE",
    `/api/v1/namespaces/${SERVICE_ACCOUNT.namespace}/secrets/corporate-login`,
  );
  const names = ["shop", "team-blue", "team-green"];
  const namespaces = names.map((name) => `/api/v1/namespaces/${name}`);
  for (const path of namespaces) await plane.request("DELETE", path);
  // The operator of the next test file would be denied writes in a namespace that is being deleted.
  const isGone = async (path: string): Promise<boolean> =>
    (await plane.request("GET", path)).status === 404;
  for (const path of namespaces) await waitUntil(`${path} is gone`, () => isGone(path));
  await operator.stop();
  await vault[Symbol.asyncDispose]();
});

/** Applies a directory, or a kustomization in it. */
async function apply(directory: string, kustomization?: string): Promise<void> {
  tested.add(directory);
  const path = `examples/${directory}`;
  const build =
    kustomization === undefined
      ? ["create", "--dry-run=client", "-o", "yaml", "-f", path]
      : ["kustomize", `${path}/${kustomization}`];
  const { stdout } = await plane.kubectl(build);
  await applyManifest(stdout.replaceAll("https://vault.example.com", vault.url));
}

/** Applies a manifest as Argo CD does with `ServerSideApply=true`, and as Flux always does. */
async function applyManifest(input: string): Promise<void> {
  manifests.push(input);
  const { code, stderr } = await plane.kubectl(["apply", "--server-side", "-f", "-"], { input });
  expect(code, stderr).toBe(0);
}

async function createLogin(name: string, namespace: string, email: string): Promise<void> {
  const type = "vaultsync.dev/credentials";
  const object = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, type };
  const input = JSON.stringify({ ...object, stringData: { password: vault.passwords.get(email) } });
  expect((await plane.kubectl(["apply", "-f", "-"], { input })).code).toBe(0);
}

const protect = async (
  client: VaultClient,
  key_name: string,
  key_value: string,
): Promise<string> => {
  const metadata = { environment_type: "prod" };
  expect((await client.call("protect", { key_name, key_value, metadata })).status).toBe(200);
  return key_value;
};

async function upload(files: Readonly<Record<string, string>>): Promise<void> {
  const parts = Object.entries(files).map(([filename, text]) => ({
    filename,
    bytes: Buffer.from(text),
  }));
  const response = await shop.upload(parts);
  expect(response.status, response.bytes.toString()).toBe(200);
}

async function get(kind: string, name: string, namespace = "shop") {
  const { status, body } = await plane.request("GET", `${collection(kind, namespace)}/${name}`);
  return status === 200 ? observedObject.parse(JSON.parse(body)) : undefined;
}

const reason = async (
  kind: string,
  name: string,
  namespace?: string,
  type = "Ready",
): Promise<string | undefined> => {
  const object = await get(kind, name, namespace);
  return object && condition(object, type)?.reason;
};

/** Waits until a resource is ready and returns its target, decoded. */
async function synced(
  kind: "VaultSecret" | "VaultFile",
  name: string,
  namespace?: string,
): Promise<Record<string, string>> {
  await waitUntil(`${kind} ${name} is synced`, async () => {
    const object = await get(kind, name, namespace);
    const ready = object && condition(object, "Ready");
    if (ready?.reason !== "Synced") throw new Error(`${ready?.reason}: ${ready?.message}`);
    return true;
  });
  const target = await get(kind === "VaultSecret" ? "Secret" : "ConfigMap", name, namespace);
  const isSecret = kind === "VaultSecret";
  return Object.fromEntries(
    Object.entries(target?.data ?? {}).map(([key, value]) => [
      key,
      isSecret ? Buffer.from(value, "base64").toString() : value,
    ]),
  );
}

/**
 * Waits until a resource of the namespace `shop` has this reason or health, and returns its health
 * in Argo CD.
 */
async function argoHealth(kind: string, name: string, state: string): Promise<string | undefined> {
  return waitUntil(`${kind} ${name} is ${state}`, async () => {
    const object = await get(kind, name);
    const [health] = object === undefined ? [] : await healthOf([object]);
    const { status, message } = health?.argo ?? {};
    return status === state || message?.startsWith(`${state}: `) === true ? status : undefined;
  });
}

async function restarts(name: string): Promise<number> {
  const args = ["get", "deployment", name, "-n", "shop", "-o", "jsonpath={.metadata.generation}"];
  const { stdout } = await plane.kubectl(args);
  return Number(stdout);
}

test("database-password", async () => {
  const password = canaries.text("password");
  const key = await protect(shop, "shop-encryption-key", canaries.text("key"));
  await protect(shop, "shop-encryption-key", canaries.text("newer"));
  await protect(shop, "shop-db", JSON.stringify({ username: "shop", password }));
  await apply("database-password");
  expect(await synced("VaultSecret", "shop-db")).toEqual({
    username: "shop",
    password,
    "encryption-key": key,
  });
});

test("tls-certificate", async () => {
  const notAfter = new Date(Date.now() + 30 * 86_400_000);
  const { cert, keyPem } = certificate("shop", { hosts: ["shop.example.com"], notAfter });
  await protect(shop, "shop.example.com/certificate", cert);
  await protect(shop, "shop.example.com/key", keyPem);
  await apply("tls-certificate");
  expect(await synced("VaultSecret", "shop-tls")).toEqual({ "tls.crt": cert, "tls.key": keyPem });
  await protect(shop, "shop.example.com/certificate", certificate("other").cert);
  await waitUntil(
    "the certificate of another host is rejected",
    async () => (await reason("VaultSecret", "shop-tls")) === "InvalidContent",
  );
  expect((await get("Secret", "shop-tls"))?.data?.["tls.crt"]).toBe(btoa(cert));
});

test("registry-login", async () => {
  const [user, password] = [
    "shop",
    await protect(shop, "registry-password", canaries.text("registry")),
  ];
  await protect(shop, "registry-user", user);
  await apply("registry-login");
  const { ".dockerconfigjson": text = "{}" } = await synced("VaultSecret", "registry");
  const auth = Buffer.from(`${user}:${password}`).toString("base64");
  expect(JSON.parse(text)).toMatchObject({ auths: { "registry.example.com": { auth } } });
});

test("config-from-files", async () => {
  const [conf, pem] = [canaries.text("conf"), canaries.text("pem")];
  await upload({ "nginx.conf": conf, "client ca.pem": pem });
  await apply("config-from-files");
  expect(await synced("VaultFile", "proxy-conf")).toEqual({
    "nginx.conf": conf,
    "client-ca.pem": pem,
  });
  const before = await restarts("proxy");
  await upload({ "nginx.conf": canaries.text("next") });
  expect(
    await waitUntil("the proxy restarts", async () => (await restarts("proxy")) > before),
  ).toBe(true);
});

test("one-secret-from-many", async () => {
  const [url, token, more] = [canaries.text("url"), canaries.text("token"), canaries.text("more")];
  await protect(shop, "env/shop/DB_URL", url);
  await protect(shop, "shop-settings", JSON.stringify({ TOKEN: token, PORT: 8080 }));
  await apply("one-secret-from-many");
  expect(await synced("VaultSecret", "shop-env")).toEqual({
    DB_URL: url,
    TOKEN: token,
    PORT: "8080",
  });
  await protect(shop, "env/shop/MORE", more);
  await protect(shop, "shop-feature-flags", "a,b");
  const all = { DB_URL: url, MORE: more, TOKEN: token, PORT: "8080", FEATURE_FLAGS: "a,b" };
  await expect.poll(() => synced("VaultSecret", "shop-env"), { timeout: 20_000 }).toEqual(all);
});

test("rotation-with-restart", async () => {
  await protect(shop, "queue-password", canaries.text("old"));
  await apply("rotation-with-restart");
  await synced("VaultSecret", "queue");
  const before = await restarts("worker");
  await protect(shop, "queue-password", canaries.text("new"));
  expect(
    await waitUntil("the worker restarts", async () => (await restarts("worker")) > before),
  ).toBe(true);
});

const paymentsWait = () => reason("VaultSecret", "payments", "shop", "UpdateAvailable");

test("safe-changes", async () => {
  const first = await protect(shop, "payments-password", canaries.text("first"));
  await apply("safe-changes");
  expect(await synced("VaultSecret", "payments")).toEqual({ password: first });
  await protect(shop, "payments-password", canaries.text("second"));
  await expect.poll(paymentsWait, { timeout: 20_000 }).toBe("AwaitingApproval");
  expect(await synced("VaultSecret", "payments")).toEqual({ password: first });
});

test("gitops-repository", async () => {
  const first = await protect(shop, "api-token", canaries.text("first"));
  const second = await protect(shop, "api-token", canaries.text("second"));
  await apply("gitops-repository", "stage");
  await apply("gitops-repository", "prod");
  expect(await synced("VaultSecret", "api-stage")).toEqual({ token: second });
  expect(await synced("VaultSecret", "api-prod")).toEqual({ token: first });
});

const healthOfCorporate = async (): Promise<unknown> =>
  healthOf([JSON.parse((await plane.request("GET", CORPORATE)).body)]);

test("multi-tenant", async () => {
  const [token, registry] = [canaries.text("token"), canaries.text("registry")];
  await protect(platform, "blue/api", token);
  await protect(platform, "registry", registry);
  await createLogin("corporate-login", SERVICE_ACCOUNT.namespace, PLATFORM);
  await apply("multi-tenant");
  expect(await synced("VaultSecret", "api", "team-blue")).toEqual({ token, registry });
  await waitUntil("the other team is refused", async () => {
    return (await reason("VaultSecret", "not-ours", "team-green")) === "NamespaceNotAllowed";
  });
  expect(await get("Secret", "not-ours", "team-green")).toBeUndefined();
  const healthy = [{ kstatus: { status: "Current" }, argo: { status: "Healthy" } }];
  await expect.poll(healthOfCorporate, { timeout: 60_000 }).toMatchObject(healthy);
});

test("push", async () => {
  const password = canaries.text("generated");
  const stringData = { password };
  const generated = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "generated-db", namespace: "shop" },
    stringData,
  };
  expect(
    (await plane.kubectl(["apply", "-f", "-"], { input: JSON.stringify(generated) })).code,
  ).toBe(0);
  await apply("push");
  await waitUntil(
    "the password is pushed",
    async () => (await reason("VaultPush", "generated-db")) === "Synced",
  );
  const response = await shop.call("expose", { key_name: "generated-db-password" });
  expect(response.json()).toMatchObject({ key_value: password });
});

test("sync-waves: each waits for the health of the one before; the target is not tracked", async () => {
  tested.add("sync-waves");
  const { stdout } = await plane.kubectl(["kustomize", "examples/sync-waves/app"]);
  const objects = parseAllDocuments(stdout.replaceAll("https://vault.example.com", vault.url)).map(
    (one) => waved.parse(one.toJS()),
  );
  const wave = async (number: number): Promise<string> => {
    const [object, ...others] = objects.filter(
      ({ metadata }) => metadata.annotations[WAVE] === String(number),
    );
    expect(others).toEqual([]);
    const { kind, metadata } = object!;
    const tracking = `billing:vaultsync.dev/${kind}:shop/${metadata.name}`;
    const annotations = { ...metadata.annotations, [TRACKING]: tracking };
    await applyManifest(
      JSON.stringify({ ...object, metadata: { ...metadata, annotations, labels: INSTANCE } }),
    );
    return metadata.name;
  };
  const connection = await wave(0);
  await argoHealth("VaultConnection", connection, "Healthy");
  const secret = await wave(1);
  expect(await argoHealth("VaultSecret", secret, "SourceMissing")).toBe("Progressing");
  const password = await protect(shop, "billing-db-password", canaries.text("billing"));
  const forced = ["annotate", "vaultsecret", secret, "-n", "shop", "vaultsync.dev/force-sync=1"];
  await plane.kubectl(forced);
  expect(await argoHealth("VaultSecret", secret, "Synced")).toBe("Healthy");
  const target = await get("Secret", "billing-db");
  expect(Buffer.from(target?.data["password"] ?? "", "base64").toString()).toBe(password);
  expect(target?.metadata["labels"]).toEqual({ "app.kubernetes.io/managed-by": "vaultsync" });
  expect(
    Object.keys(target?.metadata.annotations ?? {}).every((name) =>
      name.startsWith("vaultsync.dev/"),
    ),
  ).toBe(true);
  await wave(2);
  const sources = ["argo-cd.yaml", "flux.yaml"]
    .map((file) => readFileSync(`examples/sync-waves/${file}`, "utf8"))
    .join("\n");
  const paths = [...sources.matchAll(/^ +path: (\S+)$/gmu)].map(([, path = ""]) => path);
  expect(paths.map((path) => existsSync(`${path}/kustomization.yaml`))).toEqual([true, true, true]);
});

// It needs Kubernetes 1.35.
test.runIf(chosenRelease() === newest)("pod-mode", async () => {
  const secrets = ["get", "secrets", "-n", "shop", "-o", "name"];
  const before = await plane.kubectl(secrets);
  await apply("pod-mode");
  expect(await restarts("catalog")).toBe(1);
  expect(await restarts("catalog-worker")).toBe(1);
  expect(await plane.kubectl(secrets)).toEqual(before);
});

test("nothing differs from what was applied, and applying it again changes nothing", async () => {
  const input = manifests.join("\n---\n");
  const generations = (): Promise<ProgramResult> =>
    plane.kubectl([
      "get",
      "vaultsync,deployments",
      "-A",
      "-o",
      "jsonpath={.items[*]['metadata.name', 'metadata.generation']}",
    ]);
  const before = await generations();
  expect(before.stdout).toContain("billing-db");
  const { code, stdout, stderr } = await plane.kubectl(["diff", "--server-side", "-f", "-"], {
    input,
  });
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
  const other = { input: input.replace("key: queue-password", "key: other") };
  expect((await plane.kubectl(["diff", "--server-side", "-f", "-"], other)).stdout).toMatch(
    /^\+ +key: other$/mu,
  );
  expect((await plane.kubectl(["apply", "--server-side", "-f", "-"], { input })).code).toBe(0);
  expect(await generations()).toEqual(before);
});

test("every directory is tested, and no value is in the log", () => {
  if (chosenRelease() !== newest) tested.add("pod-mode");
  const directories = readdirSync("examples", { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  expect(new Set(directories.map(({ name }) => name))).toEqual(tested);
  expect(canaries.tracesIn({ log: operator.log })).toEqual([]);
});
