import { createServer } from "node:http";
import { once } from "node:events";
import { AllowedHosts } from "../lib/allowed-hosts.ts";
import type { MetricsRegistry } from "./metrics-registry.ts";

export interface EndpointsOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Host names of requests (`AllowedHosts`); none by default. */
  readonly allowedHosts?: readonly string[];
  readonly metrics: MetricsRegistry;
  /** Returns what `/readyz` responds with. */
  readonly readiness: () => Readiness;
}

/**
 * The readiness of the process, 200 instead of 503, and its problem. A ready process may have one
 * too.
 */
export interface Readiness {
  readonly ready: boolean;
  readonly problem?: string | undefined;
}

/** The running endpoints; disposing them closes all connections. */
export interface Endpoints extends AsyncDisposable {
  readonly port: number;
}

/** Time limit of a request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * Serves `/healthz`, `/readyz` and `/metrics`. All are read-only and contain neither secret values
 * nor names of the vault's users.
 */
export async function serveEndpoints({
  listen,
  allowedHosts = [],
  metrics,
  readiness,
}: EndpointsOptions): Promise<Endpoints> {
  const routes = new Map<
    string,
    () => Promise<{ readonly status: number; readonly type: string; readonly body: string }>
  >([
    ["/healthz", async () => ({ status: 200, type: "text/plain", body: "ok\n" })],
    ["/readyz", async () => readyResponse(readiness())],
    [
      "/metrics",
      async () => ({ status: 200, type: metrics.contentType, body: await metrics.text() }),
    ],
  ]);
  const hosts = new AllowedHosts(listen, allowedHosts);
  const server = createServer((request, response) => {
    const rejected = rejections[hosts.check(request)];
    const path = URL.parse(request.url ?? "", "http://localhost")?.pathname ?? "";
    const respond = async () => rejected ?? routes.get(path)?.() ?? notFound;
    void respond()
      .catch(() => failed)
      .then(({ status, type, body }) =>
        response.writeHead(status, { "content-type": type }).end(body),
      );
  });
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.listen(listen.port, listen.host);
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : listen.port,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

const readyResponse = ({ ready, problem }: Readiness) =>
  ready
    ? {
        status: 200,
        type: "text/plain",
        body: problem === undefined ? "ok\n" : `ok, but: ${problem}\n`,
      }
    : { status: 503, type: "text/plain", body: `not ready: ${problem ?? "see the log"}\n` };
const rejections = {
  allowed: undefined,
  malformed: {
    status: 400,
    type: "text/plain",
    body: "invalid host header: send one host, with an optional port\n",
  },
  misdirected: {
    status: 421,
    type: "text/plain",
    body: "this host is not served: use the address of the listener\n",
  },
};
const failed = { status: 500, type: "text/plain", body: "the metrics cannot be collected\n" };
const notFound = { status: 404, type: "text/plain", body: "try /healthz, /readyz or /metrics\n" };
