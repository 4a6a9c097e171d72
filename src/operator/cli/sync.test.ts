import { expect, test } from "vitest";
import { clusterSecret } from "../../../test/lab/kube/fanned-out-objects.ts";
import { ObjectServer } from "../../../test/lab/kube/object-server.ts";
import type { KubeObject } from "../kube/resource.ts";

/** Reports a sync of resources that are not suspended, as the operator does. */
const operator = (object: KubeObject): KubeObject => {
  const lastForceSync = object.metadata.annotations?.["vaultsync.dev/force-sync"];
  return object.metadata.name === "suspended"
    ? object
    : { ...object, status: { ...(object["status"] as object), lastForceSync } };
};

test("sync of several resources shows those that are synced, and names each other one", async () => {
  const suspended = clusterSecret("suspended", { spec: { suspend: true } });
  const objects = [suspended, clusterSecret("registry")];
  await using cluster = await ObjectServer.start(objects, { operator });
  const names = ["suspended", "absent", "registry"].map((name) => `clustervaultsecret/${name}`);
  const { code, stdout, stderr } = await cluster.run("sync", ...names);
  expect([code, stderr]).toEqual([
    1,
    "vaultsync: clustervaultsecret/suspended is suspended: set spec.suspend to false\nno clustervaultsecret/absent\n",
  ]);
  expect(stdout).toMatch(/^clustervaultsecret\/registry +True +Synced/mu);
});
