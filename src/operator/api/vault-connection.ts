import { z } from "zod";
import { duration, objectKey, objectName } from "./fields.ts";
import { withRule } from "./validation.ts";
import { conditions, timestamp } from "./status.ts";

/** Defaults are applied in code and not by the API server, so that GitOps tools see no difference. */
export const connectionDefaults = {
  passwordKey: "password",
  tokenLifetime: "24h",
  refreshInterval: "60s",
  timeout: "10s",
  requestsPerSecond: 20,
} as const;

/** Reports whether a text is a base URL: scheme, host, port and an optional path, without characters that URL parsers ignore. */
function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:\/\/[^/?#@\s]+(\/[^?#\s]*)?$/.test(text) && !/\/v1\/?$/.test(url.pathname);
}

const baseUrl = withRule(z.string().max(2048), {
  cel: "self.matches('^https?://[^/?#@\\\\s]+(/[^?#\\\\s]*)?$') && !self.matches('/v1/?$')",
  message: "must be the base URL of the vault without /v1, query or user, for example https://vault.example.com",
  check: isBaseUrl,
});

const email = withRule(z.string().max(320), {
  cel: "self.matches('^[!-?A-~]+@[!-?A-~]+$')",
  message: "must be the email address of the vault account, for example ops@example.com",
  check: (text) => /^[!-?A-~]+@[!-?A-~]+$/.test(text),
});

const scopeValues = z.array(z.string().min(1).max(256)).min(1).max(256).optional();

export const connectionSpec = z.object({
  url: baseUrl.describe("Base URL of the vault, without /v1. Must be https unless the operator runs with --allow-http."),
  email: email.describe("Email address of the vault account; sent as `email` with every request."),
  auth: z
    .object({
      passwordSecretRef: z
        .object({
          name: objectName("Secret").describe("Name of a Secret of type vaultsync.dev/credentials in the same namespace."),
          key: objectKey
            .optional()
            .describe(`Key of the password in that Secret. Defaults to ${connectionDefaults.passwordKey}.`),
        })
        .describe("Logs in with the password of the account and refreshes the token afterwards."),
    })
    .describe("Authentication of the operator at the vault."),
  scope: z
    .object({
      cloudType: scopeValues.describe("Allowed values of cloud_type in the metadata of a secret."),
      environmentType: scopeValues.describe("Allowed values of environment_type in the metadata of a secret."),
      applicationType: scopeValues.describe("Allowed values of application_type in the metadata of a secret."),
      classification: scopeValues.describe("Allowed values of classification in the metadata of a secret."),
      secretName: scopeValues.describe("Allowed names of secrets."),
    })
    .optional()
    .describe("Scope to which the token is limited. An omitted attribute allows every value."),
  tokenLifetime: duration("1h")
    .optional()
    .describe(`Requested lifetime of tokens, rounded up to hours. Defaults to ${connectionDefaults.tokenLifetime}.`),
  refreshInterval: duration("5s")
    .optional()
    .describe(
      `Interval between list requests; one request serves all resources of the connection. At least 5s. Defaults to ${connectionDefaults.refreshInterval}.`,
    ),
  timeout: duration("1s").optional().describe(`Timeout of one request to the vault. Defaults to ${connectionDefaults.timeout}.`),
  requestsPerSecond: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      `Maximum rate of requests to the vault, with bursts of twice that. Defaults to ${connectionDefaults.requestsPerSecond}.`,
    ),
});
export type ConnectionSpec = z.output<typeof connectionSpec>;

export const connectionStatus = z.object({
  observedGeneration: z.int().optional().describe("Generation that the conditions refer to."),
  conditions,
  token: z
    .object({
      expiresAt: timestamp.describe("Time at which the access token expires."),
      refreshedAt: timestamp.describe("Time of the last login or refresh."),
      scope: z.string().describe("Scope of the token as the vault writes it."),
    })
    .optional()
    .describe("Metadata of the token in use; never the token itself."),
  secrets: z.int().optional().describe("Number of secrets in the last list."),
  files: z.int().optional().describe("Number of files in the last list; absent while no VaultFile refers to this connection."),
  users: z.int().optional().describe("Number of resources that refer to this connection."),
});
export type ConnectionStatus = z.output<typeof connectionStatus>;
