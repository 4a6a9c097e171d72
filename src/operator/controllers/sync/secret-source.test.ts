import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { syncItem } from "../../../../test/support/kube/sync-resource.ts";
import { InMemoryConnection } from "../../../../test/support/vault/in-memory-connection.ts";
import { ignoredCallbacks, openConnection } from "../../../../test/support/vault/open-connection.ts";
import { secretRecord } from "../../../../test/support/vault/secret-record.ts";
import type { SecretRecord } from "../../vault-client/connection.ts";
import { secretSource } from "./secret-source.ts";

const account = "ops@example.com";

/** Reports whether a record is untrusted by a connection that trusts these owners. */
function untrusted(record: Partial<SecretRecord>, trustedOwners: ReadonlySet<string> | undefined): boolean | undefined {
  const connection = new InMemoryConnection(new VirtualClock(), ignoredCallbacks);
  connection.list();
  const snapshot = { ...connection.snapshot!, secrets: () => [secretRecord(record)] };
  const access = openConnection(connection, { trustedOwners });
  return secretSource().candidates(snapshot, syncItem("db"), access)[0]?.untrusted;
}

const dba = new Set(["dba@example.com"]);

test.each<[string, Partial<SecretRecord>, ReadonlySet<string> | undefined, boolean]>([
  ["any owner without trustedOwners", { owner: "eve@example.com", shared: true }, undefined, false],
  ["a named owner, in any case", { owner: "DBA@example.com", shared: true }, dba, false],
  ["the account itself", { owner: account, shared: false }, dba, false],
  ["the account itself, whose owner is not listed", { owner: undefined, shared: false }, dba, false],
])("secretSource trusts %s", (_, record, trustedOwners, expected) => {
  expect(untrusted(record, trustedOwners)).toBe(expected);
});

test.each<[string, Partial<SecretRecord>]>([
  ["another owner", { owner: "eve@example.com", shared: true }],
  ["another owner, also if the list does not say that it is shared", { owner: "eve@example.com", shared: undefined }],
  ["a shared secret whose owner is not listed", { owner: undefined, shared: true }],
])("secretSource does not trust %s", (_, record) => {
  expect(untrusted(record, dba)).toBe(true);
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
  expect(parsed).toMatchObject({ ok: true, resource: { target: { kind: "Secret", name: "db", type } } });
});
