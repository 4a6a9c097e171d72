import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import {
  clusterSecret,
  condition,
  corporate,
  failing,
  namespaceOf,
} from "../../../../test/lab/kube/fanned-out-objects.ts";
import { ObjectServer, type ObjectServerOptions } from "../../../../test/lab/kube/object-server.ts";
import { VaultsyncProcess } from "../../../../test/lab/real/processes/vaultsync-process.ts";

const namespaces = [namespaceOf("blog", { team: "shop" }), namespaceOf("other")];
const registry = clusterSecret("registry");
const named = clusterSecret("named", {
  spec: { namespaceSelector: undefined, namespaces: ["other"] },
  status: failing("SourceMissing"),
  labels: { tier: "base" },
});
const all = [...namespaces, corporate(), registry, named];

const serve = (options: ObjectServerOptions = {}, objects = all): Promise<ObjectServer> =>
  ObjectServer.start(objects, options);

/** Returns the names of the objects in the first column of the tables. */
const shown = (stdout: string): string[] =>
  [...stdout.matchAll(/^(?:- +)?(\w+\/\w+)(?= {2})/gmu)].map(([, name = ""]) => name);

test("the status of all namespaces has a table of the resources with targets in several", async () => {
  await using cluster = await serve();
  const { code, stdout } = await cluster.run("status", "-A");
  expect(code).toBe(3);
  expect(stdout.split("\n").map((line) => line.split(/ {2,}/u))).toEqual([
    expect.arrayContaining(["NAMESPACE", "CONNECTION"]),
    expect.arrayContaining(["clustervaultconnection/corporate"]),
    [""],
    [
      "NAMESPACE",
      "RESOURCE",
      "READY",
      "REASON",
      "NAMESPACES",
      "IN SYNC",
      "FAILED",
      "TARGET",
      "VERSION",
      "EXPIRES",
      "REMOVAL",
    ],
    [
      "-",
      "clustervaultsecret/registry",
      "True",
      "Synced",
      "2",
      "2",
      "0",
      "Secret/registry",
      "2",
      "-",
      "-",
    ],
    [
      "-",
      "clustervaultsecret/named",
      "False",
      "SourceMissing",
      "2",
      "1",
      "1",
      "Secret/named",
      "2",
      "-",
      "-",
    ],
    [""],
    ["clustervaultconnection/corporate: no operator has reconciled it yet"],
    ["clustervaultsecret/named in namespace blog: SourceMissing: the reason is SourceMissing"],
    [""],
  ]);
});

test("the status of one namespace has those that select it, with their connection", async () => {
  await using cluster = await serve();
  expect(shown((await cluster.run("status", "-n", "blog")).stdout)).toEqual([
    "clustervaultconnection/corporate",
    "clustervaultsecret/registry",
  ]);
  expect(shown((await cluster.run("status", "-n", "other")).stdout)).toEqual([
    "clustervaultconnection/corporate",
    "clustervaultsecret/named",
  ]);
  expect(await cluster.run("status", "-n", "absent")).toMatchObject({
    code: 1,
    stderr: "vaultsync: there is no namespace absent\n",
  });
});

test("a name and labels choose among them, whatever they select", async () => {
  await using cluster = await serve();
  const { code, stdout } = await cluster.run("status", "cvsec/registry", "-n", "other");
  expect([code, shown(stdout)]).toEqual([0, ["clustervaultsecret/registry"]]);
  expect(shown((await cluster.run("status", "-A", "-l", "tier=base")).stdout)).toEqual([
    "clustervaultsecret/named",
  ]);
  expect(await cluster.run("status", "clustervaultsecret/db", "-n", "blog")).toMatchObject({
    code: 1,
    stderr: "vaultsync: no clustervaultsecret/db\n",
  });
});

test("the JSON of a status has the namespaces and failures of each", async () => {
  await using cluster = await serve();
  const { stdout } = await cluster.run("status", "cvsec/named", "-o", "json");
  expect(JSON.parse(stdout)).toEqual({
    connections: [],
    resources: [],
    clusterResources: [
      expect.objectContaining({
        kind: "clustervaultsecret",
        namespace: "",
        name: "named",
        ready: "False",
        reason: "SourceMissing",
        namespaces: { selected: 2, ready: 1, failed: 1 },
        failures: [
          { namespace: "blog", reason: "SourceMissing", message: "the reason is SourceMissing" },
        ],
      }),
    ],
  });
});

test("users of one namespace need not be allowed to read them, users of all have to be", async () => {
  const denied = ["clustervaultsecrets", "clustervaultfiles", "clustervaultconnections"];
  await using cluster = await serve({ denied });
  expect(await cluster.run("status", "-n", "blog")).toMatchObject({ code: 0, stdout: "" });
  expect(await cluster.run("status", "-A")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("request the permission to list clustervaultsecrets"),
  });
  expect(await cluster.run("status", "cvsec/registry", "-n", "blog")).toMatchObject({ code: 1 });
});

test("all that may select the namespace are shown if its labels may not be read", async () => {
  await using cluster = await serve({ denied: ["namespaces"] });
  expect(shown((await cluster.run("status", "-n", "blog")).stdout)).toEqual([
    "clustervaultconnection/corporate",
    "clustervaultsecret/registry",
  ]);
});

test("a cluster with the CRDs of an earlier release has none of them", async () => {
  const absent = ["clustervaultsecrets", "clustervaultfiles"];
  await using cluster = await serve({ absent });
  expect(shown((await cluster.run("status", "-A")).stdout)).toEqual([
    "clustervaultconnection/corporate",
  ]);
});

test("a message that is about no namespace is shown next to the failures of namespaces", async () => {
  const suspended = condition("Ready", "False", "Suspended", "spec.suspend is true");
  const status = { ...failing("SourceMissing"), conditions: [suspended] };
  await using cluster = await serve({}, [clusterSecret("registry", { status })]);
  const { stdout } = await cluster.run("status", "cvsec/registry");
  expect(stdout.split("\n").slice(3)).toEqual([
    "clustervaultsecret/registry: spec.suspend is true",
    "clustervaultsecret/registry in namespace blog: SourceMissing: the reason is SourceMissing",
    "",
  ]);
});

test("the failures that a status does not list are counted", async () => {
  const status = {
    ...failing("SourceMissing"),
    namespaces: { selected: 40, ready: 5, failed: 35 },
  };
  await using cluster = await serve({}, [clusterSecret("registry", { status })]);
  const { stdout } = await cluster.run("status", "cvsec/registry");
  expect(stdout).toContain("clustervaultsecret/registry: and 34 more namespaces\n");
});

test("a watch as YAML is a stream of documents", async () => {
  await using cluster = await serve();
  const args = ["--kubeconfig", cluster.kubeconfig, "-n", "blog", "--watch", "-o", "yaml"];
  await using watch = new VaultsyncProcess(["status", ...args]);
  await watch.waitForOutput(({ stdout }) => (stdout.includes("resources:") ? true : undefined));
  cluster.objects.splice(cluster.objects.indexOf(registry), 1);
  await watch.waitForOutput(({ stdout }) => stdout.match(/^resources:/gmu)?.[1]);
  const documents = parseAllDocuments(watch.stdout);
  const shownNames = documents.map((one) =>
    one.toJS().clusterResources.map(({ name }: { name: string }) => name),
  );
  expect([documents.flatMap(({ errors }) => errors), shownNames]).toEqual([[], [["registry"], []]]);
});
