import type { OperatorFlags } from "../../src/operator/config.ts";
import type { Command } from "./commands.ts";
import { OTHER_TYPE } from "./random-flags.ts";

interface Episode {
  readonly commands: readonly Command[];
}

type ForEpisode = (episode: Episode) => boolean;

const flag = (isSet: (flags: OperatorFlags) => boolean): ForEpisode => {
  return ({ commands }) => commands.some((one) => one.type === "configure" && isSet(one.flags));
};
const command = (...types: readonly Command["type"][]): ForEpisode => {
  return ({ commands }) => commands.some(({ type }) => types.includes(type));
};
/** Reports a connection with these credentials. */
const credentials = (field: string): ForEpisode => {
  return ({ commands }) =>
    commands.some(
      (one) =>
        one.type === "put" && Object.hasOwn((one.spec as { auth?: object }).auth ?? {}, field),
    );
};
const isTyped = (one: Command): boolean =>
  (one.type === "put" || (one.type === "fan-out" && one.how === "put")) &&
  (one.spec as { target?: { type?: string } }).target?.type === OTHER_TYPE;

/**
 * Features of how an episode runs the operator, of what is between it and others, and of other
 * tools.
 */
export const topologyFeatures: Readonly<Record<string, ForEpisode>> = {
  "--shards": flag(({ shards = 1 }) => shards > 1),
  "--namespaces": flag(({ namespaces }) => namespaces !== undefined),
  "--namespaces-file": flag(({ namespacesFile }) => namespacesFile !== undefined),
  "--target-watch=off": flag(({ targetWatch }) => targetWatch === "off"),
  "--no-leader-elect": flag(({ leaderElect }) => leaderElect === false),
  "--allow-http": flag(({ allowHttp }) => allowHttp === true),
  "--vault-hosts": flag(({ vaultHosts }) => vaultHosts !== undefined),
  "--allowed-secret-types": flag(({ allowedSecretTypes = [] }) => allowedSecretTypes.length > 0),
  "--value-cache-bytes": flag(({ valueCacheBytes }) => valueCacheBytes !== undefined),
  "--max-list-bytes": flag(({ maxListBytes }) => maxListBytes !== undefined),
  "--concurrency": flag(({ concurrency }) => concurrency !== undefined),
  "--restart-window": flag(({ restartWindow }) => restartWindow !== undefined),
  "--volume-sync": flag(({ volumeSync }) => volumeSync !== undefined),
  "--auto-restart": flag(({ autoRestart }) => autoRestart === "on"),
  "--resync": flag(({ resync = 0 }) => resync > 0),
  "changed flags": ({ commands }) => commands.filter(({ type }) => type === "configure").length > 1,
  "number of replicas": command("scale"),
  "permissions that come and go": command("rights"),
  "changed list of namespaces": ({ commands }) =>
    commands.filter(({ type }) => type === "list-namespaces").length > 1,
  "deleted namespace": command("delete-namespace"),
  "proxy that cuts requests": ({ commands }) =>
    commands.some((one) => one.type === "proxy" && one.proxy !== undefined),
  "gateway with another 200": ({ commands }) =>
    commands.some((one) => one.type === "vault-fault" && one.fault === "other-json"),
  "controller of others": command("control"),
  "tool that removes metadata": command("strip"),
  "changed workload": command("workload"),
  tokenSecretRef: credentials("tokenSecretRef"),
  serviceAccountRef: credentials("serviceAccountRef"),
  "lost identities": command("identity"),
  "other type of Secret": ({ commands }) => commands.some(isTyped),
};
