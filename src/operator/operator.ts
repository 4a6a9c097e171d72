import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Random } from "../lib/random.ts";
import { listenFailure } from "../lib/errors.ts";
import { type Readiness, serveEndpoints } from "../telemetry/endpoints.ts";
import {
  apiServerMetrics,
  type OperatorMetrics,
  operatorMetrics,
} from "../telemetry/operator-metrics.ts";
import type { MetricsRegistry } from "../telemetry/metrics-registry.ts";
import { apiRemedies } from "./api-remedies.ts";
import { FIELD_MANAGER } from "./api/names.ts";
import { isForCluster, type OperatorConfig, vaultProxyOf } from "./config.ts";
import { ApiProblems } from "./kube/api-problems.ts";
import { KubeClient } from "./kube/client/kube-client.ts";
import { loadCredentials } from "./kube/credentials/load-credentials.ts";
import { UndiciTransport } from "./vault-client/http/undici-transport.ts";
import { tenantOf } from "./api/connection-key.ts";
import { Background } from "./background.ts";
import { contentKey } from "./content-key.ts";
import { Controllers, type ControllersOptions } from "./controllers.ts";
import { BlastLimits } from "./controllers/connection/blast-limit.ts";
import type { ConnectionCallbacks } from "./controllers/connection/connection-users.ts";
import type { ConnectionFactory } from "./controllers/connection/connection-reconciler.ts";
import { PushBudget } from "./controllers/push/push-budget.ts";
import type { FencedKubeApi, KubeApi, WriteFence } from "./kube/client/kube-api.ts";
import type { NamespaceWatches } from "./kube/cache/namespace-watches.ts";
import { ApiEventRecorder } from "./kube/event-recorder.ts";
import { ALL_NAMESPACES } from "./kube/resource.ts";
import { FreezeWatch } from "./freeze-watch.ts";
import { followNamespaces, readNamespaces } from "./namespace-list.ts";
import { syncObserver, vaultObserver } from "./observers.ts";
import {
  createReflectors,
  createWorkloadWatches,
  namespaceWatches,
  type Reflectors,
} from "./reflectors.ts";
import { operatorSamples } from "./samples.ts";
import { QueueLimits } from "./runtime/queue-limits.ts";
import { runShards } from "./shards/run-shards.ts";
import { shardOf, viewOfShard } from "./shards/shard-of.ts";
import { LoginGate } from "./vault-client/auth/login-gate.ts";
import { connect } from "./vault-client/connect.ts";
import type { VaultTransport } from "./vault-client/http/vault-transport.ts";
import type { VaultObserver } from "./vault-client/observer.ts";
import { ListGate } from "./vault-client/http/list-gate.ts";
import { ResponseMemory } from "./vault-client/http/response-memory.ts";
import { valueMemory } from "./vault-client/vault-api.ts";
import { ValueCache } from "./vault-client/values/value-cache.ts";

export interface OperatorDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

/** Namespace of the Leases and the content key if neither a flag nor the credentials name one. */
const DEFAULT_NAMESPACE = "vaultsync-system";

/**
 * Runs the operator until `signal` is aborted and all running reconciles have ended.
 * @throws Error when the API server cannot be used at all, or a Lease was lost; the process must
 * exit then
 */
export async function runOperator(
  config: OperatorConfig,
  deps: OperatorDependencies,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger } = deps;
  const credentials = await loadCredentials({ kubeconfig: config.kubeconfig, clock });
  const namespace = config.namespace ?? credentials.namespace ?? DEFAULT_NAMESPACE;
  const { concurrency } = config;
  let ready = false;
  const { listen, namespacesFile } = config;
  using problems = new ApiProblems({
    clock,
    logger,
    host: credentials.server.host,
    remedies: apiRemedies(!isForCluster(config)),
  });
  const readiness = (): Readiness => ({
    ready,
    problem:
      problems.text ?? (ready ? undefined : "waiting for the initial lists of the API server"),
  });
  const served = { listen, metrics: deps.metrics, readiness };
  await using endpoints = await serveEndpoints(served).catch((error: unknown) => {
    throw listenFailure(error, listen, "--listen");
  });
  logger.info({ port: endpoints.port, namespace }, "serving /healthz, /readyz and /metrics");

  const client = {
    credentials,
    clock,
    fieldManager: FIELD_MANAGER,
    onRequest: apiServerMetrics(deps.metrics),
  };
  await using api = new KubeClient({ ...client, concurrency });
  await using leaseApi = new KubeClient({ ...client, concurrency: 1 });
  const policy = { allowHttp: config.allowHttp, allowedHosts: config.vaultHosts };
  const proxy = vaultProxyOf(config);
  const onReady = (): void => {
    ready = true;
    logger.info({ host: credentials.server.host }, "caches synced");
  };
  await runEngine(
    {
      ...deps,
      config,
      api,
      leaseApi,
      openTransport: (url, ca) => new UndiciTransport({ url, clock, ca, policy, proxy }),
      namespace,
      identity: `${hostname()}_${randomUUID()}`,
      host: hostname(),
      ...(namespacesFile !== undefined && {
        readNamespaces: () => readFile(namespacesFile, "utf8"),
      }),
      problems,
      onReady,
    },
    signal,
  );
}

/**
 * The operator's ports and settings. Everything that the operator does goes through them: tests can
 * simulate all of it.
 */
export interface EngineOptions extends OperatorDependencies {
  readonly config: OperatorConfig;
  readonly api: FencedKubeApi;
  /** A client with a separate connection: no other request delays the renewal of a Lease. */
  readonly leaseApi: KubeApi;
  /**
   * Opens the transport to the vault at `url`. `ca` is the PEM bundle to trust instead of the
   * public authorities.
   */
  readonly openTransport: (url: string, ca: string | undefined) => VaultTransport;
  /** Namespace of the Leases and the content key. */
  readonly namespace: string;
  /** Unique to this process; `host` is the name of its pod. */
  readonly identity: string;
  readonly host: string;
  /** Returns the content of `namespacesFile`; with that flag only. */
  readonly readNamespaces?: (() => Promise<string>) | undefined;
  /**
   * Receives the failures of all lists and watches and of the other requests of the start, for the
   * log.
   */
  readonly problems?: ApiProblems | undefined;
  /** Called when all caches have synced, except in namespaces that the API server denies. */
  readonly onReady: () => void;
}

/** Bytes of all lists that are read or parsed at a time. */
const LISTS_BYTES = 64 * 1024 * 1024;
/**
 * Time in milliseconds after which pending initial lists are logged: by then something is likely to
 * be missing.
 */
const SLOW_START_MS = 5_000;

/**
 * Watches the cluster and reconciles the shards of this replica until `signal` is aborted and all
 * running reconciles have ended.
 * @throws Error when a Lease was lost, or the list of namespaces is invalid at the start; the
 * process must exit then
 */
export async function runEngine(options: EngineOptions, signal: AbortSignal): Promise<void> {
  const { config, api, clock, random, logger, problems } = options;
  const read = options.readNamespaces;
  const namespaces =
    read === undefined ? (config.namespaces ?? [ALL_NAMESPACES]) : await readNamespaces(read);
  const watchSecrets = config.targetWatch === "on";
  const watchOptions = {
    api,
    isForCluster: isForCluster(config),
    watchSecrets,
    relistMs: config.resync,
    clock,
    random,
    logger,
  };
  const reflectors = createReflectors(watchOptions);
  const workloads = createWorkloadWatches(watchOptions);
  await using watches = namespaceWatches(reflectors, workloads, problems);
  const running = new Set<Controllers>();
  const openCircuitBreakers = new Set<string>();
  const metrics = operatorMetrics(options.metrics, () =>
    operatorSamples({ ...config, reflectors, watches, running, openCircuitBreakers }),
  );
  await using background = new Background();
  const freeze = new FreezeWatch({ ...watchOptions, namespace: options.namespace, problems });
  background.run((ended) => freeze.run(ended));
  watches.serve(namespaces);
  if (read !== undefined) {
    const follow = {
      read,
      initial: namespaces,
      onChange: watches.serve.bind(watches),
      clock,
      logger,
    };
    background.run((ended) => followNamespaces(follow, ended));
  }
  const listed = Promise.all([watches.ready, freeze.ready]);
  if (!(await waitForInitialLists(listed, watches, options, signal))) return;
  options.onReady();
  const limitsOf = (): QueueLimits => new QueueLimits(clock, config.concurrency);
  const engine = {
    ...options,
    limits: { sync: limitsOf(), connections: limitsOf() },
    pushBudget: new PushBudget(clock),
    blastLimits: new BlastLimits(),
    reflectors,
    freezes: freeze.watched,
    watches,
    workloads,
    running,
    metrics,
    connectionFactory: connectionFactory(options, (key) =>
      vaultObserver(metrics, key, openCircuitBreakers),
    ),
  };
  // Awaited here: leaving the block ends the watches.
  if (!config.leaderElect) return await runShard(engine, 0, undefined, signal);
  const { leaseApi, namespace, identity } = options;
  const work = (shard: number, fence: WriteFence, stop: AbortSignal): Promise<void> =>
    runShard(engine, shard, fence, stop);
  const leases = {
    api: leaseApi,
    namespace,
    identity,
    shards: config.shards,
    problems,
    clock,
    random,
    logger,
  };
  await runShards({ ...leases, work }, signal);
}

interface Engine extends Omit<EngineOptions, "metrics"> {
  readonly reflectors: Reflectors;
  readonly freezes: ControllersOptions["reflectors"]["freezes"];
  readonly watches: Pick<NamespaceWatches, "isComplete" | "isSettled">;
  readonly workloads: ControllersOptions["restarts"]["workloads"];
  readonly connectionFactory: ConnectionFactory;
  readonly metrics: OperatorMetrics;
  readonly limits: ControllersOptions["limits"];
  readonly pushBudget: PushBudget;
  readonly blastLimits: BlastLimits;
  /** The controllers of each shard that this replica works on. */
  readonly running: Set<Controllers>;
}

/**
 * Reconciles the connections of one shard and the resources that refer to them until the signal is
 * aborted.
 */
async function runShard(
  engine: Engine,
  shard: number,
  fence: WriteFence | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { config, clock, logger, host, metrics, running } = engine;
  const api = fence === undefined ? engine.api : engine.api.fenced(fence);
  try {
    await using background = new Background();
    const events = new ApiEventRecorder({
      api,
      clock,
      logger,
      controller: "vaultsync.dev/operator",
      instance: host,
    });
    background.run((ended) => events.run(ended));
    await using controllers = new Controllers({
      ...engine,
      api,
      events,
      reflectors: viewOfShard(
        { ...engine.reflectors, freezes: engine.freezes },
        shard,
        config.shards,
      ),
      restarts: {
        workloads: engine.workloads,
        isResponsible: (namespace) => shardOf(namespace, config.shards) === shard,
        windowMs: config.restartWindow,
        auto: config.autoRestart === "on",
        volumeSyncMs: config.volumeSync,
      },
      cluster: {
        ...engine.reflectors,
        isListed: () => engine.watches.isComplete,
        isListedOrDenied: () => engine.watches.isSettled,
      },
      fence,
      contentKey: await contentKey({ ...engine, api }, signal),
      tokenAudiences: config.tokenAudiences,
      allowedSecretTypes: config.allowedSecretTypes,
      resyncMs: config.resync,
      observer: syncObserver(metrics),
      signal,
    });
    using started = new DisposableStack();
    running.add(controllers);
    started.defer(() => running.delete(controllers));
    metrics.leader.set(1);
    started.use(controllers.subscribe());
    logger.info({ shard, count: config.concurrency }, "starting workers");
    await controllers.run(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    metrics.leader.set(running.size === 0 ? 0 : 1);
  }
}

/** Returns an observer that also reports changes of the circuit breaker to the connection. */
function withCircuitEvents(
  observer: VaultObserver,
  { onCircuitChange }: ConnectionCallbacks,
): VaultObserver {
  const circuitBreakerChanged = (open: boolean): void => {
    observer.circuitBreakerChanged(open);
    onCircuitChange(open);
  };
  return { ...observer, circuitBreakerChanged };
}

/** Returns the factory of vault clients. They follow the flags and share one cache. */
function connectionFactory(
  { config, openTransport, clock, random, logger }: EngineOptions,
  observerOf: (key: string) => VaultObserver,
): ConnectionFactory {
  const valueCache = new ValueCache(config.valueCacheBytes);
  const listGate = new ListGate(clock);
  const listMemory = new ResponseMemory(config.maxListBytes, LISTS_BYTES);
  const values = valueMemory();
  const logins = new LoginGate(clock);
  return ({ key, settings, credentials, loginPause, ca }, callbacks) =>
    connect({
      ...settings,
      reportAs: settings.reportUse ? config.clusterName : undefined,
      ...callbacks,
      credentials,
      logins: logins.account(settings.url, settings.email, tenantOf(key)),
      loginPause,
      transport: openTransport(settings.url, ca),
      valueCache,
      listGate,
      listMemory,
      valueMemory: values,
      tenant: tenantOf(key),
      observer: withCircuitEvents(observerOf(key), callbacks),
      clock,
      random,
      logger: logger.child({ connection: key, host: hostOf(settings.url) }),
    });
}

/** Returns the host of a URL that the API server may not have checked. */
const hostOf = (url: string): string => URL.parse(url)?.host ?? "";

/**
 * Waits until all namespaces are served that the API server does not deny, at least one, and the
 * freeze is known, and returns `true`; `false` if the signal was aborted first. Logs a slow start;
 * failures are logged by {@link ApiProblems}.
 */
async function waitForInitialLists(
  listed: Promise<unknown>,
  watches: NamespaceWatches,
  { clock, logger, problems }: EngineOptions,
  signal: AbortSignal,
): Promise<boolean> {
  using _ = clock.timer(SLOW_START_MS, () => {
    if (problems?.text !== undefined) return;
    logger.warn(
      { count: watches.listing },
      "still waiting for the initial lists of the API server",
    );
  });
  const aborted = new Promise<false>((resolve) => {
    if (signal.aborted) resolve(false);
    signal.addEventListener("abort", () => resolve(false), { once: true });
  });
  return Promise.race([listed.then(() => true), aborted]);
}
