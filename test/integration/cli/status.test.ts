import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import {
  API_GROUP,
  API_VERSION,
  clusterVaultConnectionKind,
  type Kind,
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../../../src/operator/api/kinds.ts";
import type { KubeClient } from "../../../src/operator/kube/client/kube-client.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { runAsAdmin, runInProcess } from "../../lab/real/processes/run-in-process.ts";
import { VaultsyncProcess } from "../../lab/real/processes/vaultsync-process.ts";
import { connect } from "../kube/connect.ts";

const forever = new AbortController().signal;
const HOUR_MS = 3_600_000;

let controlPlane: ControlPlane;
let client: KubeClient;
let namespace: string;

beforeAll(async () => {
  controlPlane = await sharedControlPlane();
  client = await connect(controlPlane.kubeconfigPath);
  namespace = await controlPlane.createNamespace("cli-status");
  await installCrds(controlPlane);
});
afterAll(() => client[Symbol.asyncDispose]());

const run = (...args: readonly string[]) => runAsAdmin(controlPlane, ["status", ...args]);
const status = (...args: readonly string[]) => run("-n", namespace, ...args);

const fromNow = (ms: number): string => new Date(Date.now() + ms).toISOString();

function condition(type: string, reason: string, ok: boolean, message = reason): object {
  return {
    type,
    status: ok ? "True" : "False",
    reason,
    message,
    lastTransitionTime: fromNow(0),
    observedGeneration: 1,
  };
}

/** Creates a resource, and writes its status as an operator would. */
async function create(kind: Kind, name: string, spec: object, written?: object): Promise<void> {
  const object = {
    apiVersion: `${API_GROUP}/${API_VERSION}`,
    kind: kind.kind,
    metadata: { namespace, name },
    spec,
  };
  const { metadata } = await client.create(kind, object, forever);
  if (written !== undefined) await client.replaceStatus(kind, metadata, written, forever);
}

const connectionRef = { name: "vault" };
const data = [{ secretKey: "password", remoteRef: { key: "shop-db" } }];

test("an empty namespace prints nothing on standard output and exits with 0", async () => {
  const { code, stdout, stderr } = await status();
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: "",
    stderr: `no connection, VaultSecret, VaultFile or VaultPush in namespace ${namespace}\n`,
  });
});

test("a namespace that does not exist is a failure, and so is a name or a context", async () => {
  expect(await run("-n", "typo")).toMatchObject({
    code: 1,
    stderr: "vaultsync: there is no namespace typo\n",
  });
  expect(await status("absent")).toMatchObject({
    code: 1,
    stderr: "vaultsync: no vaultsecret/absent\n",
  });
  expect(await status("vaultx/absent")).toMatchObject({ code: 2 });
  expect(await status("--context", "typo")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no context "typo"'),
  });
  expect(await status("--as", "viewer@example.com")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/request the permission to list vault\w+/u),
  });
});

/** Returns the names in the rows of the table. */
const shown = async (...args: string[]): Promise<string[]> =>
  [...(await status(...args)).stdout.matchAll(/^vault\w+\/\w+(?= )/gmu)].map(([name]) => name);

test("the status shows the resources that are named, or that have labels", async () => {
  for (const name of ["one", "two"]) await create(vaultSecretKind, name, { connectionRef, data });
  const label = `label vaultsecret/one -n ${namespace} team=shop`;
  await controlPlane.kubectl(label.split(" "));
  expect(await shown("two")).toEqual(["vaultsecret/two"]);
  expect(await shown("vsec/two", "one")).toEqual(["vaultsecret/one", "vaultsecret/two"]);
  expect(await shown("-l", "team=shop")).toEqual(["vaultsecret/one"]);
  for (const name of ["one", "two"])
    await controlPlane.kubectl(["delete", "vaultsecret", name, "-n", namespace]);
});

test("the status of a namespace has a row per object, and the message of each that is not ready", async () => {
  const auth = { passwordSecretRef: { name: "login" } };
  await create(
    vaultConnectionKind,
    "vault",
    { url: "https://vault.example.com", email: "ops@example.com", auth },
    {
      conditions: [condition("Ready", "Synced", true)],
      token: { expiresAt: fromNow(5.5 * HOUR_MS), refreshedAt: fromNow(0) },
      secrets: 12,
      users: 3,
    },
  );
  await create(
    vaultSecretKind,
    "db",
    { connectionRef, data },
    {
      conditions: [condition("Ready", "Synced", true)],
      target: { kind: "Secret", name: "db" },
      items: [
        {
          secretKey: "password",
          key: "shop-db",
          version: 3,
          latest: 4,
          expiresAt: fromNow(10.5 * 24 * HOUR_MS),
        },
      ],
      syncedAt: fromNow(-3.5 * HOUR_MS),
    },
  );
  await create(
    vaultFileKind,
    "web",
    {
      connectionRef,
      files: [{ filename: "a.conf" }, { filename: "b.conf" }],
      target: { kind: "ConfigMap", name: "web" },
    },
    {
      conditions: [
        condition("Ready", "SourceMissing", false, "b.conf is not listed"),
        condition("Stale", "VaultUnreachable", true),
      ],
      target: { kind: "ConfigMap", name: "web" },
      items: [
        { key: "a.conf", filename: "a.conf", version: 2, latest: 2 },
        { key: "b.conf", filename: "b.conf", version: 1 },
      ],
    },
  );
  await create(vaultSecretKind, "new", { connectionRef, data });

  const { code, stdout, stderr } = await status();
  expect({ code, stderr }).toEqual({ code: 3, stderr: "" });
  expect(stdout.split("\n")).toEqual([
    "CONNECTION             READY  REASON  SECRETS  FILES  USERS  TOKEN  URL",
    "vaultconnection/vault  True   Synced  12       -      3      5h     https://vault.example.com",
    "",
    "RESOURCE         READY    REASON                 TARGET         VERSION        SYNCED  EXPIRES  REMOVAL",
    "vaultsecret/db   True     Synced                 Secret/db      3 (latest 4)   3h      10d      -",
    "vaultsecret/new  Unknown  Pending                -              -              -       -        -",
    "vaultfile/web    False    SourceMissing (stale)  ConfigMap/web  1 of 2 latest  -       -        -",
    "",
    "vaultsecret/new: no operator has reconciled it yet",
    "vaultfile/web: b.conf is not listed",
    "",
  ]);
});

test("a VaultPush has the vault as its target, and the versions that were pushed", async () => {
  const spec = {
    connectionRef,
    secret: { name: "generated" },
    data: [{ secretKey: "password", remoteRef: { key: "shop-db" } }],
  };
  const items = [{ secretKey: "password", key: "shop-db", version: 7, content: "HMAC" }];
  const conditions = [condition("Ready", "Synced", true)];
  await create(vaultPushKind, "generated", spec, {
    conditions,
    items,
    syncedAt: fromNow(-2.5 * HOUR_MS),
  });
  const { stdout } = await status();
  const [row = ""] = stdout.split("\n").filter((line) => line.startsWith("vaultpush/"));
  expect(row.split(/ {2,}/u)).toEqual([
    "vaultpush/generated",
    "True",
    "Synced",
    "vault",
    "7",
    "2h",
    "-",
    "-",
  ]);
  await client.delete(vaultPushKind, { namespace, name: "generated" }, forever);
});

test("--items has a row per key", async () => {
  const { stdout } = await status("--items");
  const rows = stdout.split("\n").filter((line) => line.startsWith("vaultfile/web "));
  expect(rows.map((row) => row.split(/ {2,}/u).slice(3, 6))).toEqual([
    ["a.conf", "a.conf", "2"],
    ["b.conf", "b.conf", "1"],
  ]);
});

test.each([
  ["json", JSON.parse],
  ["yaml", parse],
] as const)(
  "-o %s contains the fields of the table",
  async (format, read: (text: string) => unknown) => {
    const { code, stdout } = await status("-o", format);
    expect(code).toBe(3);
    expect(read(stdout)).toMatchObject({
      connections: [
        {
          kind: "vaultconnection",
          namespace,
          name: "vault",
          ready: "True",
          secrets: 12,
          current: true,
        },
      ],
      resources: [
        {
          name: "db",
          reason: "Synced",
          items: [{ key: "password", source: "shop-db", version: 3, latest: 4 }],
        },
        { name: "new", ready: "Unknown" },
        { name: "web", reason: "SourceMissing", stale: true },
      ],
    });
  },
);

test("a condition of an earlier generation is shown as outdated, and is not ready", async () => {
  const before = await client.get(vaultSecretKind, { namespace, name: "db" }, forever);
  await client.replace(
    vaultSecretKind,
    { ...before, spec: { connectionRef, data, suspend: true } },
    forever,
  );
  const { stdout } = await status();
  expect(stdout).toMatch(/^vaultsecret\/db +True +Synced \(outdated\) /mu);
});

test("a connection of the cluster is shown in the namespaces whose resources refer to it", async () => {
  const auth = { passwordSecretRef: { name: "login" } };
  const name = `cluster-${namespace}`;
  const metadata = { name };
  const spec = { url: "https://vault.example.com", email: "ops@example.com", auth };
  const kind = clusterVaultConnectionKind;
  await client.create(
    kind,
    { apiVersion: `${API_GROUP}/${API_VERSION}`, kind: kind.kind, metadata, spec },
    forever,
  );
  const row = new RegExp(`^clustervaultconnection/${name} +Unknown +Pending `, "mu");
  expect((await status()).stdout).not.toMatch(row);
  await create(vaultSecretKind, "shared", { connectionRef: { kind: kind.kind, name }, data });
  expect((await status()).stdout).toMatch(row);
  const all = await run("-A");
  expect(all.stdout).toMatch(new RegExp(`^- +clustervaultconnection/${name} +Unknown`, "mu"));
  await client.delete(vaultSecretKind, { namespace, name: "shared" }, forever);
  await client.delete(kind, metadata, forever);
});

test("--watch shows a change, and ends with the state of the last one when it is interrupted", async () => {
  await using watch = new VaultsyncProcess([
    "status",
    "--kubeconfig",
    controlPlane.kubeconfigPath,
    "-n",
    namespace,
    "--watch",
  ]);
  await watch.waitForOutput(({ stdout }) =>
    stdout.includes("vaultfile/web: b.conf") ? true : undefined,
  );
  expect(watch.stdout.match(/^RESOURCE /gmu)).toHaveLength(1);
  await client.delete(vaultFileKind, { namespace, name: "web" }, forever);
  await watch.waitForOutput(({ stdout }) => stdout.match(/^RESOURCE /gmu)?.[1]);
  expect(watch.stdout.match(/^vaultfile\/web /gmu)).toHaveLength(1);
  expect(await watch.stop("SIGINT")).toBe(3);
});

test("--all-namespaces names the namespace, and conflicts with --namespace", async () => {
  const all = await run("-A");
  expect(all.stdout).toMatch(new RegExp(`^${namespace} +vaultsecret/db `, "mu"));
  expect(await status("-A")).toMatchObject({ code: 2 });
});

test.each([
  { name: "an unknown file", args: ["--kubeconfig", "/nowhere"], exit: 1, message: "/nowhere" },
  { name: "an unknown format", args: ["-o", "xml"], exit: 2, message: "" },
])("$name is an error", async ({ args, exit, message }) => {
  const { code, stdout, stderr } = await runInProcess(["status", ...args]);
  expect(code).toBe(exit);
  expect(stdout).toBe("");
  expect(stderr).toContain(message);
});
