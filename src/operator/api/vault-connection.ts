import { z } from "zod";
import { duration, objectKey, objectName } from "./fields.ts";
import { withRule } from "./validation.ts";
import { conditions, timestamp } from "./status.ts";
import { namespaceSelector } from "./namespace-selector.ts";

/**
 * Defaults, applied in code: if the API server applied them, GitOps tools would report a
 * difference.
 */
export const connectionDefaults = {
  passwordKey: "password",
  caKey: "ca.crt",
  follow: "Auto",
  receive: "Trusted",
  tokenLifetime: "24h",
  refreshInterval: "60s",
  timeout: "10s",
} as const;

/**
 * Reports whether a text is a base URL: scheme, host, port and an optional path, without characters
 * that URL parsers ignore.
 */
function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:\/\/[^/?#@\s]+(\/[^?#\s]*)?$/.test(text) &&
    !/\/v1\/?$/.test(url.pathname)
  );
}

const baseUrl = withRule(z.string().max(2048), {
  cel: "self.matches('^https?://[^/?#@\\\\s]+(/[^?#\\\\s]*)?$') && !self.matches('/v1/?$')",
  message:
    "must be the base URL of the vault without /v1, query or user, for example https://vault.example.com",
  check: isBaseUrl,
});

const email = withRule(z.string().max(320), {
  cel: "self.matches('^[!-?A-~]+@[!-?A-~]+$')",
  message: "must be the email address of the vault account, for example ops@example.com",
  check: (text) => /^[!-?A-~]+@[!-?A-~]+$/.test(text),
});

const audience = withRule(z.string().min(1).max(2048), {
  cel: "self.matches('^[!-~]+$')",
  message: "must be one word of ASCII characters, for example https://vault.example.com",
  check: (text) => /^[!-~]+$/.test(text),
});

/** Returns the schema of the credentials in a namespace: "the same namespace", for example. */
function authIn(namespace: string) {
  const name = objectName("Secret").describe(
    `Name of a Secret of type vaultsync.dev/credentials in ${namespace}.`,
  );
  return withRule(
    z.object({
      passwordSecretRef: z
        .object({
          name,
          key: objectKey
            .optional()
            .describe(
              `Key of the password in that Secret. Defaults to ${connectionDefaults.passwordKey}.`,
            ),
        })
        .optional()
        .describe("Logs in with the password of the account and refreshes the token afterwards."),
      tokenSecretRef: z
        .object({ name })
        .optional()
        .describe(
          "Uses a pair of tokens instead: the keys access_token and refresh_token of that Secret. Refreshed pairs are written back.",
        ),
      serviceAccountRef: z
        .object({
          name: objectName("ServiceAccount").describe(`Name of a ServiceAccount in ${namespace}.`),
          audience: audience
            .optional()
            .describe(
              "Audience of its token. With another host than spec.url, it must be in --token-audiences of the operator. Defaults to spec.url.",
            ),
        })
        .optional()
        .describe(
          "Logs in with a token of this ServiceAccount, requested for ten minutes. The vault must know it as an identity of the account.",
        ),
    }),
    {
      cel: "[has(self.passwordSecretRef), has(self.tokenSecretRef), has(self.serviceAccountRef)].filter(isSet, isSet).size() == 1",
      message: "must have exactly one of passwordSecretRef, tokenSecretRef and serviceAccountRef",
      check: ({ passwordSecretRef, tokenSecretRef, serviceAccountRef }) =>
        [passwordSecretRef, tokenSecretRef, serviceAccountRef].filter((ref) => ref !== undefined)
          .length === 1,
    },
  );
}

const scopeValues = z.array(z.string().min(1).max(256)).min(1).max(256).optional();

const valuesOf = (attribute: string, example: string): string =>
  `Values of ${attribute}, for example [${example}]. Omitted: every value.`;

const scope = withRule(
  z.object({
    cloudType: scopeValues.describe(valuesOf("cloud_type", "aws")),
    environmentType: scopeValues.describe(valuesOf("environment_type", "prod")),
    applicationType: scopeValues.describe(valuesOf("application_type", "container")),
    classification: scopeValues.describe(valuesOf("classification", "top")),
    secretName: scopeValues.describe(
      "Names of secrets, for example [shop-db]. Omitted: every name.",
    ),
    onlyReferenced: z
      .boolean()
      .optional()
      .describe(
        "If true, the token reads exactly the names that resources of this connection refer to. A new name means a new login. Defaults to false.",
      ),
  }),
  {
    cel: "!(has(self.onlyReferenced) && self.onlyReferenced && has(self.secretName))",
    message: "must not have both onlyReferenced and secretName: remove one of them",
    check: ({ onlyReferenced = false, secretName }) => !onlyReferenced || secretName === undefined,
  },
);

const caBundleIn = (namespace: string) =>
  z.object({
    kind: z
      .enum(["ConfigMap", "Secret"])
      .describe("Kind of the object that contains the certificates."),
    name: objectName("ConfigMap").describe(
      `Name of that object, in ${namespace}. A Secret may have any type.`,
    ),
    key: objectKey
      .optional()
      .describe(`Key of the certificates in that object. Defaults to ${connectionDefaults.caKey}.`),
  });

/**
 * Returns the schema of the fields that every kind of connection has; its Secrets and certificates
 * are in `namespace`.
 */
const connectionFields = (namespace: string) =>
  z.object({
    url: baseUrl.describe(
      "Base URL of the vault, without /v1. Must be https unless the operator runs with --allow-http.",
    ),
    email: email.describe(
      "Email address of the vault account; sent as `email` with every request.",
    ),
    auth: authIn(namespace).describe(
      "Authentication of the operator at the vault: exactly one of the three.",
    ),
    scope: scope
      .optional()
      .describe(
        "Secrets that the token may read, by their metadata and name. Excludes tokenSecretRef.",
      ),
    tokenLifetime: duration("1h")
      .optional()
      .describe(
        `Lifetime that a login requests for its tokens, rounded up to hours. Defaults to ${connectionDefaults.tokenLifetime}.`,
      ),
    refreshInterval: duration("5s")
      .optional()
      .describe(
        `Interval between list requests; one request serves all resources of the connection. At least 5s. Defaults to ${connectionDefaults.refreshInterval}.`,
      ),
    timeout: duration("1s")
      .optional()
      .describe(`Timeout of one request to the vault. Defaults to ${connectionDefaults.timeout}.`),
    requestsPerSecond: z
      .int()
      .min(1)
      .max(1000)
      .optional()
      .describe(
        "Maximum rate of requests to the vault, with bursts of twice that. Defaults to no fixed rate: at most 8 values are read at a time. Reduced while the vault responds with 429.",
      ),
    follow: z
      .enum(["Auto", "Interval"])
      .optional()
      .describe(
        "Auto (the default): changes arrive immediately from a vault that supports `Prefer: wait`, and once per refreshInterval from any other. " +
          "Interval: always once per refreshInterval.",
      ),
    trustedOwners: z
      .array(email)
      .min(1)
      .max(256)
      .optional()
      .describe(
        "Creators whose shared secrets are used under a plain name, and found by `find`. Defaults to none.",
      ),
    receive: z
      .enum(["Trusted", "Anyone"])
      .optional()
      .describe(
        "Whose shared secrets are used. Trusted (the default): of trustedOwners, and of the owner that a reference names. " +
          "Anyone: of every account, and any user of the vault can provide the value of a name that does not exist yet; `find` uses trustedOwners only.",
      ),
    reportUse: z
      .boolean()
      .optional()
      .describe(
        "If true, the operator reports to the vault which resource each value is read for, by cluster, namespace, kind and name. Defaults to false.",
      ),
    caBundleRef: caBundleIn(namespace)
      .optional()
      .describe(
        "PEM certificates of the authorities that are trusted for this vault instead of the public ones.",
      ),
  });

type ConnectionFields = z.output<ReturnType<typeof connectionFields>>;

/** Adds the rules about several fields of a connection. */
function withConnectionRules<T extends z.ZodType<ConnectionFields>>(spec: T): T {
  return withRule(spec, {
    cel: "!(has(self.scope) && has(self.auth.tokenSecretRef))",
    message:
      "spec.scope excludes tokenSecretRef: the scope of a stored token was chosen when it was created",
    check: ({ scope: limit, auth }) => limit === undefined || auth.tokenSecretRef === undefined,
  });
}

export const connectionSpec = withConnectionRules(connectionFields("the same namespace"));
export type ConnectionSpec = z.output<typeof connectionSpec>;

export const connectionStatus = z.object({
  observedGeneration: z.int().optional().describe("Generation that the conditions refer to."),
  conditions,
  token: z
    .object({
      expiresAt: timestamp.describe("Time at which the access token expires."),
      refreshedAt: timestamp.describe("Time of the last login or refresh."),
      scope: z
        .string()
        .optional()
        .describe(
          "Scope requested at the login; absent with tokenSecretRef, and with serviceAccountRef without spec.scope.",
        ),
    })
    .optional()
    .describe("Metadata of the token in use; never the token itself."),
  loginPausedUntil: timestamp
    .optional()
    .describe(
      "Time before which the operator does not log in, because the vault rejected the credentials.",
    ),
  rejectedCredentials: z
    .string()
    .optional()
    .describe(
      "Version of the Secret whose credentials the vault rejected, or the ServiceAccount and a digest of the spec.",
    ),
  secrets: z.int().optional().describe("Number of secrets in the last list."),
  files: z
    .int()
    .optional()
    .describe(
      "Number of files in the last list; absent while no VaultFile refers to this connection.",
    ),
  users: z.int().optional().describe("Number of resources that refer to this connection."),
  staleSince: timestamp
    .optional()
    .describe("Time of the last list before the condition Stale; absent without it."),
});
export type ConnectionStatus = z.output<typeof connectionStatus>;

const glob = z.string().min(1).max(256);
const globs = z.array(glob).max(256).optional();

const accessEntry = z.object({
  namespaceSelector: namespaceSelector.describe("Namespaces whose resources this entry concerns."),
  secrets: globs.describe(
    "Names of the secrets that they may read, for example shop-*; * stands for any characters. Defaults to none.",
  ),
  files: globs.describe("Names of the files that they may read, likewise. Defaults to none."),
});

export const clusterConnectionSpec = withConnectionRules(
  connectionFields("the operator's namespace").extend({
    access: z
      .array(accessEntry)
      .max(64)
      .optional()
      .describe(
        "Namespaces that may use this connection, and the names that each may read: those of every entry that selects it. Defaults to none.",
      ),
  }),
);
export type ClusterConnectionSpec = z.output<typeof clusterConnectionSpec>;
