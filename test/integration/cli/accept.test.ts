import { afterAll, beforeAll, expect, test } from "vitest";
import {
  API_GROUP,
  API_VERSION,
  type Kind,
  vaultFileKind,
  vaultSecretKind,
} from "../../../src/operator/api/kinds.ts";
import type { KubeClient } from "../../../src/operator/kube/client/kube-client.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { runAsAdmin } from "../../lab/real/processes/run-in-process.ts";
import { connect } from "../kube/connect.ts";

/** `vaultsync accept` after a vault was restored, as an operator reports that. */
const signal = new AbortController().signal;
let plane: ControlPlane;
let client: KubeClient;
let namespace: string;

beforeAll(async () => {
  plane = await sharedControlPlane();
  client = await connect(plane.kubeconfigPath);
  namespace = await plane.createNamespace("cli-accept");
  await installCrds(plane);
});
afterAll(() => client[Symbol.asyncDispose]());

const accept = (...args: string[]) => runAsAdmin(plane, ["accept", "-n", namespace, ...args]);

interface Written {
  readonly connection?: string;
  readonly reason?: string;
  readonly annotations?: Record<string, string>;
}

async function create(
  kind: Kind,
  name: string,
  items: readonly object[],
  { connection = "vault", reason = "VersionRegressed", annotations = {} }: Written = {},
): Promise<void> {
  const isFile = kind === vaultFileKind;
  const connectionRef = { name: connection };
  const spec = isFile
    ? { connectionRef, target: { kind: "Secret" }, files: [{ filename: "a.conf" }] }
    : { connectionRef, data: [{ secretKey: "a", remoteRef: { key: "a" } }] };
  const object = {
    apiVersion: `${API_GROUP}/${API_VERSION}`,
    kind: kind.kind,
    metadata: { namespace, name, annotations },
    spec,
  };
  const { metadata } = await client.create(kind, object, signal);
  const ready = { type: "Ready", status: "False", reason, message: "lower", observedGeneration: 1 };
  const conditions = [{ ...ready, lastTransitionTime: new Date().toISOString() }];
  await client.replaceStatus(kind, metadata, { conditions, items }, signal);
}

const annotationOf = async (kind: Kind, name: string): Promise<string | undefined> =>
  (await client.get(kind, { namespace, name }, signal)).metadata.annotations?.[
    "vaultsync.dev/accept"
  ];

const item = (key: string, version: number, latest: number) => ({
  secretKey: key,
  key,
  version,
  latest,
});

test("accept names the lower versions of a connection, and sets the annotation of each resource", async () => {
  await create(vaultSecretKind, "db", [item("a", 8, 7), item("b", 2, 2), item("c", 5, 1)], {
    annotations: { "vaultsync.dev/accept": "old@3,a@7" },
  });
  const file = { key: "a.conf", filename: "a.conf", version: 3, latest: 2 };
  await create(vaultFileKind, "conf", [file]);
  await create(vaultSecretKind, "other", [item("a", 8, 7)], { connection: "other" });
  await create(vaultSecretKind, "missing", [item("a", 8, 7)], { reason: "SourceMissing" });

  const planned = await accept("--connection", "vault", "--dry-run");
  expect([
    planned.code,
    planned.stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ +/u).slice(1)),
  ]).toEqual([
    0,
    [
      ["RESOURCE", "ENTRY", "SYNCED", "ACCEPTED"],
      ["vaultsecret/db", "a", "8", "7"],
      ["vaultsecret/db", "c", "5", "1"],
      ["vaultfile/conf", "a.conf", "3", "2"],
    ],
  ]);
  expect(planned.stderr).toBe(
    "would accept lower versions of 3 entries in 2 resources of VaultConnection vault\n",
  );
  expect(await annotationOf(vaultFileKind, "conf")).toBeUndefined();

  const done = await accept("--connection", "vault");
  expect([done.code, done.stdout]).toEqual([0, planned.stdout]);
  expect(await annotationOf(vaultSecretKind, "db")).toBe("old@3,a@7,c@1");
  expect(await annotationOf(vaultFileKind, "conf")).toBe("a.conf@2");
  expect(await annotationOf(vaultSecretKind, "other")).toBeUndefined();
  expect(await annotationOf(vaultSecretKind, "missing")).toBeUndefined();
});

test("accept without a regressed resource changes nothing, and a wrong kind is wrong usage", async () => {
  expect(await accept("--connection", "clustervaultconnection/vault")).toMatchObject({
    code: 0,
    stdout: "",
    stderr: "accepted lower versions of 0 entries in 0 resources of ClusterVaultConnection vault\n",
  });
  expect(await accept("--connection", "vaultsecret/vault")).toMatchObject({ code: 2 });
});
