import { expect, test } from "vitest";
import {
  clusterSecret,
  corporate,
  namespaceOf,
} from "../../../test/lab/kube/fanned-out-objects.ts";
import { ObjectServer } from "../../../test/lab/kube/object-server.ts";
import { useVault } from "../../../test/lab/vault/use-vault.ts";
import { customResourceDefinitions } from "../api/crd.ts";
import type { KubeObject } from "../kube/resource.ts";

/** `vaultsync doctor` on ClusterVaultSecrets and the connection that they use. */

const ANN = "ann@example.com";
const { vault } = await useVault({});
const client = await vault.client(ANN);
await client.call("protect", { key_name: "login", key_value: "canary-4711" });

const secret: KubeObject = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    namespace: "vaultsync-system",
    name: "login",
    annotations: { "vaultsync.dev/hosts": new URL(vault.url).host },
  },
  type: "vaultsync.dev/credentials",
  data: { password: Buffer.from(vault.passwords.get(ANN) ?? "").toString("base64") },
};
const base = [
  namespaceOf("blog", { team: "shop" }),
  namespaceOf("other"),
  secret,
  ...[...customResourceDefinitions().values()].map((one) => one as KubeObject),
];
const access = [
  { namespaceSelector: { matchLabels: { team: "none" } }, secrets: ["*"], files: ["*"] },
];

/** Returns the messages of the checks of a subject that were made in a namespace. */
async function checks(
  subject: string,
  namespace: string,
  objects: readonly KubeObject[],
  absent: readonly string[] = [],
): Promise<Readonly<Record<string, string>>> {
  await using cluster = await ObjectServer.start([...base, ...objects], { absent });
  const args = ["-n", namespace, "--allow-http", "-o", "json"];
  const { stdout } = await cluster.run("doctor", ...args);
  const report = JSON.parse(stdout) as {
    checks: { subject: string; check: string; result: string; message: string }[];
  };
  const own = report.checks.filter((one) => one.subject === subject);
  return Object.fromEntries(
    own.map(({ check, result, message }) => [check, `${result}: ${message}`]),
  );
}

const connection = (spec: object = {}): KubeObject =>
  corporate({ url: vault.url, email: ANN, ...spec });
const CORPORATE = "clustervaultconnection/corporate";

test("the names that they read are looked up in the vault", async () => {
  const data = ["login", "logn"].map((key) => ({ secretKey: key, remoteRef: { key } }));
  const registry = clusterSecret("registry", { spec: { data } });
  const found = await checks(CORPORATE, "blog", [connection(), registry]);
  expect(found).toMatchObject({
    access: "skipped: no resource requires access for the namespace blog",
    login: "ok: the vault lists 1 secrets",
    references:
      "failed: the vault does not list logn (clustervaultsecret/registry), of 2 names that resources refer to",
  });
});

test("an optional name that the vault does not list is no failure", async () => {
  const data = [
    { secretKey: "login", remoteRef: { key: "login" } },
    { secretKey: "extra", remoteRef: { key: "absent" }, optional: true },
  ];
  const registry = clusterSecret("registry", { spec: { data } });
  expect(await checks(CORPORATE, "blog", [connection(), registry])).toMatchObject({
    references: "ok: the vault lists all 1 names that resources refer to",
  });
});

test("a namespace that one names has to be allowed, and one that labels select has not", async () => {
  const named = clusterSecret("registry", { spec: { namespaces: ["blog"] } });
  const denied = connection({ access });
  expect(await checks(CORPORATE, "blog", [denied, named])).toMatchObject({
    access: "failed: no entry of spec.access selects the namespace blog",
  });
  expect(await checks(CORPORATE, "blog", [denied, clusterSecret("registry")])).toMatchObject({
    access: expect.stringContaining("skipped"),
    references: expect.stringContaining("ok"),
  });
});

test("the connection of one that does not select the namespace is not checked", async () => {
  expect(await checks(CORPORATE, "other", [connection(), clusterSecret("registry")])).toEqual({});
});

test("an operator works without them, and their CRDs have to have every field", async () => {
  for (const unserved of [[], ["clustervaultfiles"]])
    expect(await checks("cluster", "blog", [], unserved)).toMatchObject({
      CRDs: expect.stringMatching(/^ok: .*VaultPush, ClusterVaultConnection$/u),
    });
  expect(await checks("cluster", "blog", [])).toMatchObject({
    "CRD fields": "ok: the CRDs have every field of this release",
  });
});

/** A VaultSecret of the namespace `blog`. */
const user = (name: string, connectionRef: object): KubeObject => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "VaultSecret",
  metadata: { namespace: "blog", name, uid: name },
  spec: { connectionRef, data: [{ secretKey: "login", remoteRef: { key: "login" } }] },
});

test("a resource whose connection does not exist is a failure", async () => {
  const kind = "ClusterVaultConnection";
  const push = { ...user("keys", { name: "vaullt" }), kind: "VaultPush" };
  const objects = [
    connection(),
    user("db", { name: "vaullt" }),
    user("api", { kind, name: "corporat" }),
    user("web", { kind, name: "corporate" }),
    push,
  ];
  const of = (subject: string) => checks(subject, "blog", objects);
  expect(await of("vaultsecret/db")).toEqual({
    connection: "failed: there is no VaultConnection vaullt in namespace blog",
  });
  expect(await of("vaultpush/keys")).toMatchObject({
    connection: expect.stringContaining("VaultConnection vaullt"),
  });
  expect(await of("vaultsecret/api")).toEqual({
    connection: "failed: there is no ClusterVaultConnection corporat",
  });
  expect(await of("vaultsecret/web")).toEqual({});
});

test("a namespace that does not exist is an error", async () => {
  await using cluster = await ObjectServer.start(base);
  expect(await cluster.run("doctor", "-n", "blgo")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("there is no namespace blgo"),
  });
});

/** Returns the number of permissions that the doctor checks for the namespace `blog`. */
async function needed(objects: readonly KubeObject[], ...args: string[]): Promise<number> {
  await using cluster = await ObjectServer.start([...base, ...objects]);
  const { stdout } = await cluster.run("doctor", "-n", "blog", ...args);
  return Number(/has the (\d+) permissions/u.exec(stdout)?.[1]);
}

test("an operator without the watch of Secrets, or restarts, needs fewer permissions", async () => {
  const all = await needed([]);
  expect(await needed([], "--target-watch", "off")).toBe(all - 2);
  expect(await needed([], "--auto-restart", "off")).toBe(all - 17);
});

/** A VaultSecret that names workloads of these kinds. */
const restarting = (name: string, ...kinds: string[]): KubeObject => {
  const { spec, ...rest } = user(name, { kind: "ClusterVaultConnection", name: "corporate" });
  const rolloutRestart = kinds.map((kind) => ({ kind, name: "web" }));
  return { ...rest, spec: { ...(spec as object), rolloutRestart } };
};

test("spec.rolloutRestart needs its permissions also with --auto-restart=off", async () => {
  const objects = [restarting("a", "Deployment", "Rollout"), restarting("b", "Deployment")];
  const off = ["--auto-restart", "off"];
  expect(await needed(objects, ...off)).toBe((await needed([], ...off)) + 2 * 4);
  expect(await needed(objects)).toBe(await needed([]));
});

const lease = (name: string, renewTime: string): KubeObject => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { namespace: "vaultsync-system", name },
  spec: { holderIdentity: "pod-1_x", renewTime },
});

test("a shard that no replica has is a failure although a replica runs", async () => {
  const [now, before] = [new Date().toISOString(), "2026-01-01T00:00:00Z"];
  const replica = lease("vaultsync-replica-0123456789abcdef", now);
  const shards = [lease("vaultsync-0-of-2", now), lease("vaultsync-1-of-2", before)];
  expect(await checks("operator", "blog", [replica, ...shards])).toMatchObject({
    running: expect.stringMatching(
      /^failed: no operator leads 1 of 2 shards: .* vaultsync-1-of-2/u,
    ),
  });
});
