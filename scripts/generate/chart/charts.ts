import type { Command } from "commander";
import { operatorCommand } from "../../../src/operator/cli/operator.ts";
import { vaultCommand } from "../../../src/vault/cli/vault.ts";
import { defaultQuotas } from "../../../src/vault/server/limits.ts";

/**
 * Rules for the values of a chart's flags, by the name of the flag: what the program refuses, in
 * JSON Schema. Helm has no lookahead in patterns. The test next to this file compares them with the
 * program.
 */
type FlagRules = Readonly<Record<string, object>>;

const listOf = (items: object): object => ({ items: { type: "string", ...items } });
const label = "[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?";
const hosts = listOf({
  pattern: `^([*][.])?${label}([.]${label})*$|^[0-9a-fA-F:]*:[0-9a-fA-F:.]*$`,
});
const secretType = "[A-Za-z0-9]([-._/A-Za-z0-9]*[A-Za-z0-9])?";
const neverAllowed =
  "^(vaultsync[.]dev|helm[.]sh|bootstrap[.]kubernetes[.]io)/|^kubernetes[.]io/service-account-token$";

/** A duration in the usual form, because a pattern cannot add up its parts. */
const upToAnHour = {
  pattern:
    "^(([1-9][0-9]{0,2}|[12][0-9]{3}|3[0-5][0-9]{2}|3600)s|([1-9]|[1-5][0-9])m([1-5]?[0-9]s)?|60m|1h)$",
};

const dnsLabel = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";

const operatorFlagRules: FlagRules = {
  clusterName: { maxLength: 63, pattern: `^${dnsLabel}([.]${dnsLabel})*$` },
  shards: { minimum: 1, maximum: 64 },
  concurrency: { minimum: 1, maximum: 256 },
  maxListBytes: { minimum: 1024, maximum: 256 * 1024 * 1024 },
  vaultHosts: hosts,
  vaultNoProxy: hosts,
  vaultProxy: {
    pattern: `^https?://(${label}([.]${label})*|\\[[0-9a-fA-F:.]+\\])(:[0-9]{1,5})?/?$`,
  },
  allowedSecretTypes: listOf({
    maxLength: 253,
    pattern: `^${secretType}$`,
    not: { pattern: neverAllowed },
  }),
  restartWindow: upToAnHour,
  volumeSync: upToAnHour,
  resync: {
    pattern:
      "^(0|([6-9][0-9]|[1-9][0-9]{2,8})s|[1-9][0-9]{0,8}m([0-9]{1,2}s)?|[1-9][0-9]{0,5}h([0-9]{1,2}m)?)$",
  },
};

const bytes = { minimum: 65_536, maximum: 999_999_999_999_999 };
const quotaNames = Object.keys(defaultQuotas).join("|");

const vaultFlagRules: FlagRules = {
  keepVersions: { minimum: 1, maximum: 999_999_999 },
  maxTokenHours: { minimum: 1, maximum: 999_999_999 },
  trashDays: { minimum: 0, maximum: 9_999 },
  lowSpace: { minimum: 0, maximum: 999_999_999_999_999 },
  quotas: listOf({ pattern: `^(${quotaNames})=[0-9]{1,15}$` }),
  identityIssuers: listOf({ pattern: "^[^=,\\s]+=[^,\\s]+$" }),
  appUrl: { pattern: "^https?://[^/?#@\\s]+$" },
  allowedHosts: listOf({
    pattern: "^([*][.])?([A-Za-z0-9_-]+[.])*[A-Za-z0-9_-]*[A-Za-z_-][A-Za-z0-9_-]*$",
  }),
  trustProxy: listOf({
    pattern: "^([0-9]{1,3}([.][0-9]{1,3}){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]*)(/[1-9][0-9]{0,2})?$",
  }),
  signUpDomains: listOf({
    pattern: "^[\\p{L}\\p{M}\\p{N}-]+([.][\\p{L}\\p{M}\\p{N}-]+)*$",
  }),
  auditForward: { pattern: "^(stdout|syslog[+](tls|tcp|udp)://[^/\\s]+)$" },
  auditLogMaxBytes: bytes,
  auditRetention: { minimum: 1, maximum: 999_999 },
  auditRetentionBytes: { type: ["integer", "string"], ...bytes, pattern: "^none$" },
};

/** A Helm chart of this repository. */
export interface Chart {
  readonly folder: string;
  /** Returns the command that its container runs. */
  readonly command: () => Command;
  /** Flags of the command that the chart sets itself. */
  readonly ownFlags: readonly string[];
  /** Rules of the schema for the values of flags, in addition to their type. */
  readonly flagRules: FlagRules;
}

const operator: Chart = {
  folder: "deploy/chart",
  command: operatorCommand,
  // Two operators run during a rolling update: leaderElect cannot be a choice.
  ownFlags: [
    "kubeconfig",
    "namespace",
    "namespaces",
    "namespacesFile",
    "targetWatch",
    "listen",
    "leaderElect",
  ],
  flagRules: operatorFlagRules,
};

const inDeployment = [
  "listen",
  "metricsListen",
  "tlsCertFile",
  "tlsKeyFile",
  "data",
  "masterKeyFile",
  "auditLog",
  "smtpUrlFile",
];
/**
 * Flags that name files which are not mounted or programs that the image lacks, or that are for
 * other set-ups.
 */
const ofDevelopment = [
  "masterKeyCommand",
  "smtpCaFile",
  "mailDir",
  "allowHttpListen",
  "dev",
  "devUsers",
];

const vault: Chart = {
  folder: "deploy/vault-chart",
  command: () => {
    const serve = vaultCommand().commands.find((command) => command.name() === "serve");
    if (serve === undefined) throw new Error("there is no command vault serve");
    return serve;
  },
  ownFlags: [...inDeployment, ...ofDevelopment],
  flagRules: vaultFlagRules,
};

export const charts: readonly Chart[] = [operator, vault];
