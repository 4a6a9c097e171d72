import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FaultProxy } from "../lab/real/fault-proxy.ts";
import { certificate } from "../lab/certificates.ts";
import { chosenRelease, oldest } from "../lab/control-plane/binaries/version.ts";
import { manifestOf } from "../lab/control-plane/control-plane.ts";
import { OperatorProcess } from "../lab/real/processes/operator-process.ts";
import { ACCOUNT, World } from "../lab/real/world.ts";
import { collection, condition, observedObject, vaultSecret } from "../lab/real/resources.ts";

/**
 * The mistakes of docs/status.md#messages-of-mistakes, each made on the real API server,
 * vault and TLS server: the page is the expectation. Two operators: --allow-http permits what two
 * of the mistakes need denied.
 */
const world = await World.ofFile();
const { namespace, plane } = world;
const guarded = await plane.createNamespace("guarded");
const down = await FaultProxy.start(world.vault);
const { cert, keyPem: key } = certificate("vault", { hosts: ["127.0.0.1"] });
const tls = await FaultProxy.start(world.vault, { tls: { cert, key } });
let strict: OperatorProcess;

const kindOf = { apiVersion: "vaultsync.dev/v1alpha1" };
const loginWith = (name: string, auth = name) => ({ auth: { passwordSecretRef: { name: auth } } });
const connection = (name: string, spec: object = {}): object => ({
  ...kindOf,
  kind: "VaultConnection",
  metadata: { name },
  spec: {
    url: world.vault.url,
    email: ACCOUNT,
    ...loginWith("vault-login"),
    refreshInterval: "5s",
    ...spec,
  },
});
const credentials = (
  name: string,
  stringData: object,
  type = "vaultsync.dev/credentials",
): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  type,
  stringData,
});
const secretThrough = (
  name: string,
  connectionRef: object,
  ...keys: readonly string[]
): object => ({
  ...kindOf,
  kind: "VaultSecret",
  metadata: { name },
  spec: { connectionRef, data: keys.map((one) => ({ secretKey: one, remoteRef: { key: one } })) },
});

interface Mistake {
  readonly kind: "VaultConnection" | "VaultSecret";
  readonly name: string;
  readonly objects: readonly object[];
}
const ofConnection = (name: string, spec: object, ...objects: readonly object[]): Mistake => ({
  kind: "VaultConnection",
  name,
  objects: [...objects, connection(name, spec)],
});
const ofSecret = (name: string, ...objects: readonly object[]): Mistake => ({
  kind: "VaultSecret",
  name,
  objects,
});

/**
 * The mistakes that the operator reports in the condition Ready, by the first cell of their rows.
 */
const reported: Readonly<Record<string, Mistake>> = {
  "wrong password": ofConnection(
    "password",
    loginWith("wrong"),
    credentials("wrong", { password: world.canaries.text("wrong") }),
  ),
  "unknown account": ofConnection("account", { email: "opps@example.com" }),
  "host that does not exist": ofConnection("host", { url: "https://vault.invalid" }),
  "wrong port": ofConnection("port", { url: "https://127.0.0.1:1" }),
  "http to a TLS port": ofConnection("plain", { url: tls.url.replace("https", "http") }),
  "https to a port without TLS": ofConnection("no-tls", {
    url: world.vault.url.replace("http", "https"),
  }),
  "address of a metadata service": ofConnection("metadata", { url: "https://169.254.169.254" }),
  "certificate of a private authority": ofConnection("private", { url: tls.url }),
  "missing object of spec.caBundleRef": ofConnection("bundle", {
    url: tls.url,
    caBundleRef: { kind: "ConfigMap", name: "no-bundle" },
  }),
  "vault that went down": ofConnection("down", { url: down.url }),
  "missing credentials Secret": ofConnection("missing", loginWith("nope")),
  "credentials Secret of another type": ofConnection(
    "type",
    loginWith("opaque"),
    credentials("opaque", { password: world.canaries.text("opaque") }, "Opaque"),
  ),
  "wrong key in the credentials Secret": ofConnection(
    "key",
    loginWith("keyless"),
    credentials("keyless", { passwort: world.canaries.text("keyless") }),
  ),
  "missing connection": ofSecret("lonely", secretThrough("lonely", { name: "vualt" }, "shop-db")),
  "typing error in the name of a secret": ofSecret(
    "typo",
    vaultSecret("typo", { password: "shop-bd" }),
  ),
  "one of two secrets does not exist": ofSecret(
    "partly",
    vaultSecret("partly", { a: "shop-db", b: "nothing-like-it" }),
  ),
  "scope without the secret": ofSecret(
    "narrow",
    connection("narrow", { scope: { secretName: ["other"] } }),
    secretThrough("narrow", { name: "narrow" }, "shop-db"),
  ),
  "version that does not exist": ofSecret(
    "version",
    vaultSecret("version", { password: { key: "shop-db", version: 99 } }),
  ),
  "two resources with one target": ofSecret(
    "second",
    vaultSecret("second", { password: "shop-db" }, { name: "first" }),
  ),
  "target that exists": ofSecret(
    "exists",
    credentials("exists", { own: "data" }, "Opaque"),
    vaultSecret("exists", { password: "shop-db" }),
  ),
  "TLS type with other keys": ofSecret(
    "tls",
    vaultSecret("tls", { password: "shop-db" }, { type: "kubernetes.io/tls" }),
  ),
  "another type of an existing target": ofSecret(
    "retyped",
    vaultSecret(
      "retyped",
      { username: "shop-db", password: "shop-db" },
      { type: "kubernetes.io/basic-auth" },
    ),
  ),
};

/** Mistakes that only an operator without --allow-http reports. */
const strictly: Readonly<Record<string, Mistake>> = {
  "http without --allow-http": ofConnection("http", {}),
  "loopback address without --allow-http": ofConnection("loopback", { url: tls.url }),
};

/** Mistakes that the API server rejects. */
const rejected: Readonly<Record<string, object>> = {
  "URL with /v1": connection("v1", { url: "https://vault.example.com/v1" }),
  "version in quotes": vaultSecret("quoted", { password: { key: "shop-db", version: "1" } }),
  "unknown field": {
    ...kindOf,
    kind: "VaultSecret",
    metadata: { name: "unknown" },
    spec: {
      connectionRef: { name: "vault" },
      data: [{ secretKey: "a", remoteReference: { key: "a" } }],
    },
  },
  "duration without a unit": connection("unit", { refreshInterval: "1m30" }),
  "number instead of a duration": connection("number", { refreshInterval: 60 }),
};

beforeAll(async () => {
  await world.protect("shop-db", world.canaries.text("first"));
  await world.protect("shop-db", world.canaries.text("second"));
  const first = vaultSecret("first", { password: "shop-db" });
  const retyped = vaultSecret("retyped", { username: "shop-db", password: "shop-db" });
  const [operator] = await Promise.all([
    OperatorProcess.start(world.kubeconfig, ["--namespaces", guarded, "--no-leader-elect"], {
      allowHttp: false,
    }),
    world.startOperator(),
    world.apply(first, retyped, connection("down", { url: down.url })),
  ]);
  strict = operator;
  await Promise.all([
    world.ready("VaultConnection", "down"),
    world.ready("VaultSecret", "first"),
    world.ready("VaultSecret", "retyped"),
  ]);
  await down.refuse();
  await world.apply(...Object.values(reported).flatMap(({ objects }) => objects));
  const login = credentials("vault-login", { password: world.canaries.text("guarded") });
  const input = manifestOf([login, ...Object.values(strictly).flatMap(({ objects }) => objects)]);
  await plane.kubectl(["apply", "-f", "-"], { namespace: guarded, input });
});
afterAll(async () => {
  await strict.stop();
  for (const each of [down, tls]) await each[Symbol.asyncDispose]();
  await plane.request("DELETE", `/api/v1/namespaces/${guarded}`);
});
/** Returns the rows of the table of mistakes: what is done, the reason, and the message. */
function documented(): ReadonlyMap<string, readonly [reason: string, message: string]> {
  const [, section = ""] = readFileSync("docs/status.md", "utf8").split(
    "\n## Messages of mistakes\n",
  );
  const rows =
    section
      .split("\n## ")[0]
      ?.split("\n")
      .filter((line) => line.startsWith("|")) ?? [];
  return new Map(
    rows.slice(2).map((row) => {
      const [what = "", reason = "", message = ""] = row
        .split("|")
        .slice(1)
        .map((cell) => cell.trim().replaceAll("`", ""));
      return [what, [reason, message]];
    }),
  );
}

/** Replaces what differs from run to run by what the page shows. */
function asDocumented(text: string): string {
  const ports: [from: number, to: string][] = [
    [Number(new URL(world.vault.url).port), "8200"],
    [tls.port, "8201"],
    [down.port, "8202"],
  ];
  const named = text
    .replaceAll(namespace, "shop")
    .replaceAll(guarded, "shop")
    .replaceAll("EAI_AGAIN", "ENOTFOUND");
  const spaced = named
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/gu, "2026-11-21T12:00:00.000Z")
    .replaceAll(/\s+/gu, " ")
    .trim();
  return ports.reduce((all, [from, to]) => all.replaceAll(`:${from}`, `:${to}`), spaced);
}

const page = documented();

/** Returns what a resource shows now: its reason, whether a user has to act, and its message. */
async function shown(
  { kind, name }: Mistake,
  inNamespace: string,
): Promise<[reason: string, message: string]> {
  const { body } = await plane.request("GET", `${collection(kind, inNamespace)}/${name}`);
  const object = observedObject.parse(JSON.parse(body));
  const { reason = "", message = "" } = condition(object, "Ready") ?? {};
  const isStalled = condition(object, "Stalled")?.status === "True";
  return [isStalled ? `${reason}, Stalled` : reason, asDocumented(message)];
}

test.concurrent.each(Object.entries(reported))("%s", async (what, mistake) => {
  await expect
    .poll(() => shown(mistake, namespace), { timeout: 20_000, interval: 100 })
    .toEqual(page.get(what));
});

test.concurrent.each(Object.entries(strictly))("%s", async (what, mistake) => {
  await expect
    .poll(() => shown(mistake, guarded), { timeout: 20_000, interval: 100 })
    .toEqual(page.get(what));
});

/** Omits what the oldest release prints in another way: the value that a rule rejects. */
const comparable = (message: string): string =>
  chosenRelease() === oldest
    ? message.replaceAll(/Invalid value: (?:"[^"]*"|null): /gu, "")
    : message;

test.concurrent.each(Object.entries(rejected))("%s", async (what, object) => {
  const { code, stderr } = await world.tryApply(object);
  const seen = [code === 0 ? "accepted" : "rejected", asDocumented(stderr)];
  expect(seen.map(comparable)).toEqual(page.get(what)?.map(comparable));
});

test("every mistake of the page is made here", () => {
  expect([...page.keys()].toSorted()).toEqual(
    Object.keys({ ...reported, ...strictly, ...rejected }).toSorted(),
  );
});

test("a vault with a certificate of a private authority works as its message says", async () => {
  const caBundleRef = { kind: "ConfigMap", name: "vault-ca" };
  const bundle = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "vault-ca" },
    data: { "ca.crt": cert },
  };
  await world.apply(bundle, connection("private", { url: tls.url, caBundleRef }));
  await world.ready("VaultConnection", "private");
});

test("no password or value is in anything that the operator wrote", async () => {
  expect(
    world.canaries.tracesIn({ ...(await world.operatorOutput()), strict: strict.log }),
  ).toEqual([]);
});
