import { describe, expect, test } from "vitest";
import { API_GROUP, API_VERSION } from "../../api/kinds.ts";
import type { KubeClient } from "../../kube/client/kube-client.ts";
import { KubeError } from "../../kube/kube-error.ts";
import type { KubeObject, ResourceDescriptor } from "../../kube/resource.ts";
import { readUsage, type Usage } from "./read-usage.ts";
import { proofsOf } from "./retire.ts";
import { unusedEntries } from "./unused-entries.ts";
import { usageRows } from "./usage.ts";

interface Changes {
  readonly spec?: object;
  readonly status?: object;
  readonly annotations?: Record<string, string>;
  readonly converged?: "True" | "False" | "Unknown";
  readonly version?: number;
}

/** A VaultSecret whose target has a version of the entry `db`. */
function vaultSecret(
  name: string,
  { spec, status, annotations = {}, converged, version = 2 }: Changes = {},
): KubeObject {
  const condition = {
    type: "Converged",
    reason: "RollingOut",
    message: "waiting for Deployment web",
  };
  const conditions =
    converged === undefined
      ? []
      : [{ ...condition, status: converged, lastTransitionTime: "2026-11-21T00:00:00Z" }];
  return {
    apiVersion: `${API_GROUP}/${API_VERSION}`,
    kind: "VaultSecret",
    metadata: { namespace: "shop", name, uid: name, generation: 3, annotations },
    spec: {
      connectionRef: { name: "vault" },
      data: [{ secretKey: "password", remoteRef: { key: "db" } }],
      ...spec,
    },
    status: {
      observedGeneration: 3,
      conditions,
      target: { kind: "Secret", name },
      items: [{ secretKey: "password", key: "db", version, latest: version }],
      ...status,
    },
  };
}

const pod = (env: string) => ({
  containers: [{ name: "app", envFrom: [{ secretRef: { name: env } }] }],
});

function deployment(name: string, env: string, annotations = {}): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "shop", name, labels: { app: name }, annotations },
    spec: { template: { spec: pod(env) } },
  };
}

const forbidden = new KubeError({ kind: "Forbidden", operation: "list" });

/** Reads these objects, and is denied the collections in `denied`. */
function read(
  objects: readonly KubeObject[],
  denied: readonly string[] = [],
  servesGroup: () => Promise<boolean> = () => Promise.reject(forbidden),
): Promise<Usage> {
  const api = {
    servesGroup,
    list: async function* ({ kind, plural }: ResourceDescriptor) {
      await Promise.resolve();
      if (denied.includes(plural)) throw forbidden;
      yield { items: objects.filter((one) => one.kind === kind), resourceVersion: "1" };
    },
  };
  const cluster = { api: api as unknown as KubeClient, namespace: "shop" };
  return readUsage(cluster, new AbortController().signal);
}

describe("usageRows", () => {
  test("leads from an entry over resources and targets to workloads", async () => {
    const barePod: KubeObject = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace: "shop", name: "debug" },
      spec: pod("named"),
    };
    const cronJob = {
      ...deployment("report", "named"),
      kind: "CronJob",
      spec: { jobTemplate: { spec: { template: { spec: pod("named") } } } },
    };
    const restarting = { rolloutRestart: [{ kind: "Deployment", name: "web" }] };
    const rows = usageRows(
      await read([
        vaultSecret("named", { spec: restarting, converged: "False" }),
        vaultSecret("unused", { spec: { updates: { approval: "Required" } } }),
        deployment("web", "named"),
        deployment("auto", "named", { "vaultsync.dev/restart": "auto" }),
        deployment("other", "elsewhere"),
        barePod,
        cronJob,
      ]),
    );
    expect(
      rows.map(({ resource, workload, restart, gate }) => [resource, workload, restart, gate]),
    ).toEqual([
      ["vaultsecret/named", "deployment/web", "rolloutRestart", undefined],
      ["vaultsecret/named", "deployment/auto", "auto", undefined],
      ["vaultsecret/named", "cronjob/report", "none", undefined],
      ["vaultsecret/named", "pod/debug", "none", undefined],
      ["vaultsecret/unused", undefined, undefined, "approval"],
    ]);
    expect(rows[0]).toMatchObject({
      entry: "db",
      version: 2,
      target: "secret/named",
      converged: "False",
    });
  });

  test("shows when the next window of a restart opens", async () => {
    const windows = [{ schedule: "0 0 29 2 *", duration: "1m" }];
    const rolloutRestart = [{ kind: "Deployment", name: "web", windows }];
    const objects = [
      vaultSecret("named", { spec: { rolloutRestart } }),
      deployment("web", "named"),
    ];
    expect(usageRows(await read(objects))).toMatchObject([
      { restart: "rolloutRestart", restartsAt: expect.stringMatching(/^\d{4}-02-29T00:00:00/u) },
    ]);
  });

  test("shows each version of an entry that a target has", async () => {
    const items = [1, 2, 2].map((version, at) => ({ secretKey: `key${at}`, key: "db", version }));
    const rows = usageRows(await read([vaultSecret("both", { status: { items } })]));
    expect(rows.map(({ entry, version }) => [entry, version])).toEqual([
      ["db", 1],
      ["db", 2],
    ]);
  });

  test("shows an entry that was not synced yet", async () => {
    const rows = usageRows(await read([vaultSecret("new", { status: { items: [] } })]));
    expect(rows).toMatchObject([{ entry: "db", version: undefined }]);
  });
});

describe("unusedEntries", () => {
  const listed = [
    { kind: "secret", name: "db", latest: 2, createdAt: undefined },
    { kind: "file", name: "db", latest: 1, createdAt: undefined },
    { kind: "secret", name: "old", latest: 1, createdAt: undefined },
  ] as const;

  test("have another name or kind than the entries of the resources", async () => {
    const { entries, doubts } = unusedEntries(await read([vaultSecret("named", {})]), listed);
    expect(entries.map(({ kind, name }) => `${kind} ${name}`)).toEqual(["file db", "secret old"]);
    expect(doubts).toBe(0);
  });

  test("are in doubt if a status does not show all entries", async () => {
    const usage = await read([vaultSecret("new", { status: { itemsOmitted: 3 } })]);
    expect(unusedEntries(usage, listed).doubts).toBe(1);
  });
});

/** Returns why version 1 of `db` may be in use, by resource. */
const problems = async (objects: readonly KubeObject[], denied?: readonly string[]) =>
  proofsOf(await read(objects, denied), "db", 1).map(({ problem }) => problem);

describe("proofsOf", () => {
  test.each<[string, Changes, string | undefined]>([
    ["is Converged on a newer version", { converged: "True" }, undefined],
    ["is not Converged", { converged: "False" }, "waiting for Deployment web"],
    ["is being checked", { converged: "Unknown" }, "waiting for Deployment web"],
    ["has the version", { converged: "True", version: 1 }, "its target has version 1"],
    ["has no version", { status: { items: [] } }, "it has no version of the entry"],
    [
      "was changed since",
      { converged: "True", status: { observedGeneration: 2 } },
      "its status does not show all versions of the current spec",
    ],
    [
      "is to get the version by its spec, and is suspended",
      {
        converged: "True",
        spec: {
          suspend: true,
          data: [{ secretKey: "password", remoteRef: { key: "db", version: 1 } }],
        },
      },
      "version 1 is requested for its target",
    ],
    [
      "is to get the version before, and does not have it yet",
      {
        converged: "True",
        spec: {
          data: [
            { secretKey: "current", remoteRef: { key: "db" } },
            { secretKey: "password", remoteRef: { key: "db", version: "previous" } },
          ],
        },
      },
      "version 1 is requested for its target",
    ],
    [
      "is held in the version, and does not have it yet",
      {
        converged: "True",
        annotations: { "vaultsync.dev/hold": JSON.stringify({ versions: { password: 1 } }) },
      },
      "version 1 is requested for its target",
    ],
    [
      "is held in a newer version",
      {
        converged: "True",
        annotations: { "vaultsync.dev/hold": JSON.stringify({ versions: { password: 2 } }) },
      },
      undefined,
    ],
    [
      "has more items than its status shows",
      { converged: "True", status: { itemsOmitted: 1 } },
      "its status does not show all versions of the current spec",
    ],
  ])("a resource that %s", async (_, changes, problem) => {
    expect(await problems([vaultSecret("db", changes)])).toEqual([problem]);
  });

  test("without the condition, no pod may use the target, and the pods have to be seen", async () => {
    const secret = vaultSecret("db");
    expect(await problems([secret])).toEqual([undefined]);
    expect(await problems([secret, deployment("web", "db")])).toEqual([
      "nothing shows what Deployment web runs",
    ]);
    expect(await problems([secret], ["pods"])).toEqual([
      "you may not list pods: they may use its target",
    ]);
  });

  test("a kind that the user may not list counts, unless the cluster does not serve it", async () => {
    const denied = ["rollouts"];
    expect((await read([], denied)).unseen).toEqual(denied);
    expect((await read([], denied, () => Promise.resolve(true))).unseen).toEqual(denied);
    expect((await read([], denied, () => Promise.resolve(false))).unseen).toEqual([]);
    const failure = new KubeError({ kind: "Timeout", operation: "list APIs" });
    await expect(read([], denied, () => Promise.reject(failure))).rejects.toThrow(failure);
  });

  test("a former target in use counts", async () => {
    const secret = vaultSecret("db", { status: { formerTargets: ["Secret/old"] } });
    expect(await problems([secret, deployment("web", "old")])).toEqual([
      "nothing shows what Deployment web runs",
    ]);
  });

  test("a resource that may find any entry counts while its status does not show all", async () => {
    const spec = { data: undefined, dataFrom: [{ find: { name: { regexp: ".*" } } }] };
    const status = { items: [], observedGeneration: 2 };
    expect(await problems([vaultSecret("db", { spec, status })])).toHaveLength(1);
    expect(await problems([vaultSecret("db", { spec, status: { items: [] } })])).toEqual([]);
  });
});
