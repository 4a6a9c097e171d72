import { describe, expect, test } from "vitest";
import { CONSUMER } from "../../../../test/lab/vault/secret-record.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { syncItem } from "../../../../test/lab/kube/sync-resource.ts";
import { InMemoryConnection } from "../../../../test/lab/vault/in-memory-connection.ts";
import { ignoredCallbacks, openConnection } from "../../../../test/lab/vault/open-connection.ts";
import type { FileRecord } from "../../vault-client/connection.ts";
import type { Candidate } from "../../sync/resolution.ts";
import { vaultId } from "../../sync/target.ts";
import { fileSource } from "./file-source.ts";

/** Returns what the item `app.conf` refers to if the vault lists this file. */
function candidates(record: FileRecord | undefined): readonly Candidate[] {
  const connection = new InMemoryConnection(new VirtualClock(), ignoredCallbacks);
  connection.list();
  const file = (filename: string): FileRecord | undefined =>
    filename === "app.conf" ? record : undefined;
  const snapshot = { ...connection.snapshot!, file };
  return fileSource.candidates(
    snapshot,
    syncItem("key", { source: "app.conf" }),
    openConnection(connection),
    CONSUMER,
  );
}

describe("fileSource", () => {
  test("finds a file with the sizes and creation times of its versions, as far as listed", () => {
    const first = { version: 1, size: 10, sha256: undefined, createdAt: 1_000 };
    const latest = { version: 2, size: 20, sha256: undefined };
    expect(
      candidates({ ...latest, filename: "app.conf", versions: [first, latest] }),
    ).toMatchObject([
      {
        vault: vaultId("https://vault.example.com", "ops@example.com"),
        owner: undefined,
        own: true,
        latest: 2,
        sizes: new Map([
          [1, 10],
          [2, 20],
        ]),
        createdAt: new Map([[1, 1_000]]),
      },
    ]);
  });

  test("finds nothing if the vault does not list the file", () => {
    expect(candidates(undefined)).toEqual([]);
  });

  test.each([
    [{ kind: "ConfigMap" }, { kind: "ConfigMap", name: "db", type: undefined }],
    [
      { kind: "Secret", name: "other" },
      { kind: "Secret", name: "other", type: "Opaque" },
    ],
    [
      { kind: "Secret", name: "other", creationPolicy: "Merge" },
      { kind: "Secret", name: "other", type: undefined },
    ],
  ])("parses the target %j", (target, expected) => {
    const spec = { connectionRef: { name: "vault" }, files: [{ filename: "app.conf" }], target };
    const metadata = { name: "db", namespace: "shop" };
    const parsed = fileSource.parse({
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "VaultFile",
      metadata,
      spec,
    });
    expect(parsed).toMatchObject({ ok: true, resource: { target: expected } });
  });
});
