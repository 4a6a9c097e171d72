import { describe, expect, test } from "vitest";
import {
  clusterSecret,
  condition,
  corporate,
  failing,
  items,
  namespaceOf,
} from "../../../test/lab/kube/fanned-out-objects.ts";
import { ObjectServer } from "../../../test/lab/kube/object-server.ts";
import { API_GROUP, API_VERSION } from "../api/kinds.ts";
import type { KubeObject } from "../kube/resource.ts";

/** Commands about a ClusterVaultSecret `registry`, next to a VaultSecret of its name. */

const namesake: KubeObject = {
  apiVersion: `${API_GROUP}/${API_VERSION}`,
  kind: "VaultSecret",
  metadata: { namespace: "blog", name: "registry", uid: "namesake", resourceVersion: "1" },
  spec: { connectionRef: { name: "vault" }, data: [] },
};
const around = [namespaceOf("blog", { team: "shop" }), namespaceOf("other"), corporate(), namesake];

/** Reports a sync as the operator does, with these changes of the status. */
const syncs =
  (changes: (annotations: Readonly<Record<string, string>>) => object = () => ({})) =>
  (object: KubeObject): KubeObject => {
    const { annotations = {} } = object.metadata;
    const lastForceSync = annotations["vaultsync.dev/force-sync"];
    const status = object["status"] as object;
    return { ...object, status: { ...status, lastForceSync, ...changes(annotations) } };
  };

const serve = (
  object: KubeObject,
  operator = syncs(),
  denied: readonly string[] = [],
): Promise<ObjectServer> => ObjectServer.start([...around, object], { operator, denied });

const ID = "clustervaultsecret/registry";
const PATCH = "clustervaultsecrets /registry";

/** Returns the items of a status while the annotation holds version 1, or not. */
const held = (annotations: Readonly<Record<string, string>>): object => ({
  items: items(annotations["vaultsync.dev/hold"] === undefined ? 2 : 1, 2),
});

const accept = (cluster: ObjectServer, ...args: string[]) =>
  cluster.run("accept", "--connection", "clustervaultconnection/corporate", ...args);

describe("sync", () => {
  test.each([ID, "cvsec/registry"])("of %s waits for all its namespaces", async (name) => {
    await using cluster = await serve(clusterSecret("registry"));
    const { code, stdout, stderr } = await cluster.run("sync", name, "-n", "blog");
    expect([code, stderr, cluster.patches]).toEqual([0, "", [PATCH]]);
    expect(stdout.split("\n").map((line) => line.split(/ {2,}/u).slice(0, 6))).toEqual([
      ["RESOURCE", "READY", "REASON", "NAMESPACES", "IN SYNC", "FAILED"],
      [ID, "True", "Synced", "2", "2", "0"],
      [""],
    ]);
  });

  test("names the namespaces that are not in sync afterwards", async () => {
    await using cluster = await serve(
      clusterSecret("registry"),
      syncs(() => failing("SourceMissing")),
    );
    const { code, stdout } = await cluster.run("sync", ID);
    expect(code).toBe(3);
    expect(stdout).toContain(`${ID} in namespace blog: SourceMissing: the reason is SourceMissing`);
  });

  test("fails if there is no such resource, or no operator that responds", async () => {
    await using cluster = await serve(clusterSecret("other"), (object) => object);
    expect(await cluster.run("sync", ID, "-n", "blog")).toMatchObject({
      code: 1,
      stderr: `vaultsync: no ${ID}\n`,
    });
    expect(cluster.patches).toEqual([]);
    expect(await cluster.run("sync", "cvsec/other", "--timeout", "1")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("does an operator run for all namespaces?"),
    });
  });
});

describe("rollback and resume", () => {
  test("hold a version in all namespaces, and end that", async () => {
    await using cluster = await serve(clusterSecret("registry"), syncs(held));
    const back = await cluster.run("rollback", ID, "--reason", "wrong host");
    expect(back.code).toBe(0);
    expect(back.stdout).toMatch(/^password +login +2 +1$/mu);
    expect(back.stderr).toContain(`vaultsync resume ${ID}`);
    const { annotations = {} } = cluster.get("ClusterVaultSecret", "registry").metadata;
    expect(JSON.parse(annotations["vaultsync.dev/hold"] ?? "")).toMatchObject({
      versions: { password: 1 },
      reason: "wrong host",
    });
    expect(await cluster.run("resume", ID)).toMatchObject({ code: 0 });
    const { metadata } = cluster.get("ClusterVaultSecret", "registry");
    expect(metadata.annotations).not.toHaveProperty("vaultsync.dev/hold");
    expect(cluster.patches).toEqual([PATCH, PATCH]);
  });

  test("cannot wait for pods, because nothing shows what they run", async () => {
    await using cluster = await serve(clusterSecret("registry"));
    expect(await cluster.run("rollback", ID, "--wait")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${ID} has no condition Converged`),
    });
    expect(cluster.patches).toEqual([]);
  });
});

test("history says how many keys a long status does not show", async () => {
  await using cluster = await serve(clusterSecret("registry", { status: { itemsOmitted: 7 } }));
  const { stderr } = await cluster.run("history", ID, "--account", "/absent");
  expect(stderr).toContain(`${ID} has 7 more keys that its status does not show`);
});

test("history shows the versions of a namespace in sync", async () => {
  await using cluster = await serve(clusterSecret("registry"));
  const { stdout } = await cluster.run("history", ID, "--account", "/absent");
  expect(stdout).toMatch(/^login +2 +- +- +in the target: password$/mu);
});

describe("approve", () => {
  const waiting = {
    approvalDigest: "digest",
    items: items(1, 2),
    conditions: [
      condition("Ready", "True", "Synced"),
      condition("UpdateAvailable", "True", "AwaitingApproval"),
    ],
  };

  test("approves the versions of all namespaces", async () => {
    const operator = syncs((annotations) =>
      annotations["vaultsync.dev/approve"] === "digest"
        ? { approvalDigest: undefined, items: items(2) }
        : {},
    );
    await using cluster = await serve(clusterSecret("registry", { status: waiting }), operator);
    const { code, stdout, stderr } = await cluster.run("approve", ID, "-n", "blog");
    expect([code, stderr, cluster.patches]).toEqual([0, "", [PATCH]]);
    expect(stdout).toMatch(/^clustervaultsecret\/registry +password +login +1 +2$/mu);
  });

  test("with --all concerns the namespace only", async () => {
    await using cluster = await serve(clusterSecret("registry", { status: waiting }));
    await cluster.run("approve", "--all", "-n", "blog");
    expect(cluster.patches).toEqual([]);
  });
});

describe("accept", () => {
  const regressed = clusterSecret("registry", {
    status: { ...failing("VersionRegressed"), items: items(8, 7) },
  });
  test("for all namespaces accepts the versions that the status shows", async () => {
    await using cluster = await serve(regressed);
    const { code, stdout } = await accept(cluster, "--all-namespaces");
    expect([code, cluster.patches]).toEqual([0, [PATCH]]);
    expect(stdout).toMatch(/^- +clustervaultsecret\/registry +login +8 +7$/mu);
    const { metadata } = cluster.get("ClusterVaultSecret", "registry");
    expect(metadata.annotations).toEqual({ "vaultsync.dev/accept": "login@7" });
  });

  test("for one namespace changes none that concerns several", async () => {
    await using cluster = await serve(regressed);
    expect(await accept(cluster, "-n", "blog")).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(
        `${ID} waits as well: accept its versions with --all-namespaces`,
      ),
    });
    expect((await accept(cluster, "-n", "other")).stderr).not.toContain(ID);
    expect(cluster.patches).toEqual([]);
  });

  test("says so if the status does not show which versions are lower", async () => {
    await using cluster = await serve(
      clusterSecret("registry", { status: failing("VersionRegressed") }),
    );
    expect(await accept(cluster, "--all-namespaces")).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("its status does not show which versions"),
    });
    expect(cluster.patches).toEqual([]);
  });

  test("leaves what another connection reads, or what waits for nothing", async () => {
    await using cluster = await serve(clusterSecret("registry"));
    expect(await accept(cluster, "-A")).toMatchObject({ code: 0 });
    const other = ["--connection", "clustervaultconnection/other", "-A"];
    await using waiting = await serve(regressed);
    expect(await waiting.run("accept", ...other)).toMatchObject({ code: 0, stdout: "" });
    expect([...cluster.patches, ...waiting.patches]).toEqual([]);
  });

  test("fails for all namespaces if it cannot see the resources that wait", async () => {
    await using cluster = await serve(regressed, syncs(), ["clustervaultfiles"]);
    expect(await accept(cluster, "-A")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("request the permission to list clustervaultfiles"),
    });
  });
});
