import { afterAll, beforeAll, expect, test } from "vitest";
import { shardOf } from "../../../src/operator/shards/shard-of.ts";
import { OperatorProcess } from "../../lab/real/processes/operator-process.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import { OPERATOR_USER, World } from "../../lab/real/world.ts";
import { bytesOf, secretThrough } from "../../lab/real/resources.ts";

/**
 * Two replicas share the connections. Each replica writes for its connections, and takes over the
 * connections of a replica that is killed.
 */
const SECOND = { serviceAccount: "vaultsync-second", namespace: "vaultsync-system" };
const SECOND_USER = `system:serviceaccount:${SECOND.namespace}:${SECOND.serviceAccount}`;
const SHARDS = 2;
const CONNECTIONS_PER_SHARD = 3;

let world: World;
let names: string[];
beforeAll(async () => {
  world = await World.create();
  names = namesOfEveryShard(world.namespace);
  await world.apply(...names.map(connection), ...names.map(resource));
  await bindSecondAccount();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

/**
 * Returns names of connections, the same number for each shard. The namespace is random, and so is
 * the distribution of names.
 */
function namesOfEveryShard(namespace: string): string[] {
  const byShard = Array.from({ length: SHARDS }, (): string[] => []);
  for (let index = 0; byShard.some(({ length }) => length < CONNECTIONS_PER_SHARD); index += 1) {
    const name = `vault-${index}`;
    const alike = byShard[shardOf(`${namespace}/${name}`, SHARDS)];
    if (alike !== undefined && alike.length < CONNECTIONS_PER_SHARD) alike.push(name);
  }
  return byShard.flat();
}

const connection = (name: string): object => world.anotherConnection(name);

const resource = (name: string): object => secretThrough(name, name, { password: name });

/**
 * Gives a second ServiceAccount the permissions of the first: the audit log then distinguishes the
 * replicas.
 */
async function bindSecondAccount(): Promise<void> {
  const apiGroup = "rbac.authorization.k8s.io";
  const subjects = [
    { kind: "ServiceAccount", name: SECOND.serviceAccount, namespace: SECOND.namespace },
  ];
  const binding = (kind: string, role: string): object => ({
    apiVersion: `${apiGroup}/v1`,
    kind: `${kind}Binding`,
    metadata: { name: `second-${role}`, ...(kind === "Role" && { namespace: SECOND.namespace }) },
    roleRef: { apiGroup, kind, name: role },
    subjects,
  });
  const { stdout } = await world.plane.kubectl(
    ["get", "roles", "-o", "jsonpath={.items[*].metadata.name}"],
    {
      namespace: SECOND.namespace,
    },
  );
  const roles = stdout.split(" ").filter((name) => name !== "");
  const account = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: SECOND.serviceAccount, namespace: SECOND.namespace },
  };
  const clusterRoles = ["vaultsync", "vaultsync-cluster-connections"];
  const objects = [
    account,
    ...clusterRoles.map((role) => binding("ClusterRole", role)),
    ...roles.map((role) => binding("Role", role)),
  ];
  await world.plane.apply(objects);
}

/**
 * Returns the replicas that wrote each target, in order, each once per uninterrupted sequence of
 * writes.
 */
async function writersByTarget(since: number): Promise<Map<string, string[]>> {
  const writers = new Map<string, string[]>();
  const events = (await world.plane.auditEvents({ since })).filter(
    ({ verb, objectRef, responseStatus }) =>
      ["create", "update", "patch", "delete"].includes(verb) &&
      objectRef?.resource === "secrets" &&
      objectRef.namespace === world.namespace &&
      (responseStatus?.code ?? 500) < 300,
  );
  events.sort((a, b) => a.requestReceivedTimestamp.localeCompare(b.requestReceivedTimestamp));
  for (const { objectRef, user } of events) {
    const name = objectRef?.name ?? "";
    const known = writers.get(name) ?? [];
    const writer = user.username ?? "";
    if (known.at(-1) !== writer) writers.set(name, [...known, writer]);
  }
  return writers;
}

test(
  "the connections of a killed replica are taken over, and no connection has two writers",
  { timeout: 180_000 },
  async () => {
    const latest = new Map<string, string>();
    const change = async (round: string): Promise<void> => {
      for (const name of names) {
        latest.set(name, world.canaries.text(`${name} ${round}`));
        await world.protect(name, latest.get(name) ?? "");
      }
    };
    const inSync = async (): Promise<boolean> => {
      const secrets = new Map(
        (await world.list("Secret")).map((secret) => [secret.metadata.name, secret]),
      );
      return names.every((name) => {
        const secret = secrets.get(name);
        return secret !== undefined && bytesOf(secret, "password")?.toString() === latest.get(name);
      });
    };
    await change("first");
    const since = await world.plane.auditMark();
    const args = ["--shards", `${SHARDS}`, "--namespace", "vaultsync-system"];
    await using first = await OperatorProcess.start(world.kubeconfig, args);
    await using second = await OperatorProcess.start(await world.plane.kubeconfigFor(SECOND), args);
    await waitUntil("both replicas work on a shard", () =>
      [first, second].every(({ log }) => log.includes("starting workers")),
    );
    await waitUntil("the first values are synced", inSync);
    await change("second");
    await waitUntil("the second values are synced", inSync);
    const shared = await writersByTarget(since);
    expect(new Set([...shared.values()].flat())).toEqual(new Set([OPERATOR_USER, SECOND_USER]));

    const killed = await world.plane.auditMark();
    await first.stop("SIGKILL");
    await change("third");
    await waitUntil("the other replica took over", inSync, 15_000 + 10_000);
    for (const [name, writers] of await writersByTarget(since)) {
      expect(writers.length, `${name}: ${writers.join()}`).toBeLessThanOrEqual(2);
    }
    expect(new Set([...(await writersByTarget(killed)).values()].flat())).toEqual(
      new Set([SECOND_USER]),
    );

    await using third = await OperatorProcess.start(world.kubeconfig, args);
    await change("fourth");
    await waitUntil("the values are synced by the new replica and the other one", inSync, 40_000);
    expect(third.log).toContain("starting workers");
    expect(await second.stop("SIGTERM")).toBe(0);
    expect(await third.stop("SIGTERM")).toBe(0);
    const leases = await world.plane.kubectl(["get", "leases", "-o", "name"], {
      namespace: "vaultsync-system",
    });
    expect(leases.stdout.match(/vaultsync-replica-/g)).toHaveLength(1);
  },
);
