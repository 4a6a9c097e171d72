import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { Lanes } from "./support/lanes.ts";
import { isReady, reports, secretThrough } from "../lab/real/resources.ts";

/**
 * A real API server stops accepting the operator's writes: for lack of a permission or of quota.
 */
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const OPERATOR = "operator";

/** Creates a world whose operator has a ServiceAccount and a RoleBinding in its own namespace. */
async function worldOfOneNamespace(): Promise<Lanes> {
  const world = await Lanes.create({ accounts: 4, account: { serviceAccount: OPERATOR } });
  await bind(world);
  return world;
}

async function bind({ plane, namespace }: Lanes): Promise<void> {
  const subjects = [{ kind: "ServiceAccount", name: OPERATOR, namespace }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "vaultsync" };
  const binding = { metadata: { name: OPERATOR }, subjects, roleRef };
  const { status } = await plane.request(
    "POST",
    `${RBAC}/namespaces/${namespace}/rolebindings`,
    binding,
  );
  expect(status).toBe(201);
}

test.concurrent("K7: permissions removed at run time stop writes, and work resumes when they return", async () => {
  await using world = await worldOfOneNamespace();
  await world.startOperator();
  await using lane = await world.lane("k7-permissions");
  await world.plane.request(
    "DELETE",
    `${RBAC}/namespaces/${world.namespace}/rolebindings/${OPERATOR}`,
  );
  // The API server learns of it by a separate watch.
  const user = `system:serviceaccount:${world.namespace}:${OPERATOR}`;
  const mayWrite = ["auth", "can-i", "update", "secrets", `--as=${user}`];
  const { plane, namespace } = world;
  await waitUntil("writes are denied", async () =>
    (await plane.kubectl(mayWrite, { namespace })).stdout.startsWith("no"),
  );
  const value = await lane.protect();
  await sleep(8_000);
  expect(lane.written).toEqual([lane.values[0]]);
  expect(world.operator.exited).toBe(false);
  await bind(world);
  // A change of the vault does not wait for the slow retry of a missing permission.
  const next = await lane.protect();
  await lane.inSync();
  expect(lane.written.filter((written) => written !== value)).toEqual([lane.values[0], next]);
});

test.concurrent("K7: an exceeded quota is reported and does not touch existing Secrets", async () => {
  await using world = await worldOfOneNamespace();
  await world.startOperator();
  await using lane = await world.lane("k7-quota");
  const quotas = `/api/v1/namespaces/${world.namespace}/resourcequotas`;
  await world.plane.request("POST", quotas, {
    metadata: { name: "none" },
    spec: { hard: { "count/secrets": "0" } },
  });
  // The quota is enforced once its status is known.
  const path = `${quotas}/none`;
  await waitUntil("the quota is enforced", async () =>
    (await world.plane.request("GET", path)).body.includes('"used"'),
  );
  await world.create(secretThrough(lane.name, "k7-second", { value: lane.name }));
  await world.history.until("VaultSecret", "k7-second", (one) => reports(one, "QuotaExceeded"));
  const value = await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);
  expect(world.history.latest("Secret", "k7-second")).toBeUndefined();
  await world.plane.request("DELETE", `${quotas}/none`);
  await lane.protect();
  await world.history.until("VaultSecret", "k7-second", isReady, 90_000);
});
