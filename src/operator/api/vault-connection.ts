import { z } from "zod";
import { duration, objectKey, objectName } from "./fields.ts";
import { withRule } from "./validation.ts";
import { conditions } from "./status.ts";

/** Defaults are applied in code, never by the API server, so that GitOps tools see no difference. */
export const connectionDefaults = {
  passwordKey: "password",
  tokenLifetime: "24h",
  refreshInterval: "60s",
  timeout: "10s",
  requestsPerSecond: 20,
} as const;

/** `{base_url}` of the service: scheme, host, port and perhaps a path, nothing else, and nothing that a parser would overlook. */
function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:\/\/[^/?#@\s]+(\/[^?#\s]*)?$/.test(text) && !/\/v1\/?$/.test(url.pathname);
}

const baseUrl = withRule(z.string().max(2048), {
  cel: "self.matches('^https?://[^/?#@\\\\s]+(/[^?#\\\\s]*)?$') && !self.matches('/v1/?$')",
  message: "write the vault's base address without /v1, a query or a user, for example https://vault.example.com",
  check: isBaseUrl,
});

const email = withRule(z.string().max(320), {
  cel: "self.matches('^[!-?A-~]+@[!-?A-~]+$')",
  message: "write the e-mail address of the vault account, for example ops@example.com",
  check: (text) => /^[!-?A-~]+@[!-?A-~]+$/.test(text),
});

const scopeValues = z.array(z.string().min(1).max(256)).min(1).max(256).optional();

export const connectionSpec = z.object({
  url: baseUrl.describe("The vault's base address, without /v1. https, unless the operator runs with --allow-http."),
  email: email.describe("The vault account; sent as `email` with every call."),
  auth: z
    .object({
      passwordSecretRef: z
        .object({
          name: objectName("Secret").describe("A Secret of type vaultsync.dev/credentials in this namespace."),
          key: objectKey.optional().describe(`The key that holds the password. Defaults to ${connectionDefaults.passwordKey}.`),
        })
        .describe("Logs in with the account's password and refreshes the token from then on."),
    })
    .describe("How the operator authenticates."),
  scope: z
    .object({
      cloudType: scopeValues,
      environmentType: scopeValues,
      applicationType: scopeValues,
      classification: scopeValues,
      secretName: scopeValues,
    })
    .optional()
    .describe("What the token is limited to. An attribute left out means every value."),
  tokenLifetime: duration("1h")
    .optional()
    .describe(`Lifetime to ask for, rounded up to hours. Defaults to ${connectionDefaults.tokenLifetime}.`),
  refreshInterval: duration("5s")
    .optional()
    .describe(`One list call per interval serves all resources. At least 5s. Defaults to ${connectionDefaults.refreshInterval}.`),
  timeout: duration("1s").optional().describe(`Of one call. Defaults to ${connectionDefaults.timeout}.`),
  requestsPerSecond: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe(`Ceiling towards this vault; bursts of twice that. Defaults to ${connectionDefaults.requestsPerSecond}.`),
});
export type ConnectionSpec = z.output<typeof connectionSpec>;

const moment = z.string().meta({ format: "date-time" });

export const connectionStatus = z.object({
  observedGeneration: z.int().optional(),
  conditions,
  token: z
    .object({ expiresAt: moment, refreshedAt: moment, scope: z.string() })
    .optional()
    .describe("The token in use; never the token itself."),
  secrets: z.int().optional().describe("Secrets in the last list."),
  files: z.int().optional().describe("Files in the last list; absent while no VaultFile refers to this connection."),
  users: z.int().optional().describe("Resources that refer to this connection."),
});
export type ConnectionStatus = z.output<typeof connectionStatus>;
