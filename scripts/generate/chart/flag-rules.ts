import { defaultQuotas } from "../../../src/vault/server/limits.ts";

/**
 * Rules for the values of a chart's flags, by the name of the flag: what the program refuses, in
 * JSON Schema. Helm has no lookahead in patterns. The test next to this file compares them with the
 * program.
 */
export type FlagRules = Readonly<Record<string, object>>;

const listOf = (items: object): object => ({ items: { type: "string", ...items } });
const label = "[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?";
const hosts = listOf({
  pattern: `^([*][.])?${label}([.]${label})*$|^[0-9a-fA-F:]*:[0-9a-fA-F:.]*$`,
});
const secretType = "[A-Za-z0-9]([-._/A-Za-z0-9]*[A-Za-z0-9])?";
const neverAllowed =
  "^(vaultsync[.]dev|helm[.]sh|bootstrap[.]kubernetes[.]io)/|^kubernetes[.]io/service-account-token$";

export const operatorFlagRules: FlagRules = {
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
  // A duration in the usual form, because a pattern cannot add up its parts.
  restartWindow: {
    pattern:
      "^(([1-9][0-9]{0,2}|[12][0-9]{3}|3[0-5][0-9]{2}|3600)s|([1-9]|[1-5][0-9])m([1-5]?[0-9]s)?|60m|1h)$",
  },
  volumeSync: {
    pattern:
      "^(([1-9][0-9]{0,2}|[12][0-9]{3}|3[0-5][0-9]{2}|3600)s|([1-9]|[1-5][0-9])m([1-5]?[0-9]s)?|60m|1h)$",
  },
  resync: {
    pattern:
      "^(0|([6-9][0-9]|[1-9][0-9]{2,8})s|[1-9][0-9]{0,8}m([0-9]{1,2}s)?|[1-9][0-9]{0,5}h([0-9]{1,2}m)?)$",
  },
};

const bytes = { minimum: 65_536, maximum: 999_999_999_999_999 };
const quotaNames = Object.keys(defaultQuotas).join("|");

export const vaultFlagRules: FlagRules = {
  keepVersions: { minimum: 1, maximum: 999_999_999 },
  maxTokenHours: { minimum: 1, maximum: 999_999_999 },
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
