import type { Random } from "../../src/lib/random.ts";
import type { OperatorFlags } from "../../src/operator/config.ts";

/** A type of Secret that only a flag allows. */
export const OTHER_TYPE = "example.com/token";

/** The flags that no random configuration contains, with the reason. */
export const UNSIMULATED_FLAGS: Readonly<Record<string, string>> = {
  kubeconfig: "it is read before the engine starts",
  namespace: "it is resolved before the engine starts, which gets the result",
  listen: "the endpoints are served outside of the engine",
  "listen.host": "as listen",
  "listen.port": "as listen",
  vaultProxy: "the simulated transport opens no connections",
  vaultNoProxy: "as vaultProxy",
  "vaultNoProxy[]": "as vaultProxy",
  tokenAudiences: "the simulated connections name no audience",
  "tokenAudiences[]": "as tokenAudiences",
};

const NAMESPACES_FILE = "/etc/vaultsync/namespaces";

/** Share of the configurations that have a flag. */
const SHARE = 0.2;

/**
 * Returns random flags. Most configurations have one or two: a violation has few possible causes.
 */
export function randomFlags(random: Random): OperatorFlags {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const choices: readonly (() => OperatorFlags)[] = [
    () => ({ namespaces: pick([["one", "two"], ["one", "two"], ["one"]]) }),
    () => ({ namespacesFile: NAMESPACES_FILE }),
    () => ({ shards: pick([2, 2, 3]) }),
    // Nothing but a resync repairs a changed target then.
    () => ({ targetWatch: "off", resync: pick([60_000, 300_000]) }),
    () => ({ targetWatch: "on", resync: pick([60_000, 600_000, 1_800_000]) }),
    () => ({ leaderElect: random() < 0.1 }),
    () => ({ allowHttp: true }),
    () => ({ vaultHosts: pick([["vault-a.example.com"], ["*.example.com"]]) }),
    () => ({ allowedSecretTypes: [OTHER_TYPE] }),
    () => ({ valueCacheBytes: pick([0, 200, 2_000]) }),
    // Longer than all simulated lists: nothing is synced by a connection whose list is refused.
    () => ({ maxListBytes: pick([262_144, 1_048_576]) }),
    // The name changes only what is reported to vaults, so it needs no random number.
    () => ({ concurrency: pick([1, 2]), clusterName: "prod-eu.example" }),
    () => {
      const restartWindow = pick([1_000, 5_000, 120_000]);
      return { restartWindow, volumeSync: restartWindow };
    },
    () => ({ autoRestart: pick(["on", "on", "off"]) }),
  ];
  const flags: OperatorFlags = Object.assign(
    {},
    ...choices.map((choice) => (random() < SHARE ? choice() : {})),
  );
  // Flags that exclude each other.
  if (flags.leaderElect === false) flags.shards = 1;
  if (flags.namespacesFile !== undefined) delete flags.namespaces;
  return flags;
}
