import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { AuditEvent } from "../lab/control-plane/audit.ts";
import { OPERATOR_USER } from "../lab/real/world.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { Lanes } from "./support/lanes.ts";

/**
 * A namespace is deleted while it still has resources whose targets are gone: a user may keep
 * objects in it for a long time.
 */
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";

/**
 * Keeps our resources and the credentials of a namespace from being deleted, as long as the result
 * is not disposed of.
 */
async function keepResources({ plane, namespace }: Lanes): Promise<AsyncDisposable> {
  const post = async (path: string, object: object): Promise<void> => {
    const { status, body } = await plane.request("POST", `${ADMISSION}/${path}`, object);
    if (status !== 201) throw new Error(`${path}: ${status} ${body}`);
  };
  const metadata = { name: `keep-${namespace}` };
  const resourceRules = [
    { apiGroups: ["vaultsync.dev"], apiVersions: ["*"], operations: ["DELETE"], resources: ["*"] },
    { apiGroups: [""], apiVersions: ["v1"], operations: ["DELETE"], resources: ["secrets"] },
  ];
  const isCredentials =
    "object == null && has(oldObject.type) && oldObject.type == 'vaultsync.dev/credentials'";
  const matchConditions = [
    { name: "namespace", expression: `request.namespace == '${namespace}'` },
    { name: "kept", expression: `request.resource.group == 'vaultsync.dev' || (${isCredentials})` },
  ];
  const validations = [{ expression: "false", message: "kept by a test" }];
  await post("validatingadmissionpolicies", {
    metadata,
    spec: {
      failurePolicy: "Fail",
      matchConstraints: { resourceRules },
      matchConditions,
      validations,
    },
  });
  const binding = { policyName: metadata.name, validationActions: ["Deny"] };
  await post("validatingadmissionpolicybindings", { metadata, spec: binding });
  const secret = `/api/v1/namespaces/${namespace}/secrets/k7-terminating-login?dryRun=All`;
  await waitUntil(
    "the policy is effective",
    async () => (await plane.request("DELETE", secret)).status === 422,
  );
  return {
    async [Symbol.asyncDispose]() {
      await plane.request(
        "DELETE",
        `${ADMISSION}/validatingadmissionpolicybindings/${metadata.name}`,
      );
      await plane.request("DELETE", `${ADMISSION}/validatingadmissionpolicies/${metadata.name}`);
    },
  };
}

const ofTargets = (events: readonly AuditEvent[]): AuditEvent[] =>
  events.filter(({ objectRef }) => ["secrets", "configmaps"].includes(objectRef?.resource ?? ""));

test("K7: nothing is written to a terminating namespace, nor often tried", async () => {
  await using world = await Lanes.create({ accounts: 1 });
  const { plane, namespace, history } = world;
  const operator = await world.startOperator();
  await using lane = await world.lane("k7-terminating");
  const held = {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name: "held", finalizers: ["example.com/held"] },
  };
  await world.create(held);
  await using _ = await keepResources(world);
  const since = await plane.auditMark();
  await plane.request("DELETE", `/api/v1/namespaces/${namespace}`);
  await waitUntil(
    "the target is deleted",
    () => history.latest("Secret", lane.name) === undefined,
    100_000,
  );
  await lane.protect();
  const writesOf = (events: readonly AuditEvent[]): AuditEvent[] =>
    events.filter(
      ({ user, verb, objectRef }) =>
        user.username === OPERATOR_USER &&
        objectRef?.namespace === namespace &&
        ["create", "update", "patch", "delete"].includes(verb),
    );
  const attempted = async (): Promise<boolean> =>
    ofTargets(writesOf(await plane.auditEvents({ since }))).length > 0;
  await waitUntil("a write of the target is tried", attempted, 100_000, 1_000);
  await sleep(6_000);

  const inNamespace = writesOf(await plane.auditEvents({ since }));
  const attempts = ofTargets(inNamespace);
  expect(new Set(attempts.map(({ responseStatus }) => responseStatus?.code))).toEqual(
    new Set([403]),
  );
  // One for the deleted target, and one for the changed entry.
  expect(attempts.length).toBeLessThanOrEqual(2);
  expect(inNamespace.length).toBeLessThanOrEqual(6);
  expect(lane.written).toEqual([lane.values[0], "deleted"]);
  expect(history.latest("VaultSecret", lane.name)).toBeDefined();
  expect(operator.exited).toBe(false);
  await world.patch("ConfigMap", "held", { metadata: { finalizers: [] } });
});
