import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { vaultSecret } from "../lab/real/resources.ts";
import { operatorPods, readyOperators } from "./support/operator-pods.ts";
import type { Reader } from "./support/reader.ts";
import { NodeNamespace } from "./support/scene.ts";

const slow = { timeout: 180_000, interval: 500 };
const versions = 8;

let namespace: NodeNamespace;
let reader: Reader;
beforeAll(async () => {
  namespace = await NodeNamespace.create("upgrade");
  await namespace.protect("upgrade-db");
  await namespace.apply(vaultSecret("db", { password: "upgrade-db" }));
  await namespace.run("Deployment", "app", {
    mounts: [{ name: "secret", mountPath: "/secret", readOnly: true }],
    volumes: [{ name: "secret", secret: { secretName: "db" } }],
  });
  reader = await namespace.reader("app");
});

const ready = (): Promise<boolean[]> => readyOperators(namespace.cluster);

test("a rolling update under changes loses no version and writes none twice", async () => {
  const former = (await operatorPods(namespace.cluster)).map(({ metadata }) => metadata.uid);
  const since = await namespace.cluster.auditMark();
  await namespace.inSystem("rollout", "restart", "deployment/vaultsync");
  const rollout = namespace.inSystem("rollout", "status", "deployment/vaultsync", "--timeout=3m");
  let value = "";
  for (let version = 0; version < versions; version++)
    value = await namespace.protect("upgrade-db");
  await rollout;
  await expect.poll(() => reader.text("/secret/password"), slow).toBe(value);
  const pods = await operatorPods(namespace.cluster);
  expect(pods.filter(({ metadata }) => former.includes(metadata.uid))).toEqual([]);
  const verb = ["create", "update", "patch", "delete"];
  const target = { resource: "secrets", namespace: namespace.name, name: "db" };
  const writes = await namespace.cluster.countRequests({ verb, ...target }, { since });
  expect(writes).toBeGreaterThanOrEqual(1);
  expect(writes).toBeLessThanOrEqual(versions);
});

const Terminated = z.object({
  items: z.array(
    z.object({
      status: z.object({
        containerStatuses: z
          .array(
            z.object({
              lastState: z.object({ terminated: z.object({ reason: z.string() }).optional() }),
            }),
          )
          .default([]),
      }),
    }),
  ),
});

test("an update with too little memory leaves a replica that syncs, until it is undone", async () => {
  await namespace.inSystem(
    "set",
    "resources",
    "deployment/vaultsync",
    "--limits=memory=40Mi",
    "--requests=memory=40Mi",
  );
  const reasons = async (): Promise<unknown[]> =>
    Terminated.parse(
      JSON.parse(await namespace.inSystem("get", "pods", "--output=json")),
    ).items.map(({ status }) => status.containerStatuses[0]?.lastState.terminated?.reason);
  await expect.poll(reasons, slow).toContain("OOMKilled");
  expect(await ready()).toContain(true);
  const value = await namespace.protect("upgrade-db");
  await expect.poll(() => reader.text("/secret/password"), slow).toBe(value);
  await namespace.inSystem("rollout", "undo", "deployment/vaultsync");
  await namespace.inSystem("rollout", "status", "deployment/vaultsync", "--timeout=3m");
  expect(await ready()).toEqual([true, true]);
});
