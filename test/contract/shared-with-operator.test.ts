import { expect, test } from "vitest";
import { CONSUMER } from "../lab/vault/secret-record.ts";
import { failureOf } from "../lab/assertions/failure-of.ts";
import {
  observeConnection,
  passwordSource,
  referencesTo,
  untilHealthy,
  type ObservedConnection,
} from "../lab/vault/vault-connection.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";

const operator = "operator@example.com";
const signal = new AbortController().signal;

async function start() {
  const vault = await TestVault.start({ emails: ["ann@example.com", "bob@example.com", operator] });
  const connect = (): Promise<ObservedConnection> => {
    const credentials = passwordSource(() => vault.passwords.get(operator) ?? "");
    const references = referencesTo(["shop-db"]);
    return untilHealthy(
      observeConnection({ url: vault.url, email: operator, credentials, references }),
    );
  };
  return {
    vault,
    connect,
    ann: await vault.client("ann@example.com"),
    bob: await vault.client("bob@example.com"),
  };
}

const share = (from: VaultClient, permission = "R", to: object = { usr_id_to: operator }) =>
  from.call("share", { key_name: "shop-db", permission, usr_id_from: from.email, ...to });
const secrets = ({ connection }: ObservedConnection) => connection.snapshot!.secrets("shop-db");

async function value(
  observed: ObservedConnection,
  owner: string,
  version: number,
): Promise<string> {
  const record = secrets(observed).find((candidate) => candidate.owner === owner)!;
  return Buffer.from(
    (await observed.connection.reader(record, CONSUMER)(version, signal)).bytes.reveal(),
  ).toString();
}

async function again(observed: ObservedConnection): Promise<void> {
  const lists = observed.connection.snapshot?.progress("secret")?.lists ?? 0;
  observed.connection.pollSoon();
  await observed.clock.advance(1_000);
  await expect
    .poll(() => observed.connection.snapshot?.progress("secret")?.lists)
    .toBeGreaterThan(lists);
}

test("follows a secret shared with the operator's account through its versions", async () => {
  const { vault, connect, ann } = await start();
  await using _vault = vault;
  await ann.call("protect", {
    key_name: "shop-db",
    key_value: "canary-one",
    metadata: { note: "n" },
  });
  await share(ann);
  const observed = await connect();
  expect(secrets(observed)).toMatchObject([
    { owner: ann.email, version: 1, shared: true, metadata: { note: "n" } },
  ]);
  expect(await value(observed, ann.email, 1)).toBe("canary-one");
  await ann.call("protect_link", { key_name: "shop-db", key_value: "canary-two" });
  await again(observed);
  expect(secrets(observed)).toMatchObject([{ version: 2 }]);
  expect(await value(observed, ann.email, 2)).toBe("canary-two");
  expect(await value(observed, ann.email, 1)).toBe("canary-one");
  expect(observed.requests.filter((request) => request.startsWith("version_expose"))).toEqual([
    "version_expose_link ok",
    "version_expose_link ok",
  ]);
});

test("reads two shared secrets of one name and the operator's own by their owners", async () => {
  const { vault, connect, ann, bob } = await start();
  await using _vault = vault;
  const own = await vault.client(operator);
  for (const caller of [ann, bob, own])
    await caller.call("protect", { key_name: "shop-db", key_value: `canary of ${caller.email}` });
  await share(ann);
  await bob.call("team_create", { group_id: "shop", members: operator });
  await share(bob, "RW", { group_id_to: "shop" });
  const observed = await connect();
  const owners = secrets(observed).map((record) => record.owner);
  expect(owners).toEqual([ann.email, bob.email, operator]);
  for (const owner of [ann.email, bob.email, operator])
    expect(await value(observed, owner, 1)).toBe(`canary of ${owner}`);
});

test("a write-only share is not listed, and a revoked share is not found", async () => {
  const { vault, connect, ann } = await start();
  await using _vault = vault;
  await ann.call("protect", { key_name: "shop-db", key_value: "canary" });
  await share(ann, "W");
  const observed = await connect();
  expect(secrets(observed)).toEqual([]);
  await share(ann, "RW");
  await again(observed);
  const [record] = secrets(observed);
  expect(record).toMatchObject({ owner: ann.email, version: 1 });
  await ann.call("unshare", { key_name: "shop-db" });
  expect(await failureOf(observed.connection.reader(record!, CONSUMER)(1, signal))).toMatchObject({
    code: "secret_not_found",
  });
  await again(observed);
  expect(secrets(observed)).toEqual([]);
});
