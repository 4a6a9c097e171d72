import { expect, test } from "vitest";
import { condition } from "../../../test/lab/kube/fanned-out-objects.ts";
import { ObjectServer } from "../../../test/lab/kube/object-server.ts";
import { API_GROUP, API_VERSION } from "../api/kinds.ts";
import type { KubeObject } from "../kube/resource.ts";

/** `vaultsync accept` of VaultSecrets after a vault was restored. */

interface Given {
  readonly reason?: string;
  readonly status?: object;
  readonly annotations?: Record<string, string>;
}

/** A VaultSecret that follows one entry, whose version fell, and pins another one. */
const vaultSecret = ({
  reason = "VersionNotFound",
  status = {},
  annotations = {},
}: Given = {}): KubeObject => ({
  apiVersion: `${API_GROUP}/${API_VERSION}`,
  kind: "VaultSecret",
  metadata: { namespace: "shop", name: "db", uid: "db", resourceVersion: "1", annotations },
  spec: {
    connectionRef: { name: "vault" },
    data: [
      { secretKey: "password", remoteRef: { key: "db" } },
      { secretKey: "token", remoteRef: { key: "api", version: 9 } },
    ],
  },
  status: {
    conditions: [condition("Ready", "False", reason)],
    items: [
      { secretKey: "password", key: "db", version: 8, latest: 7 },
      { secretKey: "token", key: "api", version: 9, latest: 6 },
    ],
    ...status,
  },
});

const accept = (cluster: ObjectServer) =>
  cluster.run("accept", "--connection", "vault", "-n", "shop");
const accepted = (cluster: ObjectServer): string | undefined =>
  cluster.get("VaultSecret", "db").metadata.annotations?.["vaultsync.dev/accept"];

test("a lower version is accepted next to a pinned one that does not exist any more", async () => {
  await using cluster = await ObjectServer.start([vaultSecret()]);
  expect(await accept(cluster)).toMatchObject({
    code: 0,
    stderr: "accepted lower versions of 1 entries in 1 resources of VaultConnection vault\n",
  });
  expect(accepted(cluster)).toBe("db@7");
});

test.each<[string, Given]>([
  ["another reason", { reason: "SourceMissing" }],
  ["a hold", { annotations: { "vaultsync.dev/hold": "{}" } }],
])("nothing is accepted of a resource with %s", async (_, given) => {
  await using cluster = await ObjectServer.start([vaultSecret(given)]);
  await accept(cluster);
  expect(accepted(cluster)).toBeUndefined();
});

test("versions that a status does not show are no success", async () => {
  const given = { reason: "VersionRegressed", status: { itemsOmitted: 3 } };
  await using cluster = await ObjectServer.start([vaultSecret(given)]);
  const { code, stderr } = await accept(cluster);
  expect([code, stderr.split("\n")[0]]).toEqual([
    3,
    "vaultsecret/db in namespace shop may have further lower versions that its status does not show: run the command again when it is synced",
  ]);
});
