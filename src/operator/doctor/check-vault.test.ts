import { expect, test } from "vitest";
import { VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import {
  InMemoryTransport,
  type VaultNetwork,
} from "../../../test/lab/simulated/vault/in-memory-transport.ts";
import { InMemoryVault } from "../../../test/lab/simulated/vault/in-memory-vault.ts";
import { Redacted } from "../../lib/redacted.ts";
import { factsOf } from "../connection/connection-facts.ts";
import { settingsOf } from "../connection/connection-settings.ts";
import { trustOf } from "../api/received-secrets.ts";
import type { Check } from "./check.ts";
import { checksOf } from "./check.ts";
import { checkVault } from "./check-vault.ts";

const ACCOUNT = "ops@example.com";
const OTHER = "eve@example.com";
const PASSWORD = "password";

/** Returns the checks of a connection that uses an own secret, and `db` of `OTHER`. */
async function checksFor(
  connection: object,
  owner?: string,
  network: VaultNetwork = {},
): Promise<Check[]> {
  const clock = new VirtualClock();
  const vault = new InMemoryVault(clock);
  for (const email of [ACCOUNT, OTHER]) vault.setPassword(email, PASSWORD);
  vault.act(ACCOUNT, "protect", { email: ACCOUNT, key_name: "own", key_value: "1" });
  vault.act(OTHER, "protect", { email: OTHER, key_name: "db", key_value: "1" });
  vault.act(OTHER, "share", {
    email: OTHER,
    key_name: "db",
    permission: "R",
    usr_id_from: OTHER,
    usr_id_to: ACCOUNT,
  });
  const auth = { passwordSecretRef: { name: "login" } };
  const spec = { url: "https://vault.example.com", email: ACCOUNT, auth, ...connection };
  const items = [
    { source: "own", owner: undefined, user: "vaultsecret/own" },
    { source: "db", owner, user: "vaultsecret/db" },
    ...["api", "web"].map((name) => ({
      source: "absent",
      owner: undefined,
      user: `vaultsecret/${name}`,
    })),
  ];
  const fileItems = [{ source: "a.conf", owner: undefined, user: "vaultfile/web" }];
  const options = {
    settings: settingsOf(spec),
    facts: factsOf(spec),
    trust: trustOf(spec),
    credentials: {
      kind: "password",
      read: () => Promise.resolve({ version: "1", password: new Redacted(PASSWORD) }),
    } as const,
    references: {
      secrets: new Set(["own", "db", "absent"]),
      files: new Set(["a.conf"]),
      items,
      fileItems,
    },
    transport: new InMemoryTransport({ vault, clock, network }),
    maxListBytes: 1024 * 1024,
    clock,
    random: () => 0.5,
  };
  const checks: Check[] = [];
  const run = (async () => {
    for await (const check of checkVault(
      checksOf("vaultconnection/vault"),
      options,
      new AbortController().signal,
    ))
      checks.push(check);
  })();
  await clock.advance(60_000);
  await run;
  return checks;
}

async function ownersCheck(connection: object, owner?: string): Promise<Check | undefined> {
  return (await checksFor(connection, owner)).find(({ check }) => check === "owners");
}

test("checkVault reports an owner whom neither the connection nor the resource names", async () => {
  const check = await ownersCheck({});
  expect(check).toMatchObject({
    result: "failed",
    message: "no owner is named for db (shared by eve@example.com)",
  });
  expect(check?.remedy).toContain("spec.trustedOwners");
});

test.each<[string, object, string | undefined]>([
  ["the connection names", { trustedOwners: ["EVE@example.com"] }, undefined],
  ["the resource names", {}, OTHER],
  ["a connection admits that receives from anyone", { receive: "Anyone" }, undefined],
])("checkVault accepts the owner of a shared secret whom %s", async (_, connection, owner) => {
  expect(await ownersCheck(connection, owner)).toMatchObject({ result: "ok" });
});

/** Adds the header of a vault that ignores a forwarded address. */
const respond: VaultNetwork["respond"] = async ({ operation }, response) =>
  operation === "generate_access_token"
    ? { ...response, headers: { ...response.headers, "x-ignored-forwarded": "true" } }
    : response;

test("checkVault reports a vault that ignores the address that a proxy forwards", async () => {
  const check = (await checksFor({}, OTHER, { respond })).find((one) => one.check === "proxy");
  expect(check).toMatchObject({
    result: "failed",
    message: expect.stringContaining("ignores the address that a proxy"),
  });
  expect(check?.remedy).toContain("--trust-proxy");
  expect((await checksFor({}, OTHER)).map((one) => one.check)).not.toContain("proxy");
});

test("checkVault names the resources that refer to a missing name", async () => {
  const check = (await checksFor({}, OTHER)).find((one) => one.check === "references");
  expect(check).toMatchObject({
    result: "failed",
    message:
      "the vault does not list absent (vaultsecret/api and 1 more), a.conf (vaultfile/web), of 4 names that resources refer to",
  });
});
