import { expect, test } from "vitest";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { condition, secretThrough, isReady, reports } from "../lab/real/resources.ts";
import { Lanes } from "./support/lanes.ts";
import { FaultProxy } from "../lab/real/fault-proxy.ts";

/**
 * Two namespaces with connections and resources of equal names, to one vault and with an account
 * each (I12).
 */
const NAME = "vault";

interface Tenant {
  readonly world: Lanes;
  readonly proxy: FaultProxy;
  readonly email: string;
  /**
   * Stores the next version of the entry of this account. The other account has an entry of the
   * same name.
   */
  readonly protect: () => Promise<string>;
}

const secretOf = (connection: string, name: string) =>
  secretThrough(connection, name, { value: NAME });

/**
 * Creates the connection and the resource in one namespace, through a separate proxy to the vault
 * of the first.
 */
async function tenant(world: Lanes, vault: Lanes): Promise<Tenant> {
  const { client, email, password } = await vault.account();
  const proxy = await FaultProxy.start({ url: vault.vault.url });
  const protect = async (): Promise<string> => {
    const value = world.canaries.text(email);
    expect((await client.call("protect", { key_name: NAME, key_value: value })).status).toBe(200);
    return value;
  };
  await world.connection(NAME, { url: proxy.url, email, password });
  return { world, proxy, email, protect };
}

const tokensAt = ({ proxy }: Tenant): Set<string> =>
  new Set(proxy.requests.flatMap(({ headers }) => headers.authorization ?? []));
const emailsAt = ({ proxy }: Tenant): Set<string> => {
  const logins = proxy.to(operationPath.generate_access_token);
  return new Set(
    logins.map(({ body }) => (JSON.parse(body.toString()) as { email: string }).email),
  );
};
const holds = ({ world }: Tenant, value: string): Promise<unknown> =>
  world.history.until(
    "Secret",
    NAME,
    ({ data }) => data["value"] === Buffer.from(value).toString("base64"),
  );

test("I12: a namespace neither uses the credentials of another nor changes its results", async () => {
  await using first = await Lanes.create({ accounts: 2 });
  await using second = await Lanes.create({ accounts: 0 });
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
  for (const { world } of [a, b]) await world.create(secretOf(NAME, NAME));
  await Promise.all([holds(a, ofA), holds(b, ofB)]);

  // A name that only the other namespace has is no connection here.
  await b.world.connection("other", { url: b.proxy.url, email: b.email, password: "unknown" });
  await a.world.create(secretOf("other", "borrowed"));
  await a.world.history.until("VaultSecret", "borrowed", (one) =>
    reports(one, "ConnectionNotFound"),
  );

  // The vault of one fails, and its password becomes wrong: the other continues.
  await b.proxy.refuse();
  await b.world.history.until("VaultConnection", NAME, (one) => reports(one, "VaultUnreachable"));
  await b.world.patch("Secret", `${NAME}-login`, { stringData: { password: "outdated" } });
  const next = await a.protect();
  await holds(a, next);
  await a.world.history.until("VaultSecret", NAME, isReady);

  expect(a.world.history.values(NAME, "value")).toEqual([ofA, next]);
  expect(b.world.history.values(NAME, "value")).toEqual([ofB]);
  expect(a.world.history.latest("Secret", "borrowed")).toBeUndefined();
  const ofFirst = a.world.history.versions("VaultConnection", NAME);
  expect(ofFirst.filter((one) => condition(one, "Ready")?.status === "False")).toEqual([]);
  expect([...emailsAt(a)]).toEqual([a.email]);
  expect([...emailsAt(b)]).toEqual([b.email]);
  expect(a.proxy.to(operationPath.generate_access_token).length).toBe(1);
  expect([...tokensAt(a)].filter((token) => tokensAt(b).has(token))).toEqual([]);
  expect(tokensAt(a).size).toBe(1);
  expect(first.canaries.tracesIn({ log: operator.log })).toEqual([]);
  expect(second.canaries.tracesIn({ log: operator.log })).toEqual([]);
});
