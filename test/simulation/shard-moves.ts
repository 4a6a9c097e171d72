import type { Random } from "../../src/lib/random.ts";
import type { Command } from "./commands.ts";
import { accountOf, urlOf, VAULTS } from "./world.ts";

/**
 * An object of a user that resources of several shards merge keys into: the connections of its
 * namespace are in two of them.
 */
export const MERGED = { kind: "Secret", namespace: "two", name: "shared-target" } as const;
/** The connections of that namespace, each at a separate vault. */
const CONNECTIONS = { main: VAULTS[0], other: VAULTS[1] } as const;

/**
 * A resource that merges moves to the connection of another shard while the vault of the former one
 * is slow.
 */
export function moveToOtherShard(random: Random): Command[] {
  const { namespace } = MERGED;
  const owner = accountOf(namespace);
  const connect = ([name, vault]: readonly [string, string]): Command[] => {
    const auth = { passwordSecretRef: { name: "login" } };
    const spec = {
      url: urlOf(vault),
      email: owner,
      auth,
      refreshInterval: "5s",
      follow: "Interval",
    };
    return [
      { type: "put", kind: "VaultConnection", namespace, name, spec },
      { type: "write-secret", vault, owner, name: "s1" },
    ];
  };
  const resource = (connection: keyof typeof CONNECTIONS): Command => {
    const data = [{ secretKey: "k1", remoteRef: { key: "s1" } }];
    const target = { name: MERGED.name, creationPolicy: "Merge" };
    return {
      type: "put",
      kind: "VaultSecret",
      namespace,
      name: "alpha",
      spec: { connectionRef: { name: connection }, data, target },
    };
  };
  return [
    { type: "end-faults" },
    ...Object.entries(CONNECTIONS).flatMap(connect),
    resource("main"),
    { type: "advance", ms: 60_000 },
    { type: "vault-fault", vault: CONNECTIONS.main, fault: "slow", share: 1 },
    { type: "write-secret", vault: CONNECTIONS.main, owner, name: "s1" },
    { type: "advance", ms: Math.floor(random() * 12_000) },
    resource("other"),
    { type: "advance", ms: 20_000 },
    { type: "end-faults" },
  ];
}
