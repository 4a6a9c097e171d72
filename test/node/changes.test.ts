import { beforeAll, describe, expect, test } from "vitest";
import { collection, vaultSecret } from "../lab/real/resources.ts";
import { podsOf, type Reader, type ReaderSpec } from "./support/reader.ts";
import { NodeNamespace } from "./support/scene.ts";

let namespace: NodeNamespace;
beforeAll(async () => {
  namespace = await NodeNamespace.create("changes");
});

/** Reads a Secret by env, volume and subPath. */
const threeWays = (secret: string): ReaderSpec => ({
  env: [{ name: "DB", valueFrom: { secretKeyRef: { name: secret, key: "password" } } }],
  mounts: [
    { name: "secret", mountPath: "/secret", readOnly: true },
    { name: "secret", mountPath: "/single", subPath: "password", readOnly: true },
  ],
  volumes: [{ name: "secret", secret: { secretName: secret } }],
});

const read = async (reader: Reader): Promise<object> => ({
  env: await reader.env("DB"),
  volume: await reader.text("/secret/password"),
  subPath: await reader.text("/single"),
});

const slow = { timeout: 120_000, interval: 500 };

describe("a new version", () => {
  test("is in the volume of the running process, and neither in its env nor its subPath", async () => {
    const first = await namespace.protect("changes-db");
    await namespace.apply(vaultSecret("db", { password: "changes-db" }));
    await namespace.run("Deployment", "follower", threeWays("db"));
    const reader = await namespace.reader("follower");
    expect(await read(reader)).toEqual({ env: first, volume: first, subPath: first });
    const id = await reader.id();
    const second = await namespace.protect("changes-db");
    await expect.poll(() => reader.text("/secret/password"), slow).toBe(second);
    expect(await read(reader)).toEqual({ env: first, volume: second, subPath: first });
    expect(await (await namespace.reader("follower")).id()).toBe(id);
  });

  test("is in env and subPath of the pod that replaces the old one, with rolloutRestart", async () => {
    const first = await namespace.protect("changes-restarted");
    const source = vaultSecret("restarted", { password: "changes-restarted" });
    const rolloutRestart = [{ kind: "Deployment", name: "restarted" }];
    await namespace.apply({ ...source, spec: { ...source.spec, rolloutRestart } });
    await namespace.run("Deployment", "restarted", threeWays("restarted"));
    const before = await namespace.reader("restarted");
    expect(await read(before)).toEqual({ env: first, volume: first, subPath: first });
    const second = await namespace.protect("changes-restarted");
    const after = await namespace.reader("restarted", await before.id());
    expect(await read(after)).toEqual({ env: second, volume: second, subPath: second });
    expect(after.pod.metadata.uid).not.toBe(before.pod.metadata.uid);
    const restarts = "jsonpath={.status.restarts[0].result}";
    const result = (): Promise<string> =>
      namespace.kubectl("get", "vaultsecret", "restarted", "--output", restarts);
    await expect.poll(result, slow).toBe("RolledOut");
    const sets = "jsonpath={.items[*].metadata.name}";
    const replicaSets = await namespace.kubectl(
      "get",
      "replicasets",
      "--selector=app=restarted",
      "--output",
      sets,
    );
    expect(replicaSets.split(" ")).toHaveLength(2);
  });

  test("restarts an annotated StatefulSet once, whose pod then reads it by envFrom", async () => {
    const first = await namespace.protect("changes-queue");
    await namespace.apply(vaultSecret("queue", { password: "changes-queue" }));
    await namespace.run("StatefulSet", "worker", { envFrom: [{ secretRef: { name: "queue" } }] });
    await namespace.kubectl("annotate", "statefulset", "worker", "vaultsync.dev/restart=auto");
    const before = await namespace.reader("worker");
    expect(await before.env("password")).toBe(first);
    const second = await namespace.protect("changes-queue");
    const after = await namespace.reader("worker", await before.id());
    expect(await after.env("password")).toBe(second);
    const generation = "jsonpath={.status.observedGeneration}";
    expect(await namespace.kubectl("get", "statefulset", "worker", "--output", generation)).toBe(
      "2",
    );
  });
});

test("a removal at delete_time leaves running pods with the value, and new ones wait", async () => {
  const value = await namespace.protect("changes-guest", undefined, 1);
  await namespace.apply(vaultSecret("guest", { password: "changes-guest" }));
  await namespace.run("Deployment", "guest", threeWays("guest"));
  const reader = await namespace.reader("guest");
  expect(await read(reader)).toEqual({ env: value, volume: value, subPath: value });
  const id = await reader.id();
  const secret = `${collection("Secret", namespace.name)}/guest`;
  const status = async (): Promise<number> =>
    (await namespace.cluster.request("GET", secret)).status;
  await expect.poll(status, { timeout: 180_000, interval: 500 }).toBe(404);
  expect(await read(reader)).toEqual({ env: value, volume: value, subPath: value });
  expect(await (await namespace.reader("guest")).id()).toBe(id);
  await namespace.kubectl("delete", "pod", reader.pod.metadata.name, "--wait=false");
  const phases = async (): Promise<unknown[]> =>
    (await podsOf(namespace.cluster, namespace.name, "app=guest")).map(
      ({ status: { phase } }) => phase,
    );
  await expect.poll(phases, slow).toEqual(["Pending"]);
  const next = await namespace.protect("changes-guest");
  expect(await read(await namespace.reader("guest", id))).toEqual({
    env: next,
    volume: next,
    subPath: next,
  });
});
