import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { TestVault } from "../lab/vault/test-vault.ts";
import { ACCOUNT, World } from "../lab/real/world.ts";
import {
  bytesOf,
  condition,
  type ObservedObject,
  vaultPush,
  secretThrough,
  isReady,
} from "../lab/real/resources.ts";

/**
 * The fields of a VaultConnection that other tests of this folder do not set, and what each
 * changes.
 */
const OTHER = "other@example.com";
const world = await World.ofFile({ vault: await TestVault.start({ emails: [ACCOUNT, OTHER] }) });
beforeAll(() => world.startOperator());

const token = z.object({
  expiresAt: z.iso.datetime(),
  refreshedAt: z.iso.datetime(),
  scope: z.string().optional(),
});
const tokenOf = (object: ObservedObject) => token.parse(object.status?.["token"]);

const connection = (name: string, spec: object): object => world.anotherConnection(name, spec);

/** A VaultSecret that reads the secret of the same name through a connection. */
const through = (name: string, of: string): object => secretThrough(of, name, { password: name });

test("scope: only secrets with these attributes and names are listed", async () => {
  const metadata = {
    cloud_type: "aws",
    environment_type: "prod",
    application_type: "container",
    classification: "top",
  };
  await world.protect("scoped-in", world.canaries.text("in"), { metadata });
  for (const name of Object.keys(metadata))
    await world.protect(`scoped-${name}`, world.canaries.text(name), {
      metadata: { ...metadata, [name]: "another" },
    });
  const excluded = secretThrough("scoped", "excluded", { password: "scoped-cloud_type" });
  const scope = {
    cloudType: ["aws"],
    environmentType: ["prod"],
    applicationType: ["container"],
    classification: ["top"],
  };
  await world.apply(connection("scoped", { scope }), through("scoped-in", "scoped"), excluded);
  await world.ready("VaultSecret", "scoped-in");
  const object = await world.until("VaultConnection", "scoped", isReady);
  expect(object.status).toMatchObject({ secrets: 1 });
  await world.untilReason("VaultSecret", "excluded", "SourceMissing");
});

test("scope.onlyReferenced: the token names exactly the secrets that resources refer to", async () => {
  for (const name of ["referenced-1", "referenced-2", "unreferenced"])
    await world.protect(name, world.canaries.text(name));
  await world.apply(
    connection("referenced", { scope: { onlyReferenced: true } }),
    through("referenced-1", "referenced"),
  );
  await world.ready("VaultSecret", "referenced-1");
  await world.apply(through("referenced-2", "referenced"));
  await world.ready("VaultSecret", "referenced-2");
  const object = await world.until(
    "VaultConnection",
    "referenced",
    (one) => tokenOf(one).scope?.includes("referenced-2") === true,
  );
  expect(tokenOf(object).scope).toMatch(/secret_name:referenced-1/u);
  expect(tokenOf(object).scope).not.toMatch(/unreferenced|secret_name:\*/u);
  expect(object.status).toMatchObject({ secrets: 2, users: 2 });
});

test("tokenLifetime: the requested token is valid that long", async () => {
  await world.apply(connection("short", { tokenLifetime: "2h" }));
  const { expiresAt, refreshedAt } = tokenOf(
    await world.until("VaultConnection", "short", isReady),
  );
  expect(Math.round((Date.parse(expiresAt) - Date.parse(refreshedAt)) / 60_000)).toBe(120);
});

test("tokenSecretRef: a stored pair of tokens is used instead of a password", async () => {
  await world.protect("by-token", world.canaries.text("by token"));
  const login = await world.vault.logIn(ACCOUNT, { hours: 24 });
  const { access_token, refresh_token } = z
    .object({ access_token: z.string(), refresh_token: z.string() })
    .parse(login.json());
  const type = "vaultsync.dev/credentials";
  const pair = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "pair" },
    type,
    stringData: { access_token, refresh_token },
  };
  await world.apply(
    pair,
    connection("stored", { auth: { tokenSecretRef: { name: "pair" } } }),
    through("by-token", "stored"),
  );
  await world.ready("VaultSecret", "by-token");
  expect(tokenOf(await world.until("VaultConnection", "stored", isReady)).scope).toBeUndefined();
});

test("reportUse: the vault learns which resource reads a value", async () => {
  for (const name of ["reported", "unreported"])
    await world.protect(name, world.canaries.text(name));
  await world.apply(
    connection("reporting", { reportUse: true }),
    connection("silent", {}),
    through("reported", "reporting"),
    through("unreported", "silent"),
  );
  await world.ready("VaultSecret", "reported");
  await world.ready("VaultSecret", "unreported");
  const account = await world.vault.client(ACCOUNT);
  const consumers = async (key_name: string): Promise<{ consumer: string; version: number }[]> =>
    (await account.call("consumer_list", { key_name })).json().consumers;
  // The vault records what it noted within ten seconds.
  await expect
    .poll(() => consumers("reported"), { timeout: 60_000 })
    .toMatchObject([
      { consumer: `kubernetes/${world.namespace}/VaultSecret/reported`, version: 1 },
    ]);
  expect(await consumers("unreported")).toEqual([]);
});

test("trustedOwners: a secret is received from these creators only", async () => {
  const value = world.canaries.text("received");
  const other = await world.vault.client(OTHER);
  await other.call("protect", { key_name: "received", key_value: value });
  await other.call("share", {
    key_name: ["received"],
    permission: "R",
    usr_id_from: OTHER,
    usr_id_to: [ACCOUNT],
  });
  await world.apply(
    connection("trusting", { trustedOwners: ["dba@example.com"] }),
    through("received", "trusting"),
  );
  const refused = await world.untilReason("VaultSecret", "received", "SourceMissing");
  expect(condition(refused, "Ready")?.message).toMatch(/other@example\.com.*trustedOwners/u);
  expect(await world.get("Secret", "received")).toBeUndefined();
  await world.apply(connection("trusting", { trustedOwners: ["dba@example.com", OTHER] }));
  await world.ready("VaultSecret", "received");
  expect(bytesOf((await world.get("Secret", "received"))!, "password")?.toString()).toBe(value);
});

test("receive: a secret of an owner whom nothing names is received with Anyone only", async () => {
  const value = world.canaries.text("of a stranger");
  const other = await world.vault.client(OTHER);
  await other.call("protect", { key_name: "strange", key_value: value });
  await other.call("share", {
    key_name: ["strange"],
    permission: "R",
    usr_id_from: OTHER,
    usr_id_to: [ACCOUNT],
  });
  await world.apply(connection("receiving", {}), through("strange", "receiving"));
  const refused = await world.untilReason("VaultSecret", "strange", "SourceMissing");
  expect(condition(refused, "Ready")?.message).toMatch(
    /other@example\.com.*remoteRef\.owner.*spec\.trustedOwners/u,
  );
  await world.apply(connection("receiving", { receive: "Anyone" }));
  await world.ready("VaultSecret", "strange");
  expect(bytesOf((await world.get("Secret", "strange"))!, "password")?.toString()).toBe(value);
});

test("deleteTime of a VaultPush: the vault removes the entry that long after the push", async () => {
  const stringData = { password: world.canaries.text("pushed") };
  await world.apply({ apiVersion: "v1", kind: "Secret", metadata: { name: "source" }, stringData });
  await world.apply(
    vaultPush("source", [
      { secretKey: "password", remoteRef: { key: "with-deadline" }, deleteTime: "30d" },
    ]),
  );
  await world.ready("VaultPush", "source");
  const { secrets } = z
    .object({
      secrets: z.array(z.object({ key_name: z.string(), delete_at: z.iso.datetime().optional() })),
    })
    .parse((await world.caller.call("list_no_dup", {})).json());
  const deadline = Date.parse(
    secrets.find(({ key_name }) => key_name === "with-deadline")?.delete_at ?? "",
  );
  expect(Math.round((deadline - Date.now()) / 86_400_000)).toBe(30);
});

test("no value is in anything that the operator wrote", async () => {
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});
