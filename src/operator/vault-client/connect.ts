import type { CredentialSource } from "./auth/credentials.ts";
import { IdentityTokens } from "./auth/identity-tokens.ts";
import { PasswordTokens } from "./auth/password-tokens.ts";
import { RequestedScope } from "./auth/requested-scope.ts";
import { StoredTokenSource } from "./auth/stored-token-source.ts";
import { TokenManager } from "./auth/token-manager.ts";
import { TokenOperations } from "./auth/token-operations.ts";
import type { TokenSource, TokenSourceOptions } from "./auth/token-source.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import type { Connection } from "./connection.ts";
import { CircuitBreaker } from "./http/circuit-breaker.ts";
import { RequestPace } from "./http/request-pace.ts";
import { HealthMonitor } from "./mirror/health-monitor.ts";
import { Mirror } from "./mirror/mirror.ts";
import { silentObserver, type VaultObserver } from "./observer.ts";
import { VaultValues } from "./values/vault-values.ts";
import { VaultWrites } from "./writes/vault-writes.ts";
import { VaultApi } from "./vault-api.ts";
import { VaultConnectionClient } from "./vault-connection-client.ts";

/**
 * Opens a connection and immediately starts to log in and to list in the background. Never throws
 * for an unreachable vault or a forbidden address: the connection reports them as its health.
 * @throws RangeError when the scope admits nothing
 */
export function connect(options: ConnectionOptions): Connection {
  const {
    clock,
    random,
    email,
    timeoutMs,
    refreshIntervalMs: intervalMs,
    observer = silentObserver,
  } = options;
  const { transport } = options;
  const untilProbe = (): number => mirror.nextInMs;
  const api = new VaultApi({
    breaker: circuitBreaker(options, observer, untilProbe),
    pace: new RequestPace(options.requestsPerSecond, clock),
    gate: options.listGate,
    memory: options.valueMemory,
    tenant: options.tenant,
    reportAs: options.reportAs,
    tokens: () => tokens,
    transport,
    email,
    timeoutMs,
    clock,
    observer,
  });
  const tokens = tokenManager(options, api, () => {
    client.tokenChanged();
    options.onTokenChange();
  });
  const health = new HealthMonitor(options.onHealth);
  const values = new VaultValues({
    api,
    email,
    cache: options.valueCache,
    snapshot: () => mirror.snapshot,
    listAgain: (signal) => mirror.listAgain(signal),
    observer,
    clock,
    random,
  });
  const mirror = new Mirror({
    api,
    clock,
    random,
    intervalMs,
    wait: options.follow === "Auto",
    tenant: options.tenant,
    listMemory: options.listMemory,
    health,
    values,
    onChange: options.onChange,
    onListed: options.onListed,
  });
  const writes = new VaultWrites(api);
  const registration = options.listGate.register(intervalMs);
  const client = new VaultConnectionClient({
    transport,
    tokens,
    mirror,
    values,
    writes,
    health,
    clock,
    registration,
  });
  return client;
}

function circuitBreaker(
  { clock, logger }: ConnectionOptions,
  observer: VaultObserver,
  untilProbe: () => number,
): CircuitBreaker {
  const onChange = (open: boolean, cause?: Error): void => {
    if (open)
      logger.warn(
        { reason: cause?.message },
        "circuit breaker opened: only the list is tried, with backoff",
      );
    else logger.info({}, "circuit breaker closed: the vault responds again");
    observer.circuitBreakerChanged(open);
  };
  return new CircuitBreaker({ clock, untilProbe, onChange });
}

function tokenManager(
  options: ConnectionOptions,
  api: VaultApi,
  onChange: () => void,
): TokenManager {
  const {
    credentials,
    logins,
    loginPause: pause,
    email,
    timeoutMs,
    tokenLifetimeMs: lifetimeMs,
    clock,
    random,
    logger,
  } = options;
  const operations = new TokenOperations({
    send: (request) => api.send(request),
    email,
    lifetimeMs,
    timeoutMs,
  });
  const scope = new RequestedScope(options.scope, options.onlyReferenced ?? false, clock);
  const common = { operations, logins, lifetimeMs, pause, clock, random, logger };
  const source = tokenSource(credentials, common, scope);
  return new TokenManager({ source, scope, onChange, clock, random });
}

function tokenSource(
  credentials: CredentialSource,
  common: TokenSourceOptions,
  scope: RequestedScope,
): TokenSource {
  switch (credentials.kind) {
    case "password":
      return new PasswordTokens({ ...common, read: credentials.read, scope });
    case "tokens":
      return new StoredTokenSource({ ...common, store: credentials.store });
    case "identity":
      return new IdentityTokens({ ...common, identity: credentials, scope });
  }
}
