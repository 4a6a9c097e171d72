import { expect, test } from "vitest";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { condition } from "../lab/real/world.ts";
import { Farm, isReady, reports } from "./support/farm.ts";
import { FaultProxy } from "../lab/real/fault-proxy.ts";

/**
 * Two namespaces with connections and resources of equal names, to one vault and with an account
 * each (I12).
 */
const NAME = "vault";

interface Tenant {
  readonly farm: Farm;
  readonly proxy: FaultProxy;
  readonly email: string;
  /**
   * Stores the next version of the entry of this account. The other account has an entry of the
   * same name.
   */
  readonly protect: () => Promise<string>;
}

const secretOf = (
  connection: string,
  name: string,
): { kind: string; [field: string]: unknown } => ({
  kind: "VaultSecret",
  apiVersion: "vaultsync.dev/v1alpha1",
  metadata: { name },
  spec: {
    connectionRef: { name: connection },
    data: [{ secretKey: "value", remoteRef: { key: NAME } }],
  },
});

/**
 * Creates the connection and the resource in one namespace, through a separate proxy to the vault
 * of the first.
 */
async function tenant(farm: Farm, vault: Farm): Promise<Tenant> {
  const { client, email, password } = await vault.account();
  const proxy = await FaultProxy.start({ url: vault.vault.url });
  const protect = async (): Promise<string> => {
    const value = farm.canaries.text(email);
    expect((await client.call("protect", { key_name: NAME, key_value: value })).status).toBe(200);
    return value;
  };
  await farm.connection(NAME, { url: proxy.url, email, password });
  return { farm, proxy, email, protect };
}

const tokensAt = ({ proxy }: Tenant): Set<string> =>
  new Set(proxy.requests.flatMap(({ headers }) => headers.authorization ?? []));
const emailsAt = ({ proxy }: Tenant): Set<string> => {
  const logins = proxy.to(operationPath.generate_access_token);
  return new Set(
    logins.map(({ body }) => (JSON.parse(body.toString()) as { email: string }).email),
  );
};
const holds = ({ farm }: Tenant, value: string): Promise<unknown> =>
  farm.history.until(
    "Secret",
    NAME,
    ({ data }) => data["value"] === Buffer.from(value).toString("base64"),
  );

test("I12: a namespace neither uses the credentials of another nor changes its results", async () => {
  await using first = await Farm.create({ accounts: 2 });
  await using second = await Farm.create({ accounts: 0 });
  const operator = await first.startOperator([
    "--no-leader-elect",
    "--namespaces",
    `${first.namespace},${second.namespace}`,
  ]);
  const a = await tenant(first, first);
  await using _a = a.proxy;
  const b = await tenant(second, first);
  await using _b = b.proxy;
  const [ofA, ofB] = [await a.protect(), await b.protect()];
  for (const { farm } of [a, b]) await farm.create(secretOf(NAME, NAME));
  await Promise.all([holds(a, ofA), holds(b, ofB)]);

  // A name that only the other namespace has is no connection here.
  await b.farm.connection("other", { url: b.proxy.url, email: b.email, password: "unknown" });
  await a.farm.create(secretOf("other", "borrowed"));
  await a.farm.history.until("VaultSecret", "borrowed", (one) =>
    reports(one, "ConnectionNotFound"),
  );

  // The vault of one fails, and its password becomes wrong: the other continues.
  await b.proxy.refuse();
  await b.farm.history.until("VaultConnection", NAME, (one) => reports(one, "VaultUnreachable"));
  await b.farm.patch("Secret", `${NAME}-login`, { stringData: { password: "outdated" } });
  const next = await a.protect();
  await holds(a, next);
  await a.farm.history.until("VaultSecret", NAME, isReady);

  expect(a.farm.history.values(NAME, "value")).toEqual([ofA, next]);
  expect(b.farm.history.values(NAME, "value")).toEqual([ofB]);
  expect(a.farm.history.latest("Secret", "borrowed")).toBeUndefined();
  const ofFirst = a.farm.history.versions("VaultConnection", NAME);
  expect(ofFirst.filter((one) => condition(one, "Ready")?.status === "False")).toEqual([]);
  expect([...emailsAt(a)]).toEqual([a.email]);
  expect([...emailsAt(b)]).toEqual([b.email]);
  expect(a.proxy.to(operationPath.generate_access_token).length).toBe(1);
  expect([...tokensAt(a)].filter((token) => tokensAt(b).has(token))).toEqual([]);
  expect(tokensAt(a).size).toBe(1);
  expect(first.canaries.tracesIn({ log: operator.log })).toEqual([]);
  expect(second.canaries.tracesIn({ log: operator.log })).toEqual([]);
});
