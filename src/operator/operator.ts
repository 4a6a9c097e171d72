import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { FIELD_MANAGER } from "./api/names.ts";
import type { ConnectionFactory } from "./controllers/connection/connection-reconciler.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Random } from "../lib/random.ts";
import { KubeClient } from "./kube/client/kube-client.ts";
import { loadCredentials } from "./kube/credentials/load-credentials.ts";
import { ApiEventRecorder } from "./kube/event-recorder.ts";
import type { Leadership } from "./kube/leader-election/leadership.ts";
import { acquireLease } from "./kube/leader-election/acquire-lease.ts";
import { ALL_NAMESPACES } from "./kube/resource.ts";
import { serveEndpoints } from "../telemetry/endpoints.ts";
import type { MetricsRegistry } from "../telemetry/metrics-registry.ts";
import { operatorMetrics } from "../telemetry/operator-metrics.ts";
import { LoginGate } from "./vault-client/auth/login-gate.ts";
import { connect } from "./vault-client/connect.ts";
import { UndiciTransport } from "./vault-client/http/undici-transport.ts";
import type { VaultObserver } from "./vault-client/observer.ts";
import { ValueCache } from "./vault-client/values/value-cache.ts";
import type { OperatorConfig } from "./config.ts";
import { contentKey } from "./content-key.ts";
import { Controllers } from "./controllers.ts";
import { syncObserver, vaultObserver } from "./observers.ts";
import { createReflectors, type Reflectors } from "./reflectors.ts";
import { operatorSamples } from "./samples.ts";

export interface OperatorDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

/** Namespace of the lease and the content key if neither a flag nor the credentials name one. */
const DEFAULT_NAMESPACE = "vaultsync-system";
/** Time in milliseconds after which pending initial lists are logged: by then something is likely to be missing. */
const SLOW_START_MS = 5_000;
const LEASE_NAME = "vaultsync";

/**
 * Runs the operator until `signal` is aborted and all running reconciles have ended.
 * @throws Error when the API server cannot be used at all, or the lease was lost; the process must exit then
 */
export async function runOperator(config: OperatorConfig, deps: OperatorDependencies, signal: AbortSignal): Promise<void> {
  const { clock, random, logger } = deps;
  const credentials = await loadCredentials({ kubeconfig: config.kubeconfig, clock });
  const namespace = config.namespace ?? credentials.namespace ?? DEFAULT_NAMESPACE;
  const { concurrency } = config;
  await using client = new KubeClient({ credentials, clock, concurrency, fieldManager: FIELD_MANAGER });
  const reflectors = createReflectors({ api: client, namespaces: config.namespaces ?? [ALL_NAMESPACES], clock, random, logger });
  let running: Controllers | undefined;
  const openCircuitBreakers = new Set<string>();
  const metrics = operatorMetrics(deps.metrics, () => operatorSamples({ reflectors, controllers: running, openCircuitBreakers }));
  let ready = false;
  await using endpoints = await serveEndpoints({ listen: config.listen, metrics: deps.metrics, isReady: () => ready });
  logger.info({ port: endpoints.port, namespace }, "serving /healthz, /readyz and /metrics");

  await using background = new Background();
  for (const reflector of Object.values(reflectors)) background.run((ended) => reflector.run(ended));
  if (!(await waitForInitialLists(reflectors, deps, signal))) return;
  ready = true;
  logger.info({ host: credentials.server.host }, "caches synced");

  await using leaseApi = new KubeClient({ credentials, clock, concurrency: 1, fieldManager: FIELD_MANAGER });
  let leadership: Leadership | undefined;
  if (config.leaderElect) {
    const identity = `${hostname()}_${randomUUID()}`;
    const lease = { api: leaseApi, namespace, name: LEASE_NAME, identity, clock, random, logger };
    leadership = await acquireLease(lease, signal).catch((error: unknown) => rethrowUnlessAborted(error, signal));
    if (leadership === undefined) return;
  }
  const api = leadership === undefined ? client : client.fenced(leadership);
  metrics.leader.set(1);
  const leading = leadership === undefined ? signal : AbortSignal.any([signal, leadership.lost]);
  try {
    const events = new ApiEventRecorder({ api, clock, logger, controller: "vaultsync.dev/operator", instance: hostname() });
    background.run((ended) => events.run(ended));
    await using controllers = new Controllers({
      ...deps,
      api,
      reflectors,
      events,
      connectionFactory: connectionFactory(config, deps, (key) => vaultObserver(metrics, key, openCircuitBreakers)),
      resyncMs: config.resync,
      contentKey: await contentKey(api, namespace, leading),
      concurrency,
      observer: syncObserver(metrics),
      signal: leading,
    });
    running = controllers;
    using _ = controllers.subscribe();
    logger.info({ count: config.concurrency }, "starting workers");
    await controllers.run(leading);
  } catch (error) {
    rethrowUnlessAborted(error, leading);
  } finally {
    metrics.leader.set(0);
    await leadership?.release();
  }
  leadership?.lost.throwIfAborted();
}

/** Returns the factory of vault clients. They follow the flags and share one cache. */
function connectionFactory(
  config: OperatorConfig,
  { clock, random, logger }: OperatorDependencies,
  observerOf: (key: string) => VaultObserver,
): ConnectionFactory {
  const valueCache = new ValueCache(config.valueCacheBytes);
  const policy = { allowHttp: config.allowHttp, allowedHosts: config.vaultHosts };
  const logins = new LoginGate(clock);
  return ({ key, settings, credentials, loginPause, ca }, callbacks) =>
    connect({
      ...settings,
      ...callbacks,
      credentials,
      logins: logins.account(settings.url, settings.email),
      loginPause,
      transport: new UndiciTransport({ url: settings.url, clock, ca, policy }),
      valueCache,
      observer: observerOf(key),
      clock,
      random,
      logger: logger.child({ connection: key }),
    });
}

/** Tasks that run in the background until the operator ends. */
class Background implements AsyncDisposable {
  readonly #ended = new AbortController();
  readonly #work: Promise<void>[] = [];

  run(task: (ended: AbortSignal) => Promise<void>): void {
    this.#work.push(task(this.#ended.signal));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort(new Error("the operator is shutting down"));
    await Promise.allSettled(this.#work);
  }
}

/**
 * Waits for the initial list of every reflector and returns `true`, or `false` if the signal was aborted first. Logs a slow
 * start.
 */
async function waitForInitialLists(
  reflectors: Reflectors,
  { clock, logger }: OperatorDependencies,
  signal: AbortSignal,
): Promise<boolean> {
  using _ = clock.timer(SLOW_START_MS, () => {
    const waiting = Object.values(reflectors).filter(({ listing }) => listing);
    logger.warn(
      { count: waiting.length },
      "still waiting for the initial lists; are the CRDs installed (kubectl apply -f crds/) and the RBAC rules applied?",
    );
  });
  const aborted = new Promise<false>((resolve) => {
    if (signal.aborted) resolve(false);
    signal.addEventListener("abort", () => resolve(false), { once: true });
  });
  const listed = Promise.all(Object.values(reflectors).map((reflector) => reflector.synced)).then(() => true);
  return Promise.race([listed, aborted]);
}

/** Rethrows an error, unless it results from the shutdown. */
function rethrowUnlessAborted(error: unknown, signal: AbortSignal): undefined {
  if (!signal.aborted) throw error;
}
