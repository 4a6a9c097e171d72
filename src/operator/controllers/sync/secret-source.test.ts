import { expect, test } from "vitest";
import { CONSUMER, secretRecord } from "../../../../test/lab/vault/secret-record.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { syncItem } from "../../../../test/lab/kube/sync-resource.ts";
import { InMemoryConnection } from "../../../../test/lab/vault/in-memory-connection.ts";
import { ignoredCallbacks, openConnection } from "../../../../test/lab/vault/open-connection.ts";
import type { SyncItem } from "../../sync/sync-resource.ts";
import type { SecretRecord } from "../../vault-client/connection.ts";
import type { OpenConnection } from "../connection/connection-state.ts";
import { secretSource } from "./secret-source.ts";

const account = "ops@example.com";

/** Reports whether an item may use a listed secret through a connection with these settings. */
function usable(
  record: Partial<SecretRecord>,
  settings: Partial<OpenConnection> = {},
  item: Partial<SyncItem> = {},
): boolean {
  const connection = new InMemoryConnection(new VirtualClock(), ignoredCallbacks);
  connection.list();
  const snapshot = {
    ...connection.snapshot!,
    secrets: () => [secretRecord(record)],
    matching: () => new Set(["db"]),
  };
  const access = openConnection(connection, settings);
  const found =
    item.foundBy === undefined ||
    [...secretSource().names(snapshot, item.foundBy, access)].length > 0;
  const [candidate] = secretSource().candidates(snapshot, syncItem("db", item), access, CONSUMER);
  expect(candidate?.untrusted).toBeDefined();
  return found && candidate?.untrusted === false;
}

const trusting = { trustedOwners: new Set(["dba@example.com"]) };
const anyone = { receive: "Anyone" } as const;
const foundBy = { id: "dataFrom[0]", pattern: "", metadata: {}, rewrite: [], digest: "" };
const eve = { owner: "eve@example.com", shared: true };

test.each<[string, Partial<SecretRecord>, Partial<OpenConnection>, Partial<SyncItem>]>([
  [
    "a creator whom the connection names, in any case",
    { owner: "DBA@example.com", shared: true },
    trusting,
    {},
  ],
  [
    "a found secret of a creator whom the connection names",
    { owner: "dba@example.com", shared: true },
    trusting,
    { foundBy },
  ],
  ["the account itself", { owner: account, shared: false }, trusting, {}],
  ["the account itself that it shares with others", { owner: account, shared: true }, {}, {}],
  [
    "the account itself, whose owner is not listed",
    { owner: undefined, shared: false },
    trusting,
    {},
  ],
  ["a found secret of the account itself", { owner: account, shared: false }, {}, { foundBy }],
  ["a creator whom the item names, in any case", eve, {}, { owner: "EVE@example.com" }],
  [
    "a creator whom the item names, next to those of the connection",
    eve,
    trusting,
    { owner: "eve@example.com" },
  ],
  ["any creator by choice", eve, anyone, {}],
])("secretSource uses a secret of %s", (_, record, settings, item) => {
  expect(usable(record, settings, item)).toBe(true);
});

test.each<[string, Partial<SecretRecord>, Partial<OpenConnection>, Partial<SyncItem>]>([
  ["another owner", eve, {}, {}],
  ["another owner than those of the connection", eve, trusting, {}],
  ["another owner than the item names", eve, {}, { owner: "dba@example.com" }],
  [
    "another owner, also if the list does not say that it is shared",
    { owner: "eve@example.com", shared: undefined },
    trusting,
    {},
  ],
  ["an owner who is not listed", { owner: undefined, shared: true }, trusting, {}],
  ["another owner that a rule finds", eve, trusting, { foundBy }],
  [
    "another owner that a rule finds, also if anyone may be received from",
    eve,
    anyone,
    { foundBy },
  ],
])("secretSource does not use a shared secret of %s", (_, record, settings, item) => {
  expect(usable(record, settings, item)).toBe(false);
});

test.each([
  [{}, "Opaque"],
  [{ type: "kubernetes.io/tls" }, "kubernetes.io/tls"],
  [{ creationPolicy: "Merge" }, undefined],
])("secretSource parses the type of the target %j as %s", (target, type) => {
  const spec = {
    connectionRef: { name: "vault" },
    data: ["tls.crt", "tls.key"].map((key) => ({ secretKey: key, remoteRef: { key } })),
  };
  const metadata = { name: "db", namespace: "shop" };
  const parsed = secretSource().parse({
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    metadata,
    spec: { ...spec, target },
  });
  expect(parsed).toMatchObject({
    ok: true,
    resource: { target: { kind: "Secret", name: "db", type } },
  });
});
