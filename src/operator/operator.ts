import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Random } from "../lib/random.ts";
import { listenFailure } from "../lib/listen-failure.ts";
import { type Readiness, serveEndpoints } from "../telemetry/endpoints.ts";
import { apiServerMetrics } from "../telemetry/api-server-metrics.ts";
import type { MetricsRegistry } from "../telemetry/metrics-registry.ts";
import { apiRemedies } from "./api-remedies.ts";
import { FIELD_MANAGER } from "./api/names.ts";
import { isForCluster, type OperatorConfig } from "./config.ts";
import { runEngine } from "./engine.ts";
import { ApiProblems } from "./kube/api-problems.ts";
import { KubeClient } from "./kube/client/kube-client.ts";
import { loadCredentials } from "./kube/credentials/load-credentials.ts";
import { UndiciTransport } from "./vault-client/http/undici-transport.ts";

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
      openTransport: (url, ca) => new UndiciTransport({ url, clock, ca, policy }),
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
