import { connectionDefaults, type ConnectionSpec } from "../api/vault-connection.ts";
import { parseDuration } from "../lib/duration.ts";
import type { Scope } from "../../protocol/scope.ts";
import { withoutTrailingSlashes } from "../../lib/without-trailing-slashes.ts";

/** The spec of a VaultConnection with its defaults, in the units of the client. */
export interface ConnectionSettings {
  readonly url: string;
  readonly email: string;
  readonly scope: Scope;
  /** Limits the requested scope to the names that resources refer to. */
  readonly onlyReferenced: boolean;
  readonly tokenLifetimeMs: number;
  readonly refreshIntervalMs: number;
  readonly timeoutMs: number;
  /** Reports the resource that each value is read for to the vault. */
  readonly reportUse: boolean;
  /** Infinity: as many as the vault takes. */
  readonly requestsPerSecond: number;
  /** `Auto`: long-poll where the vault supports it. */
  readonly follow: "Auto" | "Interval";
}

function allowedValues(values: readonly string[] | undefined): "*" | ReadonlySet<string> {
  return values === undefined || values.includes("*") ? "*" : new Set(values);
}

/** Returns the scope that a connection requests. */
export function scopeOf({ scope = {} }: ConnectionSpec): Scope {
  return {
    cloud_type: allowedValues(scope.cloudType),
    environment_type: allowedValues(scope.environmentType),
    application_type: allowedValues(scope.applicationType),
    classification: allowedValues(scope.classification),
    secret_name: allowedValues(scope.secretName),
  };
}

/** Returns the settings of a valid spec. */
export function settingsOf(spec: ConnectionSpec): ConnectionSettings {
  return {
    url: withoutTrailingSlashes(spec.url),
    email: spec.email,
    scope: scopeOf(spec),
    onlyReferenced: spec.scope?.onlyReferenced ?? false,
    tokenLifetimeMs: parseDuration(spec.tokenLifetime ?? connectionDefaults.tokenLifetime),
    refreshIntervalMs: parseDuration(spec.refreshInterval ?? connectionDefaults.refreshInterval),
    timeoutMs: parseDuration(spec.timeout ?? connectionDefaults.timeout),
    reportUse: spec.reportUse ?? false,
    requestsPerSecond: spec.requestsPerSecond ?? Infinity,
    follow: spec.follow ?? connectionDefaults.follow,
  };
}
