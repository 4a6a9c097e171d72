import { readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnedControlPlane, startControlPlane } from "../lab/control-plane/start.ts";
import { FaultProxy } from "../lab/real/fault-proxy.ts";
import { matches } from "../lab/control-plane/audit.ts";
import { reset } from "../faults/support/faults.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { storeSecretAndFile } from "./support/stored-content.ts";
import { OPERATOR_USER, World } from "../lab/real/world.ts";
import {
  bytesOf,
  condition,
  vaultFile,
  vaultPush,
  secretThrough,
  vaultSecret,
  collection,
} from "../lab/real/resources.ts";
import { z } from "zod";
import { type ControlPlane, manifestOf } from "../lab/control-plane/control-plane.ts";

const stored = z.looseObject({
  apiVersion: z.string().optional(),
  metadata: z.looseObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
    finalizers: z.array(z.string()).optional(),
    ownerReferences: z.array(z.looseObject({})).optional(),
  }),
});
type Stored = z.output<typeof stored>;

/** The order in which Velero restores: custom resources come last. */
const kinds = ["Secret", "ConfigMap", "VaultConnection", "VaultFile", "VaultPush", "VaultSecret"];

/** Returns all Secrets, ConfigMaps and custom resources of a namespace. */
async function backupOf({ plane, namespace }: World): Promise<Stored[]> {
  const objects: Stored[] = [];
  for (const kind of kinds) {
    const { body } = await plane.request("GET", collection(kind, namespace));
    const list = z
      .object({ apiVersion: z.string(), items: z.array(stored) })
      .parse(JSON.parse(body));
    objects.push(...list.items.map((item) => ({ ...item, apiVersion: list.apiVersion, kind })));
  }
  return objects.filter(({ metadata }) => metadata.name !== "kube-root-ca.crt");
}

/**
 * Creates the objects of a backup in another namespace, in its order, as Velero does: of the
 * metadata only the name, labels, annotations and finalizers are restored, and no status.
 * `withOwners` restores the owner references too, as programs do that copy whole objects.
 */
async function restore(
  plane: ControlPlane,
  namespace: string,
  backup: readonly Stored[],
  { withOwners = false } = {},
): Promise<void> {
  const objects = backup.map(({ status: _status, metadata, ...rest }) => {
    const { name, labels, annotations, finalizers, ownerReferences } = metadata;
    return {
      ...rest,
      metadata: { name, labels, annotations, finalizers, ...(withOwners && { ownerReferences }) },
    };
  });
  const input = manifestOf(objects);
  await plane.kubectlOutput(["create", "-f", "-"], { namespace, input });
}

/**
 * Upgrades and a restored namespace, from a control plane with the CRDs of an earlier state of this
 * repository.
 */
let plane: OwnedControlPlane;
let world: World;
let proxy: FaultProxy;
const others: World[] = [];
let value: string;
let file: string;
const web = vaultFile("web", [{ filename: "web.conf" }], { kind: "ConfigMap" });

const kubectl = (args: readonly string[], input?: string): Promise<string> =>
  plane.kubectlOutput(args, input === undefined ? {} : { input });

const established = (): Promise<string> =>
  kubectl(["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);

/** The connection through a proxy that can fail. */
const proxied = (): object => world.anotherConnection("proxied", { url: proxy.url });

beforeAll(async () => {
  plane = await startControlPlane();
  await kubectl(
    ["apply", "--server-side", "-f", "-"],
    gunzipSync(await readFile("test/e2e/upgrade/crds-2026-11-22.yaml.gz")).toString(),
  );
  for (const folder of ["deploy/cluster", "deploy/base"]) await kubectl(["apply", "-k", folder]);
  await established();
  world = await World.create({ plane });
  proxy = await FaultProxy.start({ url: world.vault.url });
  ({ value, file } = await storeSecretAndFile(world));
  await world.apply(
    proxied(),
    vaultSecret("owned", { password: "db" }),
    secretThrough("proxied", "kept", { password: "db" }),
    vaultSecret("orphan", { password: "db" }, { creationPolicy: "Orphan" }),
    web,
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "pushed" },
      stringData: { password: value },
    },
    vaultPush("pushed", [{ secretKey: "password", remoteRef: { key: "pushed" } }], {
      deletionPolicy: "Delete",
    }),
  );
  await world.startOperator();
});
afterAll(async () => {
  for (const { operator, plane: shared, namespace } of others) {
    await operator.stop();
    await shared.request("DELETE", `/api/v1/namespaces/${namespace}`);
  }
  await world[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await plane[Symbol.asyncDispose]();
});

async function reconciles(): Promise<number> {
  const { body } = await world.operator.page("/metrics");
  const samples = body.matchAll(
    /^vaultsync_reconciles_total\{controller="VaultConnection".*\} (\d+)$/gmu,
  );
  return [...samples].reduce((sum, [, count]) => sum + Number(count), 0);
}

const statusWrites = (since: number): Promise<number> =>
  plane.countRequests(
    { verb: "update", resource: "vaultconnections", subresource: "status" },
    { since },
  );

/** Returns what `vaultsync doctor` says about the fields of the CRDs. */
async function crdFields(): Promise<{ readonly result: string; readonly message: string }> {
  const { stdout } = await world.run("doctor", "-o", "json");
  const { checks } = JSON.parse(stdout) as {
    checks: { check: string; result: string; message: string }[];
  };
  return checks.find(({ check }) => check === "CRD fields") ?? { result: "", message: stdout };
}

test("under older CRDs everything is synced, and a status that they cannot store is written once", async () => {
  for (const name of ["owned", "orphan"]) await world.ready("VaultSecret", name);
  await world.ready("VaultFile", "web");
  await world.ready("VaultPush", "pushed");
  await world.ready("VaultSecret", "kept");
  proxy.inject(reset);
  const stale = await world.until(
    "VaultConnection",
    "proxied",
    (one) => condition(one, "Stale")?.status === "True",
    60_000,
  );
  expect(stale.status).not.toHaveProperty("staleSince");
  await waitUntil("the log names the CRD", () =>
    Promise.resolve(world.operator.log.includes("drops status.staleSince")),
  );
  expect(world.operator.log).toContain(
    "the CRD vaultconnections.vaultsync.dev is older than this operator",
  );
  const [since, before] = [await plane.auditMark(), await reconciles()];
  for (const n of [1, 2, 3]) {
    const done = await reconciles();
    await kubectl([
      "annotate",
      "-n",
      world.namespace,
      "--overwrite",
      "vaultconnection/proxied",
      `vaultsync.dev/confirm-removals=${n}`,
    ]);
    await waitUntil("the connection is reconciled", async () => (await reconciles()) > done);
  }
  expect((await reconciles()) - before).toBeGreaterThan(2);
  expect(await statusWrites(since)).toBe(0);
  const { message } = await crdFields();
  expect(message).toMatch(/vaultconnections\.vaultsync\.dev lacks [^;]*status\.staleSince/u);
  expect(message).toMatch(/vaultfiles\.vaultsync\.dev lacks [^;]*spec\.filesFrom/u);
  expect(message).toContain("clustervaultsecrets.vaultsync.dev is not installed");
});

test("after the CRDs of this release are applied, the next operator knows their fields", async () => {
  await kubectl(["apply", "--server-side", "-k", "crds"]);
  await established();
  const found = vaultSecret("found", {});
  const dataFrom = [{ find: { name: { regexp: "^db$" } } }];
  const resource = { ...found, spec: { ...found.spec, data: undefined, dataFrom } };
  await waitUntil(
    "the new fields are served",
    async () => (await world.tryApply(resource)).code === 0,
  );
  // A watch that began before may show the resource without them for minutes.
  await world.restartOperator();
  await world.ready("VaultSecret", "found");
  expect((await crdFields()).result).toBe("ok");
});

/** A namespace of the shared control plane, with an operator and nothing else of ours. */
async function otherCluster(): Promise<World> {
  const other = await World.create({ vault: world.vault });
  await kubectlIn(other, ["delete", "vaultconnection/vault", "secret/vault-login"]);
  others.push(other);
  await other.startOperator();
  return other;
}

async function kubectlIn(
  { plane: at, namespace }: World,
  args: readonly string[],
  input?: string,
): Promise<void> {
  const { code, stderr } = await at.kubectl(args, {
    namespace,
    ...(input !== undefined && { input }),
  });
  expect(code, stderr).toBe(0);
}

async function ownerUids(at: World, kind: string, name: string): Promise<unknown> {
  const target = await at.get(kind, name);
  const owners = (target?.metadata["ownerReferences"] ?? []) as { readonly uid: string }[];
  return owners.map(({ uid }) => uid);
}

async function allReady(at: World): Promise<void> {
  for (const name of ["owned", "orphan", "found"]) await at.ready("VaultSecret", name);
  await at.ready("VaultFile", "web");
  await at.ready("VaultPush", "pushed");
}

/**
 * Returns what a namespace has of the vault, the versions of the pushed entry, and whether the
 * targets have their owners.
 */
async function stateOf(at: World): Promise<object> {
  const secrets = await Promise.all(
    ["owned", "orphan", "pushed"].map((name) => at.get("Secret", name)),
  );
  const versions = await world.caller.call("version_list", { key_name: "pushed" });
  const [secret, webFile] = [
    await at.get("VaultSecret", "owned"),
    await at.get("VaultFile", "web"),
  ];
  const owners = [await ownerUids(at, "Secret", "owned"), await ownerUids(at, "ConfigMap", "web")];
  return {
    secrets: secrets.map((one) => one && bytesOf(one, "password")?.toString()),
    file: (await at.get("ConfigMap", "web"))?.data["web.conf"],
    pushed: versions.json().versions.length,
    owned: isDeepStrictEqual(owners, [[secret?.metadata.uid], [webFile?.metadata.uid]]),
  };
}
const whole = () => ({ secrets: [value, value, value], file, pushed: 1, owned: true });

test("a namespace restored into another cluster keeps its targets, also without the vault", async () => {
  const backup = await backupOf(world);
  const other = await otherCluster();
  const since = await other.plane.auditMark();
  await restore(other.plane, other.namespace, backup);
  const names = ["owned", "orphan", "found", "kept"];
  const restored = await Promise.all(names.map((name) => other.get("Secret", name)));
  await allReady(other);
  await other.untilReason("VaultSecret", "kept", "ConnectionNotReady");
  expect(await stateOf(other)).toEqual(whole());
  const now = await Promise.all(names.map((name) => other.get("Secret", name)));
  expect(now.map((one) => one?.metadata.uid)).toEqual(restored.map((one) => one?.metadata.uid));
  expect(now.at(-1)?.data).toEqual(restored.at(-1)?.data);
  const filter = {
    user: OPERATOR_USER,
    namespace: other.namespace,
    resource: "secrets",
    verb: ["create", "update", "patch", "delete"],
  };
  const writes = (await other.plane.auditEvents({ since })).filter((event) =>
    matches(event, filter),
  );
  const verbs = writes.map(({ verb, objectRef }) => `${verb} ${objectRef?.name}`);
  expect(verbs.toSorted()).toEqual(["update found", "update orphan", "update owned"]);
});

test("targets restored with owner references, which Kubernetes deletes, are created again", async () => {
  const backup = await backupOf(world);
  const other = await otherCluster();
  const owners = backup.flatMap(({ metadata }) => metadata.ownerReferences ?? []).slice(0, 1);
  const dependent = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "dependent", ownerReferences: owners },
  };
  await restore(other.plane, other.namespace, backup, { withOwners: true });
  await kubectlIn(other, ["create", "-f", "-"], JSON.stringify(dependent));
  // The garbage collection of this ConfigMap shows that the targets were collected too.
  await other.gone("ConfigMap", "dependent", 60_000);
  await allReady(other);
  for (const name of ["owned", "found"])
    await other.until("Secret", name, ({ metadata }) => metadata["ownerReferences"] !== undefined);
  expect(await stateOf(other)).toEqual(whole());
});
