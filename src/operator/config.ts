import { isIP } from "node:net";
import { z } from "zod";
import { secretType } from "./api/vault-secret.ts";
import { namespaceName, namespaceNames } from "./namespace-list.ts";

const listen = z.object({ host: z.string(), port: z.int().min(0).max(65_535) });

/** Returns the schema of a whole number, with one message for everything that it is not. */
function wholeNumber(least: number, most?: number): z.ZodInt {
  const message = `expected a whole number ${most === undefined ? `of at least ${least}` : `from ${least} to ${most}`}`;
  const number = z.int(message).min(least, message);
  return most === undefined ? number : number.max(most, message);
}

/** A DNS name. It contains no `/`, the separator of the parts of a consumer. */
const clusterName = z
  .string()
  .max(63, "expected at most 63 characters")
  .regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    "expected a lowercase DNS name such as prod-eu",
  );

const path = z.string().min(1, "expected the path of a file").optional();

/** Names with an optional `*.` before them; a URL spells a name without its final dot. */
const HOST = /^(\*\.)?[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$/iu;

const vaultHost = z
  .string()
  .refine(
    (host) => HOST.test(host) || isIP(host) !== 0,
    "expected hosts such as vault.example.com, *.example.com or 192.0.2.1, without https:// and without a port",
  );

/** The origin of a URL; in a command line, a password would be readable to others. */
const ORIGIN =
  /^https?:\/\/([a-z0-9_]([-a-z0-9_.]*[a-z0-9_])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?\/?$/iu;

const vaultProxy = z
  .string()
  .refine(
    (text) => ORIGIN.test(text) && URL.canParse(text),
    "expected the address of an HTTP proxy such as http://proxy.example.com:3128, without a user and a path",
  );

/** All settings of the operator; `vaultsync operator --help` describes them. */
export const operatorFlags = z
  .object({
    kubeconfig: path,
    namespace: namespaceName.optional(),
    namespaces: namespaceNames.optional(),
    namespacesFile: path,
    clusterName: clusterName.default("kubernetes"),
    targetWatch: z.enum(["on", "off"]).default("on"),
    leaderElect: z.boolean().default(true),
    shards: wholeNumber(1, 64).default(1),
    listen: listen.default({ host: "0.0.0.0", port: 8080 }),
    allowHttp: z.boolean().default(false),
    vaultHosts: z.array(vaultHost).min(1).optional(),
    vaultProxy: vaultProxy.optional(),
    vaultNoProxy: z.array(vaultHost).default(["*.svc", "*.cluster.local"]),
    allowedSecretTypes: z.array(secretType).default([]),
    tokenAudiences: z
      .array(z.string().regex(/^[!-~]+$/, "expected words without spaces"))
      .default([]),
    valueCacheBytes: wholeNumber(0).default(16 * 1024 * 1024),
    maxListBytes: wholeNumber(1024, 256 * 1024 * 1024).default(16 * 1024 * 1024),
    concurrency: wholeNumber(1, 256).default(32),
    restartWindow: z
      .int()
      .refine((ms) => ms >= 1_000 && ms <= 3_600_000, "expected 1s to 1h")
      .default(30_000),
    autoRestart: z.enum(["on", "off"]).default("on"),
    volumeSync: z
      .int()
      .refine((ms) => ms >= 1_000 && ms <= 3_600_000, "expected 1s to 1h")
      .default(90_000),
    resync: z
      .int()
      .refine((ms) => ms === 0 || ms >= 60_000, "expected 0 or at least 1m")
      .default(30 * 60_000),
  })
  .refine(
    ({ namespaces, namespacesFile }) => namespaces === undefined || namespacesFile === undefined,
    {
      path: ["namespacesFile"],
      message: "excludes --namespaces: drop one of them",
    },
  )
  .refine(({ vaultProxy: proxy, vaultHosts }) => proxy === undefined || vaultHosts !== undefined, {
    path: ["vaultProxy"],
    message:
      "requires --vault-hosts: the proxy resolves the names of vaults, and the operator cannot check their addresses",
  })
  .refine(({ leaderElect, shards }) => leaderElect || shards === 1, {
    path: ["shards"],
    message:
      "must be 1 without leader election: the Leases of the shards keep two replicas from writing the same objects",
  });

export type OperatorConfig = Readonly<z.output<typeof operatorFlags>>;
export type OperatorFlags = z.input<typeof operatorFlags>;

/** Reports whether the operator serves all namespaces, not only the listed ones. */
export const isForCluster = ({ namespaces, namespacesFile }: OperatorConfig): boolean =>
  namespaces === undefined && namespacesFile === undefined;

/** Returns the proxy for requests to vaults, if there is one. */
export const vaultProxyOf = ({ vaultProxy: url, vaultNoProxy: except }: OperatorConfig) =>
  url === undefined ? undefined : { url, except };

/**
 * Returns the flags with their defaults, validated and frozen. @throws ZodError, whose paths are
 * the names of the flags
 */
export function operatorConfig(flags: OperatorFlags): OperatorConfig {
  return Object.freeze(operatorFlags.parse(flags));
}
