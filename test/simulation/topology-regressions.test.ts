import { describe, expect, test } from "vitest";
import type { Command } from "./commands.ts";
import { advance, connection, ENTRY, NAMESPACE, resource, SYNCED } from "./scenes.ts";
import { runEpisode } from "./simulate.ts";
import { accountOf, urlOf } from "./world.ts";

const write: Command = { type: "write-secret", ...ENTRY };
const configure = (flags: Extract<Command, { type: "configure" }>["flags"]): Command => ({
  type: "configure",
  flags,
});
const restart = [0, 1].flatMap((replica): Command[] => [
  { type: "crash", replica },
  { type: "start", replica },
]);
const TARGET = { kind: "Secret", namespace: NAMESPACE, name: "alpha" } as const;
const SPEC = { data: [{ secretKey: "k1", remoteRef: { key: "s1" } }] };

/** Returns the commands that write a connection and its resource in another namespace. */
const inNamespace = (namespace: string, commands: readonly Command[]): Command[] =>
  commands.map((command) => {
    if (command.type === "write-secret") return { ...command, owner: accountOf(namespace) };
    if (command.type !== "put") return command;
    const account = command.kind === "VaultConnection" ? { email: accountOf(namespace) } : {};
    return { ...command, namespace, spec: { ...command.spec, ...account } };
  });

describe("the operator converges with", () => {
  // The status of a resource did not show the bytes of another vault: a restart, or the connection
  // edited before the first list, forgot that the names had disappeared together.
  test("a connection that names another vault without many names, and no watch of targets", async () => {
    const names = ["m2", "m3", "m4", "m5", "m6"];
    const other = { url: urlOf("b"), refreshInterval: "10s" };
    for (const vanished of [false, true]) {
      const commands: Command[] = [
        configure({ targetWatch: "off", resync: 300_000 }),
        connection({ refreshInterval: "60s" }),
        ...names.map((name): Command => ({ ...write, name })),
        resource("alpha", {
          data: undefined,
          dataFrom: [{ find: { name: { regexp: "^m" } } }],
          target: { whenMissing: "Delete" },
        }),
        advance(90_000),
        ...(vanished ? [{ type: "vanish", vault: ENTRY.vault, prefix: "m" } as const] : []),
        connection(other),
        advance(10_000),
        ...restart,
      ];
      expect(await runEpisode(1, commands)).toBeUndefined();
      expect(await runEpisode(2, commands)).toBeUndefined();
    }
  });

  // No bug: without a cache, each attempt to merge a key of another resource reads the values.
  test("two resources that merge the same key, and no cache of values", async () => {
    const target = { name: "other", creationPolicy: "Merge" };
    const names = ["s1", "s2", "s3", "m1", "m2", "m3", "m4", "m5", "m6"];
    const data = names.map((key) => ({ secretKey: key === "s2" ? "k1" : key, remoteRef: { key } }));
    const commands: Command[] = [
      configure({ valueCacheBytes: 0, resync: 60_000 }),
      ...restart,
      { type: "add-foreign", kind: "Secret", namespace: NAMESPACE, name: "other", how: 3 },
      connection(),
      ...names.map((name): Command => ({ ...write, name })),
      resource("alpha", { target }),
      advance(60_000),
      resource("beta", { data, target }),
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  test.each([15_000, 30_000])("a proxy that ends every request after %i ms", async (cutMs) => {
    for (const how of ["504", "reset"] as const) {
      const commands: Command[] = [
        { type: "proxy", vault: ENTRY.vault, proxy: { cutMs, how } },
        connection({ follow: "Auto", refreshInterval: "60s" }),
        write,
        resource("alpha"),
        advance(300_000),
      ];
      expect(await runEpisode(1, commands)).toBeUndefined();
    }
  });

  test("a gateway that responds with other JSON under whenMissing: Delete", async () => {
    const commands: Command[] = [
      ...SYNCED,
      resource("alpha", { target: { whenMissing: "Delete" } }),
      advance(60_000),
      { type: "vault-fault", vault: ENTRY.vault, fault: "other-json", share: 1 },
      advance(300_000),
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  test("another operator that controls the target under the name of the resource", async () => {
    const commands: Command[] = [
      ...SYNCED,
      resource("alpha", { target: { creationPolicy: "Orphan" } }),
      advance(60_000),
      { type: "control", ...TARGET, controller: "alpha", replace: false },
      write,
      advance(60_000),
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  test("a namespace that is denied when all replicas start", async () => {
    const commands: Command[] = [
      configure({ namespaces: ["one", "two"] }),
      ...SYNCED,
      ...inNamespace("two", SYNCED),
      { type: "rights", namespace: "two", granted: false },
      ...restart,
      advance(60_000),
      write,
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  test("a list of namespaces that becomes longer", async () => {
    const commands: Command[] = [
      { type: "list-namespaces", namespaces: ["two"] },
      configure({ namespacesFile: "/etc/namespaces" }),
      ...SYNCED,
      { type: "list-namespaces", namespaces: ["one", "two"] },
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  test("a target without its label and a missing source, with --target-watch=off", async () => {
    const commands: Command[] = [
      configure({ targetWatch: "off", resync: 60_000 }),
      ...SYNCED,
      { type: "strip", ...TARGET, what: "labels" },
      resource("alpha", { data: [...SPEC.data, { secretKey: "k2", remoteRef: { key: "s2" } }] }),
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  test("a new version for an immutable target whose annotations a tool has removed", async () => {
    const target = { whenMissing: "Retain", whenRemoved: "Retain", immutable: true };
    const commands: Command[] = [
      connection({ refreshInterval: "60s" }),
      resource("alpha", { data: undefined, dataFrom: [{ extract: { key: ENTRY.name } }], target }),
      { ...write, form: "encoded", minutes: 1 },
      advance(192_509),
      { ...write, form: "plain" },
      { type: "strip", ...TARGET, what: "annotations" },
    ];
    expect(await runEpisode(90_210_270_660, commands)).toBeUndefined();
  });

  test("a merge whose connection moves to another shard while the former vault is slow", async () => {
    for (let later = 0; later < 20_000; later += 4_000) {
      const target = { name: "shared-target", creationPolicy: "Merge" };
      const main = inNamespace("two", [connection(), write, resource("alpha", { target })]);
      const other = inNamespace("two", [
        connection({ url: "https://vault-b.example.com" }),
        { ...write, vault: "b" },
      ]);
      const commands: Command[] = [
        configure({ shards: 2 }),
        { type: "add-foreign", kind: "Secret", namespace: "two", name: "shared-target", how: 3 },
        ...main,
        ...other.map((command): Command =>
          command.type === "put" ? { ...command, name: "other" } : command,
        ),
        advance(60_000),
        { type: "vault-fault", vault: "a", fault: "slow", share: 1 },
        ...inNamespace("two", [write]),
        advance(6_000),
        ...inNamespace("two", [resource("alpha", { target, connectionRef: { name: "other" } })]),
        advance(later),
      ];
      expect(await runEpisode(1 + later, commands)).toBeUndefined();
    }
  });

  test("tokens of a Secret that expire, and a workload that asks for restarts", async () => {
    const commands: Command[] = [
      configure({ autoRestart: "on" }),
      { type: "store-tokens", namespace: NAMESPACE, vault: ENTRY.vault },
      connection({ auth: { tokenSecretRef: { name: `tokens-${ENTRY.vault}` } } }),
      write,
      resource("alpha"),
      advance(2_400_000),
      write,
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });
});
