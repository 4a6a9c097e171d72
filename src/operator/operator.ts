import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { ConnectionFactory } from "./controllers/connection/connection-reconciler.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Random } from "../lib/random.ts";
import { KubeClient } from "./kube/client/kube-client.ts";
import { loadCredentials } from "./kube/credentials/load-credentials.ts";
import { ApiEventRecorder } from "./kube/events.ts";
import type { Leadership } from "./kube/leader-election/leadership.ts";
import { acquireLease } from "./kube/leader-election/lease.ts";
import { ALL_NAMESPACES } from "./kube/resource.ts";
import { serveEndpoints } from "../telemetry/endpoints.ts";
import type { MetricsRegistry } from "../telemetry/metrics-registry.ts";
import { type OperatorMetrics, operatorMetrics, type OperatorSizes } from "../telemetry/operator-metrics.ts";
import { connect } from "./vault-client/connect.ts";
import { ValueCache } from "./vault-client/values/value-cache.ts";
import type { OperatorConfig } from "./config.ts";
import { contentKey } from "./content-key.ts";
import { Controllers } from "./controllers.ts";
import { controllerObserver, vaultObserver } from "./observers.ts";
import { createReflectors, type Reflectors } from "./reflectors.ts";

export interface OperatorParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

/** Where the operator keeps its lease and its content key when neither a flag nor its credentials name a namespace. */
const DEFAULT_NAMESPACE = "vaultsync-system";
/** First lists take longer than this, in milliseconds, only when something is missing. */
const SLOW_START_MS = 5_000;
const LEASE_NAME = "vaultsync";

/**
 * Runs the operator until `signal` is aborted and what was begun has ended.
 * @throws Error when the API server can't be used at all, or the lease was lost: the process must end then
 */
export async function runOperator(config: OperatorConfig, parts: OperatorParts, signal: AbortSignal): Promise<void> {
  const { clock, random, logger } = parts;
  const credentials = await loadCredentials({ kubeconfig: config.kubeconfig, clock });
  const namespace = config.namespace ?? credentials.namespace ?? DEFAULT_NAMESPACE;
  let leadership: Leadership | undefined;
  const mayWrite = (): boolean => (config.leaderElect ? (leadership?.mayWrite() ?? false) : true);

  await using api = new KubeClient({ credentials, clock, mayWrite });
  const reflectors = createReflectors({ api, namespace: config.watchNamespace ?? ALL_NAMESPACES, clock, random, logger });
  let atWork: Controllers | undefined;
  const metrics = operatorMetrics(parts.metrics, () => sizesOf(reflectors, atWork));
  let ready = false;
  await using endpoints = await serveEndpoints({ listen: config.listen, metrics: parts.metrics, isReady: () => ready });
  logger.info({ port: endpoints.port, namespace }, "serving /healthz, /readyz and /metrics");

  await using background = new Background();
  for (const reflector of Object.values(reflectors)) background.run((ended) => reflector.run(ended));
  if (!(await listedAll(reflectors, parts, signal))) return;
  ready = true;
  logger.info({ host: credentials.server.host }, "caches synced");

  await using leaseApi = new KubeClient({ credentials, clock, connections: 1 });
  if (config.leaderElect) {
    const identity = `${hostname()}_${randomUUID()}`;
    const lease = { api: leaseApi, namespace, name: LEASE_NAME, identity, clock, random, logger };
    leadership = await acquireLease(lease, signal).catch((error: unknown) => unlessAborted(error, signal));
    if (leadership === undefined) return;
  }
  metrics.leader.set(1);
  const work = leadership === undefined ? signal : AbortSignal.any([signal, leadership.lost]);
  try {
    const events = new ApiEventRecorder({ api, clock, logger, controller: "vaultsync.dev/operator", instance: hostname() });
    background.run((ended) => events.run(ended));
    await using controllers = new Controllers({
      ...parts,
      api,
      reflectors,
      events,
      open: connectionFactory(config, parts, metrics),
      contentKey: await contentKey(api, namespace, work),
      concurrency: config.concurrency,
      observer: controllerObserver(metrics),
      signal: work,
    });
    atWork = controllers;
    using _ = controllers.connect();
    logger.info({ count: config.concurrency }, "starting workers");
    await controllers.run(work);
  } catch (error) {
    unlessAborted(error, work);
  } finally {
    metrics.leader.set(0);
    await leadership?.release();
  }
  leadership?.lost.throwIfAborted();
}

/** Opens clients of vaults as the flags allow; all share one cache. */
function connectionFactory(
  config: OperatorConfig,
  { clock, random, logger }: OperatorParts,
  metrics: OperatorMetrics,
): ConnectionFactory {
  const valueCache = new ValueCache(config.valueCacheBytes);
  const observer = vaultObserver(metrics);
  return (settings, password, callbacks, key) =>
    connect({
      ...settings,
      ...callbacks,
      credentials: { kind: "password", password },
      allowHttp: config.allowHttp,
      allowedHosts: config.vaultHosts,
      valueCache,
      observer,
      clock,
      random,
      logger: logger.child({ connection: key }),
    });
}

function sizesOf({ connections, secrets, files }: Reflectors, controllers: Controllers | undefined): OperatorSizes {
  return {
    connections: controllers?.connections.size ?? 0,
    resources: { VaultConnection: connections.store.size, VaultSecret: secrets.store.size, VaultFile: files.store.size },
  };
}

/** Work that goes on beside the main line, until that ends. */
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

/** Whether every watch has its first list, before the signal was aborted. Says what may be missing when that takes long. */
async function listedAll(reflectors: Reflectors, { clock, logger }: OperatorParts, signal: AbortSignal): Promise<boolean> {
  using _ = clock.timer(SLOW_START_MS, () => {
    const waiting = Object.values(reflectors).filter(({ state }) => state.name === "Empty" || state.name === "Listing");
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

/** Being told to stop is no failure. */
function unlessAborted(error: unknown, signal: AbortSignal): undefined {
  if (!signal.aborted) throw error;
}
