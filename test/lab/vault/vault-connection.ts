import { expect, onTestFinished } from "vitest";
import { unlimitedScope } from "../../../src/protocol/scope.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { Redacted } from "../../../src/lib/redacted.ts";
import type {
  Connection,
  Health,
  References,
  SnapshotChange,
} from "../../../src/operator/vault-client/connection.ts";
import type { ConnectionOptions } from "../../../src/operator/vault-client/connection-options.ts";
import type { CredentialSource } from "../../../src/operator/vault-client/auth/credentials.ts";
import { LoginGate } from "../../../src/operator/vault-client/auth/login-gate.ts";
import { connect } from "../../../src/operator/vault-client/connect.ts";
import { ListGate } from "../../../src/operator/vault-client/http/list-gate.ts";
import { ResponseMemory } from "../../../src/operator/vault-client/http/response-memory.ts";
import { UndiciTransport } from "../../../src/operator/vault-client/http/undici-transport.ts";
import { valueMemory } from "../../../src/operator/vault-client/vault-api.ts";
import { ValueCache } from "../../../src/operator/vault-client/values/value-cache.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";

/**
 * A connection on a virtual clock and everything it has reported. Closed at the end of the test.
 */
export interface ObservedConnection {
  readonly connection: Connection;
  readonly clock: VirtualClock;
  /** Sorted names of each change. */
  readonly changes: { secrets: string[]; files: string[] }[];
  readonly healths: Health[];
  /** Each request as `operation outcome`. */
  readonly requests: string[];
  /** Each change of the circuit breaker: `true` when it opened. */
  readonly breakerChanges: boolean[];
}

export interface ObserveOptions extends Partial<Omit<ConnectionOptions, "clock">> {
  readonly url: string;
  readonly clock?: VirtualClock;
  readonly references?: References;
}

/** Returns references to these secrets and files. */
export function referencesTo(
  secrets: readonly string[],
  files: readonly string[] = [],
): References {
  return { secrets: new Set(secrets), files: new Set(files) };
}

/** Returns a source of a stored password, whose version is the password itself. */
export function passwordSource(password: string | (() => string)): CredentialSource {
  const read = (): string => (typeof password === "string" ? password : password());
  return {
    kind: "password",
    read: () => Promise.resolve({ password: new Redacted(read()), version: read() }),
  };
}

/**
 * Connects and records everything that the connection reports. By default the secrets `a` and `b`
 * are referenced.
 */
export function observeConnection({
  url,
  references,
  ...options
}: ObserveOptions): ObservedConnection {
  const clock = options.clock ?? new VirtualClock();
  const changes: ObservedConnection["changes"] = [];
  const healths: Health[] = [];
  const requests: string[] = [];
  const breakerChanges: boolean[] = [];
  const policy = { allowHttp: true, allowedHosts: undefined };
  const connection = connect({
    transport: new UndiciTransport({ url, clock, ca: undefined, policy }),
    email: "ann@example.com",
    credentials: passwordSource("canary-password"),
    logins: new LoginGate(clock).account(url, "ann@example.com", ""),
    scope: unlimitedScope,
    tokenLifetimeMs: 24 * 3_600_000,
    refreshIntervalMs: 60_000,
    follow: "Interval",
    timeoutMs: 10_000,
    requestsPerSecond: 100,
    valueCache: new ValueCache(1_000_000),
    listGate: new ListGate(clock),
    listMemory: new ResponseMemory(16 * 1024 * 1024, 64 * 1024 * 1024),
    valueMemory: valueMemory(),
    tenant: "shop/",
    random: () => 0.5,
    logger: silentLogger,
    observer: {
      requestEnded: (operation, outcome) => requests.push(`${operation} ${outcome}`),
      circuitBreakerChanged: (open) => breakerChanges.push(open),
      valueCacheRead: () => undefined,
    },
    onChange: ({ secrets, files }: SnapshotChange) =>
      changes.push({ secrets: [...secrets].sort(), files: [...files].sort() }),
    onListed: () => undefined,
    onHealth: (health) => healths.push(health),
    onTokenChange: () => undefined,
    ...options,
    clock,
  });
  connection.setReferences(references ?? referencesTo(["a", "b"]));
  onTestFinished(() => connection[Symbol.asyncDispose]());
  return { connection, clock, changes, healths, requests, breakerChanges };
}

/** Returns the connection once its first list has arrived. */
export async function untilHealthy(observed: ObservedConnection): Promise<ObservedConnection> {
  await expect.poll(() => observed.connection.health).toMatchObject({ state: "healthy" });
  return observed;
}
