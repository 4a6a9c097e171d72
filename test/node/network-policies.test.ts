import { execFile } from "node:child_process";
import { isDeepStrictEqual, promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { NodeCluster } from "../lab/node/node-cluster.ts";
import { vaultRelease } from "../lab/helm/helm.ts";
import { operatorPods, system } from "./support/operator-pods.ts";
import { Connector, listenOutside, peerPod, type Port, ports } from "./support/peer.ts";
import { podsOf } from "./support/reader.ts";
import { type NetworkPolicy, policiesOf, type Weakened, weakened } from "./support/policies.ts";

const run = promisify(execFile);
const slow = { timeout: 60_000, interval: 200 };
const nameLabel = "app.kubernetes.io/name";

/**
 * Pods that stand in for the operator and the vault, each with another pod in its namespace; a pod
 * of a third namespace; and this machine, also with a link-local address.
 */
const pods = ["operator", "operatorNeighbor", "vault", "vaultNeighbor", "client"] as const;
const targets = [...pods, "outside", "linkLocal"] as const;
type Source = (typeof pods)[number] | "outside";
type Target = (typeof targets)[number];
const linkLocal = "169.254.100.1";

const labels: Record<(typeof pods)[number], string> = {
  operator: "vaultsync",
  operatorNeighbor: "database",
  vault: "vaultsync-vault",
  vaultNeighbor: "database",
  client: "client",
};

const isPod = (one: string): boolean => pods.some((pod) => pod === one);
const isIn = (list: readonly Port[], port: Port): boolean => list.includes(port);
const dns: readonly Port[] = ["UDP 53", "TCP 53"];
const anywhere = (list: readonly Port[], target: Target, port: Port): boolean =>
  isIn(list, port) && target !== "linkLocal";

/** The connections that docs/security.md#network permits. */
function permitted(source: Source, target: Target, port: Port, postgres: boolean): boolean {
  const egress = {
    operator:
      isIn(dns, port) ||
      anywhere(["TCP 443", "TCP 6443"], target, port) ||
      (target === "vault" && port === "TCP 8200"),
    operatorNeighbor: false,
    vault:
      isIn(dns, port) ||
      anywhere(["TCP 465", "TCP 587"], target, port) ||
      (postgres && anywhere(["TCP 5432"], target, port)),
    vaultNeighbor: false,
    client: true,
    outside: true,
  };
  const ingress = {
    operator: port === "TCP 8080" && isPod(source),
    operatorNeighbor: false,
    vault: port === "TCP 8200" || (port === "TCP 9464" && isPod(source)),
    vaultNeighbor: false,
    client: true,
    outside: true,
    linkLocal: true,
  };
  return egress[source] && ingress[target];
}

let cluster: NodeCluster;
let namespaces: Record<(typeof pods)[number], string>;
let addresses: Record<Target, string>;
const cleanUp = new AsyncDisposableStack();
const connectors = new Map<Source, Connector>();
beforeAll(async () => {
  cluster = await NodeCluster.open(inject("controlPlane"));
  const { link, host } = cluster.layout;
  const [operator, vault, client] = [
    await cluster.createNamespace("network-operator"),
    await cluster.createNamespace("network-vault"),
    await cluster.createNamespace("network-client"),
  ];
  for (const name of [operator, vault, client])
    cleanUp.defer(async () => void (await cluster.request("DELETE", `/api/v1/namespaces/${name}`)));
  namespaces = { operator, operatorNeighbor: operator, vault, vaultNeighbor: vault, client };
  await run("ip", ["address", "add", `${linkLocal}/32`, "dev", link]);
  cleanUp.defer(
    async () => void (await run("ip", ["address", "delete", `${linkLocal}/32`, "dev", link])),
  );
  const listening = listenOutside(host, linkLocal);
  cleanUp.defer(() => void listening.kill("SIGKILL"));
  addresses = { ...(await startPods()), outside: host, linkLocal };
  for (const pod of pods)
    connectors.set(pod, cleanUp.use(Connector.in(cluster, namespaces[pod], pod.toLowerCase())));
  connectors.set("outside", cleanUp.use(Connector.outside()));
});
afterAll(() => cleanUp.disposeAsync());

async function startPods(): Promise<Record<(typeof pods)[number], string>> {
  const started = pods.map(async (pod) => {
    const name = pod.toLowerCase();
    await cluster.apply([peerPod(name, { [nameLabel]: labels[pod] })], namespaces[pod]);
    return [pod, await cluster.readyPod(name, namespaces[pod])] as const;
  });
  const {
    operator = "",
    operatorNeighbor = "",
    vault = "",
    vaultNeighbor = "",
    client = "",
  } = Object.fromEntries(await Promise.all(started));
  return { operator, operatorNeighbor, vault, vaultNeighbor, client };
}

type Connection = readonly [source: Source, target: Target, port: Port];

/** All connections between two different peers. */
const connections: readonly Connection[] = ([...pods, "outside"] as const).flatMap((source) =>
  targets
    .filter((target) => target !== source && !(source === "outside" && target === "linkLocal"))
    .flatMap((target) => ports.map((port) => [source, target, port] as const)),
);
const text = ([source, target, port]: Connection): string => `${source} to ${target}, ${port}`;

const expected = (postgres: boolean): string[] =>
  connections.filter((one) => permitted(...one, postgres)).map(text);

/** Returns the connections that exist. */
async function observed(): Promise<string[]> {
  const found = [...connectors].map(async ([source, connector]) => {
    const own = connections.filter(([from]) => from === source);
    const open = await connector.connects(own.map(([, to, port]) => [addresses[to], port]));
    return own.filter((_, index) => open[index]).map(text);
  });
  return (await Promise.all(found)).flat();
}

/** Returns the parts of the policies without which the same connections exist. */
async function needless(
  parts: readonly Weakened[],
  policies: readonly NetworkPolicy[],
  unweakened: readonly string[],
): Promise<string[]> {
  const found: string[] = [];
  const isWeaker = async (): Promise<boolean> => {
    const [first, second] = [await observed(), await observed()];
    return isDeepStrictEqual(first, second) && !isDeepStrictEqual(first, unweakened);
  };
  for (const { path, policy } of parts) {
    await apply([policy]);
    await waitUntil(path, isWeaker, 30_000, 100).catch(() => found.push(path));
    await apply(policies);
    await expect.poll(observed, { ...slow, message: path }).toEqual(unweakened);
  }
  return found;
}

const apply = (policies: readonly object[]): Promise<void> => cluster.apply(policies);

test("the pods of the charts accept metrics from pods only, and connect to no other port", async () => {
  const [operator] = await operatorPods(cluster);
  const { namespace } = vaultRelease;
  const vault = await podsOf(cluster, namespace, `${nameLabel}=vaultsync-vault`);
  const [from, to] = [operator?.status.podIP ?? "", vault[0]?.status.podIP ?? ""];
  await using inOperator = Connector.in(cluster, system, operator?.metadata.name ?? "");
  await using inVault = Connector.in(cluster, namespace, vault[0]?.metadata.name ?? "");
  const { client, linkLocal: local } = addresses;
  const metrics: [string, Port][] = [
    [from, "TCP 8080"],
    [to, "TCP 9464"],
    [to, "TCP 8200"],
  ];
  expect(await connectors.get("client")?.connects(metrics)).toEqual([true, true, true]);
  expect(await connectors.get("outside")?.connects(metrics)).toEqual([false, false, true]);
  const other: [string, Port][] = [
    [client, "TCP 9999"],
    [local, "TCP 443"],
    [local, "TCP 587"],
    [client, "TCP 443"],
    [client, "TCP 587"],
    [to, "TCP 9464"],
    [from, "TCP 8080"],
  ];
  const none = other.map(() => false);
  expect(await inOperator.connects(other)).toEqual(none.with(3, true).with(6, true));
  expect(await inVault.connects(other)).toEqual(none.with(4, true).with(5, true));
});

test("without policies, each connection of this test exists", async () => {
  await expect.poll(observed, slow).toEqual(connections.map(text));
});

describe("with the policies of deploy", () => {
  const shipped: NetworkPolicy[] = [];
  beforeAll(async () => {
    shipped.push(...(await policiesOf(cluster, "cluster-wide", namespaces.operator)));
    shipped.push(...(await policiesOf(cluster, "vault", namespaces.vault)));
    await apply(shipped);
  });

  test("exactly the connections that docs/security.md lists exist", async () => {
    await expect.poll(observed, slow).toEqual(expected(false));
  });

  test("a vault on PostgreSQL connects to the database in addition", async () => {
    const policies = await policiesOf(cluster, "vault-postgres", namespaces.vault);
    await apply(policies);
    await expect.poll(observed, slow).toEqual(expected(true));
    const parts = policies.flatMap(weakened);
    const added = parts.filter(({ path }) => path.startsWith("vault.egress.2"));
    expect(added).not.toEqual([]);
    expect(await needless(added, policies, expected(true))).toEqual([]);
    await apply(shipped);
    await expect.poll(observed, slow).toEqual(expected(false));
  });

  test("each rule, port, peer and exception is needed", { timeout: 600_000 }, async () => {
    const parts = shipped.flatMap(weakened);
    expect(new Set(parts.map(({ policy }) => policy.metadata.name)).size).toBe(4);
    expect(await needless(parts, shipped, expected(false))).toEqual([]);
  });
});
