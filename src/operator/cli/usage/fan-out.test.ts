import { describe, expect, test } from "vitest";
import {
  clusterSecret,
  condition,
  failing,
  namespaceOf,
} from "../../../../test/lab/kube/fanned-out-objects.ts";
import { ObjectServer } from "../../../../test/lab/kube/object-server.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { withCluster } from "../cluster.ts";
import { readWholeUsage } from "./read-whole-usage.ts";
import { readPushed, unusedEntries } from "./unused-entries.ts";

/** `vaultsync usage` and `retire` of an entry that a ClusterVaultSecret reads. */

const namespaces = [
  namespaceOf("blog", { team: "shop" }),
  namespaceOf("jobs", { team: "shop" }),
  namespaceOf("other"),
];

function deployment(namespace: string): KubeObject {
  const containers = [{ name: "app", envFrom: [{ secretRef: { name: "registry" } }] }];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace, name: "web" },
    spec: { template: { spec: { containers } } },
  };
}

const serve = (objects: readonly KubeObject[], ...denied: string[]): Promise<ObjectServer> =>
  ObjectServer.start([...namespaces, ...objects], { denied });

const ID = "clustervaultsecret/registry";
const RULE = { data: undefined, dataFrom: [{ find: { name: { regexp: "^log" } } }] };

/** Returns the rows of a table without its header. */
const rows = (stdout: string): string[][] =>
  stdout
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split(/ {2,}/u));

describe("usage", () => {
  test("has a row for each namespace and workload", async () => {
    await using cluster = await serve([clusterSecret("registry"), deployment("jobs")]);
    const row = (namespace: string, workload: string): string[] => [
      "login",
      "2",
      namespace,
      ID,
      "secret/registry",
      workload,
      "-",
    ];
    const { stdout, stderr } = await cluster.run("usage", "login", "-A");
    expect([rows(stdout), stderr]).toEqual([[row("blog", "-"), row("jobs", "deployment/web")], ""]);
    expect(rows((await cluster.run("usage", ID, "-n", "jobs")).stdout)).toEqual([
      row("jobs", "deployment/web"),
    ]);
    expect(rows((await cluster.run("usage", "-n", "other")).stdout)).toEqual([]);
  });

  test("shows no version for a namespace whose target may have another one", async () => {
    const status = failing("SourceMissing");
    await using cluster = await serve([clusterSecret("registry", { status })]);
    expect(rows((await cluster.run("usage", "-A")).stdout).map((row) => row.slice(1, 3))).toEqual([
      ["-", "blog"],
      ["2", "jobs"],
    ]);
  });

  test("shows a resource that selects no namespace, and names what is not seen", async () => {
    const namespaceSelector = { matchLabels: { team: "none" } };
    const lonely = clusterSecret("registry", { spec: { namespaceSelector } });
    await using cluster = await serve([lonely]);
    expect(rows((await cluster.run("usage", "-A")).stdout)).toEqual([
      ["login", "-", "-", ID, "secret/registry", "-", "-"],
    ]);
    await using hidden = await serve([lonely], "namespaces", "clustervaultfiles");
    expect((await hidden.run("usage", "-A")).stderr).toBe(
      "not seen, because you may not list them: clustervaultfiles, namespaces\n",
    );
  });
});

describe("an entry", () => {
  const listed = ["login", "logo", "other"].map((name) => {
    return { kind: "secret", name, latest: 1, createdAt: undefined } as const;
  });

  /** Returns the names of the entries that are unused in a namespace or in the cluster. */
  const unused = async (spec: object, namespace?: string): Promise<string[]> => {
    await using cluster = await serve([clusterSecret("registry", { spec, status: { items: [] } })]);
    const { kubeconfig } = cluster;
    const flags = namespace === undefined ? { allNamespaces: true } : { namespace };
    const usage = await withCluster({ kubeconfig, ...flags }, (one) =>
      readWholeUsage(one, new AbortController().signal),
    );
    return unusedEntries(usage, listed).entries.map(({ name }) => name);
  };

  test("that a cluster-scoped resource names is used, whatever the resource selects", async () => {
    expect(await unused({})).toEqual(["logo", "other"]);
    expect(await unused({}, "other")).toEqual(["logo", "other"]);
    expect(await unused({ namespaceSelector: undefined, namespaces: ["absent"] })).toEqual([
      "logo",
      "other",
    ]);
  });

  test("that a rule of one matches is used, although its status does not show it", async () => {
    expect(await unused(RULE)).toEqual(["other"]);
  });

  test("is not listed as unused if the user may not list these resources", async () => {
    await using cluster = await serve([clusterSecret("registry")], "clustervaultsecrets");
    const args = ["--unused-entries", "--account", "/absent"];
    expect(await cluster.run("usage", "-A", ...args)).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("you may not list clustervaultsecrets: request"),
    });
    expect((await cluster.run("usage", "-n", "blog", ...args)).stderr).toContain(
      "clustervaultsecrets may refer to some of them: you may not list these",
    );
  });
});

describe("an entry that a VaultPush writes", () => {
  const push: KubeObject = {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultPush",
    metadata: { namespace: "blog", name: "keys", uid: "keys" },
    spec: {
      connectionRef: { name: "vault" },
      secret: { name: "keys" },
      data: [{ secretKey: "login", remoteRef: { key: "login" } }],
    },
    status: { items: [{ secretKey: "a", filename: "a.conf", version: 1, content: "digest" }] },
  };
  const listed = [
    { kind: "secret", name: "login", latest: 1, createdAt: undefined },
    { kind: "file", name: "a.conf", latest: 1, createdAt: undefined },
    { kind: "file", name: "login", latest: 1, createdAt: undefined },
  ] as const;

  test("is used: deleted, it would be pushed again", async () => {
    await using cluster = await serve([push]);
    const { entries } = await withCluster(
      { kubeconfig: cluster.kubeconfig, namespace: "blog" },
      (one) => readPushed(one, new AbortController().signal),
    );
    const unused = unusedEntries({ resources: [], clusterWide: [] }, listed, entries);
    expect(unused.entries).toEqual([listed[2]]);
  });

  test("is not listed as unused if the user may not list VaultPushes", async () => {
    await using cluster = await serve([push], "vaultpushes");
    const args = ["-A", "--unused-entries", "--account", "/absent"];
    expect((await cluster.run("usage", ...args)).stderr).toContain(
      "you may not list vaultpushes: request",
    );
  });
});

/** A Secret that an earlier selection left in a namespace. */
const left = (owner: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    namespace: "other",
    name: "registry",
    annotations: { "vaultsync.dev/owner": owner },
  },
});

/** Returns the exit code, and why version 1 of `login` is not deleted. */
async function retire(objects: readonly KubeObject[], ...denied: string[]) {
  await using cluster = await serve(objects, ...denied);
  const { code, stdout, stderr } = await cluster.run(
    "retire",
    "login",
    "--version",
    "1",
    "--dry-run",
    "-o",
    "json",
  );
  const { resources } = JSON.parse(stdout) as { resources: { problem?: string }[] };
  return { code, stderr, problems: resources.map(({ problem }) => problem) };
}

describe("retire", () => {
  test("accepts a resource that is in sync with a newer version, and that no pod uses", async () => {
    expect(await retire([clusterSecret("registry")])).toEqual({
      code: 0,
      stderr: "",
      problems: [undefined],
    });
  });

  test.each<[string, KubeObject, string]>([
    ["has the version", clusterSecret("registry", { version: 1 }), "its target has version 1"],
    [
      "was changed since",
      clusterSecret("registry", { status: { observedGeneration: 1 } }),
      "its status does not show all versions of the current spec",
    ],
    [
      "is not Ready",
      clusterSecret("registry", { status: failing("SourceMissing") }),
      "it is not Ready: 1 of 2 namespaces not in sync; blog: the reason is SourceMissing",
    ],
    [
      "has a namespace that its connection does not allow",
      clusterSecret("registry", { status: { namespaces: { selected: 2, ready: 1, failed: 1 } } }),
      "the targets of 1 of 2 namespaces are not in sync",
    ],
    [
      "is frozen in a namespace",
      clusterSecret("registry", {
        status: {
          conditions: [
            condition("Ready", "True", "Synced"),
            condition("UpdateAvailable", "True", "Frozen", "blog: login 1 → 2"),
          ],
        },
      }),
      "blog: login 1 → 2",
    ],
    [
      "may find the entry in a namespace that its status does not show",
      clusterSecret("registry", { spec: RULE, status: { items: [] } }),
      "its rules match the name, and its status does not show what they find in each namespace",
    ],
  ])("rejects a resource that %s", async (_, object, problem) => {
    expect(await retire([object])).toMatchObject({ code: 3, problems: [problem] });
  });

  test("rejects one that a workload uses, because nothing proves what its pods run", async () => {
    const objects = [clusterSecret("registry"), deployment("jobs"), deployment("other")];
    expect(await retire(objects)).toMatchObject({
      code: 3,
      problems: [
        "nothing shows what Deployment web in namespace jobs runs: a ClusterVaultSecret has no condition Converged",
      ],
    });
  });

  test("rejects one whose target is used in a namespace that it does not select any more", async () => {
    const objects = [clusterSecret("registry"), deployment("other")];
    const problem =
      "nothing shows what Deployment web in the deselected namespace other runs: a ClusterVaultSecret has no condition Converged";
    const target = left("ClusterVaultSecret/registry");
    expect(await retire([...objects, target])).toMatchObject({ code: 3, problems: [problem] });
    expect(await retire([...objects, target], "secrets")).toMatchObject({ problems: [problem] });
    const other = left("VaultSecret/registry");
    expect(await retire([...objects, other])).toMatchObject({ code: 0, problems: [undefined] });
  });

  test("rejects what it cannot see", async () => {
    const objects = [clusterSecret("registry")];
    expect(await retire(objects, "clustervaultsecrets")).toMatchObject({
      code: 3,
      problems: [],
      stderr: expect.stringContaining(
        "you may not list clustervaultsecrets: they may refer to login",
      ),
    });
    expect(await retire(objects, "namespaces")).toMatchObject({
      code: 3,
      problems: ["you may not list namespaces"],
    });
    expect(await retire(objects, "pods")).toMatchObject({
      code: 3,
      problems: ["you may not list pods: they may use its target"],
    });
  });
});
