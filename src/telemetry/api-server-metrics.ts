import type { MetricsRegistry } from "./metrics-registry.ts";

/**
 * Upper bounds in seconds, from a read out of the server's cache to a request that runs into its
 * deadline.
 */
const DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 30];

/**
 * @param status HTTP status of the response, `none` without a response. The duration of a watch is
 * that until it is open.
 */
type RequestObserver = (method: string, status: string, durationMs: number) => void;

/**
 * Registers the metrics of requests to the API server, and returns the observer that counts and
 * times them.
 */
export function apiServerMetrics(registry: MetricsRegistry): RequestObserver {
  const requests = registry.counter({
    name: "vaultsync_api_server_requests_total",
    help: "Total number of requests sent to the API server, per method (GET, POST, PUT, PATCH, DELETE, WATCH) and HTTP status (none without a response).",
    labels: ["method", "status"],
  });
  const duration = registry.histogram(
    {
      name: "vaultsync_api_server_request_duration_seconds",
      help: "Duration of requests to the API server in seconds, per method; of watches until they are open.",
      labels: ["method"],
    },
    DURATION_BUCKETS,
  );
  return (method, status, durationMs) => {
    requests.inc({ method, status });
    duration.observe({ method }, durationMs / 1000);
  };
}
