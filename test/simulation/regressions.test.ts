import { describe, expect, test } from "vitest";
import { ADOPT_ANNOTATION, HOLD_ANNOTATION } from "../../src/operator/api/names.ts";
import type { Command } from "./commands.ts";
import { advance, connection, ENTRY, NAMESPACE, resource, SYNCED } from "./scenes.ts";
import { runEpisode } from "./simulate.ts";
import { accountOf, urlOf } from "./world.ts";

const bothClocks = (ms: number): readonly Command[] =>
  [0, 1].map((replica) => ({ type: "skew", replica, ms }));

describe("the operator converges after what the simulation has found:", () => {
  // Lost statuses and targets: a write before the next renewal of the Lease was dropped instead of
  // repeated.
  test("the wall clock of the leader is set forward immediately before a write", async () => {
    for (let sinceRenewal = 0; sinceRenewal < 2_000; sinceRenewal += 400) {
      const commands = [
        ...SYNCED,
        advance(sinceRenewal),
        ...bothClocks(3_600_000),
        resource("beta"),
        advance(200),
      ];
      expect(await runEpisode(1, commands)).toBeUndefined();
    }
  });

  // The status showed the version of the former source as the version of the new one. The new
  // version was then held for being lower.
  test("a key has another source that cannot be read, and the target is deleted meanwhile", async () => {
    const write: Command = { type: "write-secret", ...ENTRY };
    const other = { data: [{ secretKey: "k1", remoteRef: { key: "s2" } }] };
    const commands: Command[] = [
      ...SYNCED,
      write,
      write,
      { ...write, name: "s2" },
      resource("beta", { ...other, suspend: true }),
      advance(60_000),
      { type: "vault-fault", vault: ENTRY.vault, fault: "unreachable", share: 1 },
      resource("alpha", other),
      advance(5_000),
      { type: "delete-target", kind: "Secret", namespace: NAMESPACE, name: "alpha", how: 0 },
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  // A status equal to the outdated one of the watch was not written, and the newer one that the
  // watch then showed was not corrected.
  test("the watches are silent while the vault fails and works again", async () => {
    const commands: Command[] = [
      ...SYNCED,
      // Each silences half of the watches.
      ...Array.from({ length: 10 }, (): Command => ({ type: "silence-watches" })),
      { type: "vault-fault", vault: ENTRY.vault, fault: "unreachable", share: 1 },
      advance(60_000),
      { type: "end-faults" },
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  // A conflict was reported minutes after the other resource had found the object: its next
  // reconcile happened to follow a read.
  test("two resources have the name of a foreign object, and one of them has no source", async () => {
    const missing = {
      data: [{ secretKey: "k1", remoteRef: { key: "s2" } }],
      target: { name: "alpha" },
    };
    for (let later = 0; later < 20_000; later += 5_000) {
      const commands: Command[] = [
        { type: "add-foreign", kind: "Secret", namespace: NAMESPACE, name: "alpha", how: 0 },
        resource("beta", missing),
        connection(),
        { type: "write-secret", ...ENTRY },
        advance(20_000 + later),
        resource("alpha"),
      ];
      expect(await runEpisode(1, commands)).toBeUndefined();
    }
  });

  // The names that the deleted target had were not allowed any more, and nothing could be written
  // until a user edited the status.
  test("an object is handed over to a resource whose rule found names of another connection", async () => {
    const place = { kind: "Secret", namespace: NAMESPACE, name: "alpha" } as const;
    const found = { dataFrom: [{ find: { name: { regexp: "^m" } } }] };
    const access = [{ namespaceSelector: { matchLabels: {} }, secrets: ["s1"] }];
    const auth = { passwordSecretRef: { name: "login" } };
    const commands: Command[] = [
      connection(),
      { type: "write-secret", ...ENTRY },
      { type: "write-secret", ...ENTRY, owner: accountOf("cluster"), name: "s1" },
      { type: "write-secret", ...ENTRY, name: "m1" },
      {
        type: "put-cluster-connection",
        name: "main",
        spec: { url: urlOf("a"), email: accountOf("cluster"), auth, access },
      },
      resource("alpha", found),
      advance(60_000),
      { type: "delete-target", ...place, how: 0 },
      { type: "add-foreign", ...place, how: 3 },
      { type: "annotate", ...place, annotations: { [ADOPT_ANNOTATION]: "VaultSecret/alpha" } },
      resource("alpha", {
        ...found,
        connectionRef: { kind: "ClusterVaultConnection", name: "main" },
      }),
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  // The new client did not know the names that the rule had found: their keys were removed by the
  // next process only.
  test("a rule found names, and its connection is changed to a vault that lacks them", async () => {
    const found = {
      dataFrom: [{ find: { name: { regexp: "^s" } } }],
      target: { whenMissing: "Delete" },
    };
    const commands: Command[] = [
      resource("alpha", { data: [{ secretKey: "k2", remoteRef: { key: "s3" } }], ...found }),
      connection(),
      { type: "write-secret", ...ENTRY },
      advance(300_000),
      connection({ url: urlOf("b") }),
    ];
    const endsWithRestart = 2;
    expect(await runEpisode(endsWithRestart, commands)).toBeUndefined();
  });

  // No bug: the key was expected to follow a version that its rule does not find.
  test("a name loses the metadata of its rule in the list that shows another new name", async () => {
    const metadata = { environment_type: "prod" };
    const write: Command = { type: "write-secret", ...ENTRY };
    const commands: Command[] = [
      connection(),
      { ...write, name: "s2", metadata },
      resource("alpha", {
        data: undefined,
        dataFrom: [{ find: { name: { regexp: "^s" }, metadata } }],
      }),
      advance(300_000),
      { ...write, name: "s2", metadata: { environment_type: "test" } },
      { ...write, name: "s1", metadata },
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  // No bug: the key was expected to stay, as the key of a name that loses its metadata does.
  test.each([
    { data: [{ secretKey: "s1", remoteRef: { key: "s1" } }] },
    { data: undefined, dataFrom: [{ find: { name: { regexp: "^s[12]$" } } }] },
  ])("a rule replaces a key whose source it does not find: %j", async (former) => {
    const metadata = { environment_type: "prod" };
    const find = { name: { regexp: "^s[12]$" }, metadata };
    const commands: Command[] = [
      connection(),
      { type: "write-secret", ...ENTRY },
      { type: "write-secret", ...ENTRY, name: "s2", metadata },
      resource("alpha", former),
      advance(60_000),
      resource("alpha", { data: undefined, dataFrom: [{ find }] }),
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  // No bug: the held version was expected to have the metadata of the latest one.
  test("a hold names a version that was written without the metadata of its rule", async () => {
    const metadata = { environment_type: "prod" };
    const find = { name: { regexp: "^s" }, metadata };
    const commands: Command[] = [
      connection(),
      { type: "write-secret", ...ENTRY },
      { type: "write-secret", ...ENTRY, metadata },
      resource("alpha", { data: undefined, dataFrom: [{ find }], suspend: true }),
      {
        type: "annotate",
        kind: "VaultSecret",
        namespace: NAMESPACE,
        name: "alpha",
        annotations: { [HOLD_ANNOTATION]: JSON.stringify({ versions: { s1: 1 } }) },
      },
      resource("alpha", { data: undefined, dataFrom: [{ find }] }),
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  // No bug: the key that is taken was expected to be reported.
  test("a rule finds a held version that does not exist, and a name whose key is taken", async () => {
    const spec = {
      connectionRef: { name: "main" },
      files: [{ filename: "f1" }],
      filesFrom: [{ find: { filename: { regexp: "^f" } } }],
      target: { kind: "ConfigMap" },
    };
    const file: Command = {
      type: "upload-file",
      vault: ENTRY.vault,
      owner: ENTRY.owner,
      name: "f1",
    };
    const alpha = { kind: "VaultFile", namespace: NAMESPACE, name: "alpha" } as const;
    const hold = JSON.stringify({ versions: { f1: 1, f2: 3 } });
    const commands: Command[] = [
      connection(),
      file,
      { ...file, name: "f2" },
      { type: "put", ...alpha, spec },
      { type: "annotate", ...alpha, annotations: { [HOLD_ANNOTATION]: hold } },
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  // No bug: the missing source was expected to be reported.
  test("an object is handed over with a key whose source is missing", async () => {
    const place = { kind: "Secret", namespace: NAMESPACE, name: "alpha" } as const;
    const commands: Command[] = [
      { type: "add-foreign", ...place, how: 0 },
      { type: "annotate", ...place, annotations: { [ADOPT_ANNOTATION]: "VaultSecret/alpha" } },
      connection(),
      { type: "write-secret", ...ENTRY },
      resource("alpha", {
        data: [
          { secretKey: "k1", remoteRef: { key: "s2" } },
          { secretKey: "k2", remoteRef: { key: "s1" } },
        ],
        target: { whenMissing: "Delete" },
      }),
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  // No bug: it was expected to be in sync, with a key that the spec does not have any more.
  test("the policy of an immutable target becomes Merge, and the spec omits a key", async () => {
    const k1 = { secretKey: "k1", remoteRef: { key: "s1" } };
    const commands: Command[] = [
      connection(),
      { type: "write-secret", ...ENTRY },
      resource("alpha", {
        data: [k1, { ...k1, secretKey: "k2" }],
        target: { immutable: true },
      }),
      advance(60_000),
      resource("alpha", { data: [k1], target: { creationPolicy: "Merge" } }),
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  // No bug: the key was expected to be omitted. It has the own secret, or whatever the rule finds.
  test("an edited rule finds only a received secret of the name of the own one that was served", async () => {
    const metadata = { environment_type: "prod" };
    const write: Command = { type: "write-secret", ...ENTRY };
    const find = { name: { regexp: "^s[12]$" } };
    const commands: Command[] = [
      connection({ trustedOwners: ["ann@example.com"] }),
      write,
      resource("alpha", { data: undefined, dataFrom: [{ find }] }),
      advance(60_000),
      { ...write, name: "s2", metadata },
      { ...write, name: "s3" },
      { ...write, owner: "ann@example.com", metadata },
      { type: "share", vault: ENTRY.vault, name: ENTRY.name, to: ENTRY.owner },
      resource("alpha", {
        // The new name requires a list.
        data: [{ secretKey: "k2", remoteRef: { key: "s3" } }],
        dataFrom: [{ find: { ...find, metadata } }],
        target: { name: "beta" },
      }),
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  // The target has bytes of another source under the key of the missing one: it was deleted with
  // what other sources had in it.
  test("an edit names a missing source for a key, and a version that does not exist for another", async () => {
    const commands: Command[] = [
      connection({ follow: "Auto" }),
      { type: "write-secret", ...ENTRY },
      { type: "write-secret", ...ENTRY, name: "s3" },
      resource("alpha", {
        data: [
          { secretKey: "k2", remoteRef: { key: "s1", version: 1 } },
          { secretKey: "k3", remoteRef: { key: "s3" } },
        ],
        dataFrom: [{ extract: { key: "s3" } }],
      }),
      advance(60_000),
      resource("alpha", {
        data: [
          { secretKey: "k1", remoteRef: { key: "s1" } },
          { secretKey: "k2", remoteRef: { key: "s1", version: 2 } },
          { secretKey: "k3", remoteRef: { key: "s1", owner: "ann@example.com" } },
        ],
        target: { whenMissing: "Delete" },
      }),
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  // No bug: the key was counted for the resource that still claims it, and cannot be written.
  test("a user removes a merged key, another resource takes it, and an edit drops it there", async () => {
    const place = { kind: "Secret", namespace: NAMESPACE, name: "shared-target" } as const;
    const target = { name: place.name, creationPolicy: "Merge" };
    const remoteRef = { key: "s2" };
    const commands: Command[] = [
      { type: "add-foreign", ...place, how: 3 },
      connection(),
      ...["s1", "s2"].map((name): Command => ({ type: "write-secret", ...ENTRY, name })),
      resource("alpha", { target }),
      advance(60_000),
      { type: "remove-entry", ...ENTRY },
      advance(60_000),
      { type: "tamper", ...place, how: 1 },
      resource("beta", { data: [{ secretKey: "k1", remoteRef }], target }),
      advance(60_000),
      resource("beta", { data: [{ secretKey: "k3", remoteRef }], target }),
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });
});
