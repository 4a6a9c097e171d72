import { readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { operatorConfig } from "../../src/operator/config.ts";
import { runOperator } from "../../src/operator/operator.ts";
import { MetricsRegistry } from "../../src/telemetry/metrics-registry.ts";
import { type ApiProxy, startApiProxy } from "../faults/support/api-proxy.ts";
import { recordingLogger } from "../lab/assertions/recording-logger.ts";
import { certificate } from "../lab/certificates.ts";
import { sharedControlPlane } from "../lab/kube/control-plane.ts";

/**
 * The log and /readyz of an operator that cannot list anything. It runs in this process, against
 * the real API server.
 */
const plane = await sharedControlPlane();
let withoutCrds: ApiProxy;
let namespace: string;
beforeAll(async () => {
  namespace = await plane.createNamespace("stranger");
  withoutCrds = await startApiProxy();
  withoutCrds.proxy.inject(({ request, response, relay }) =>
    request.path.startsWith("/apis/vaultsync.dev/")
      ? response
          .writeHead(404, { "audit-id": "a", "content-type": "text/plain" })
          .end("404 page not found\n")
      : relay(),
  );
});
afterAll(async () => {
  await withoutCrds.proxy[Symbol.asyncDispose]();
  await plane.request("DELETE", `/api/v1/namespaces/${namespace}`);
});

async function withOtherToken(path: string): Promise<string> {
  const text = await readFile(path, "utf8");
  await writeFile(path, text.replace(/("?token"?: *)"?[\w.-]+"?/u, '$1"expired"'));
  return path;
}

/** Replaces the verb of the first request for a list. That verb depends on the API server. */
const withList = (text: string): string =>
  text.replace("cannot watch resource", "cannot list resource");

const host = new URL(plane.access.server).host;
const mistakes: Record<
  string,
  { readonly kubeconfig: () => Promise<string>; readonly says: () => string }
> = {
  "a token that is not valid": {
    kubeconfig: async () =>
      withOtherToken(await plane.kubeconfigFor({ serviceAccount: "default", namespace })),
    says: () =>
      `the API server ${host} rejects the credentials ("Unauthorized"): renew the token or certificate in the kubeconfig`,
  },
  "a ServiceAccount without permissions": {
    kubeconfig: () => plane.kubeconfigFor({ serviceAccount: "default", namespace }),
    says: () =>
      `the API server ${host} denies access to clustervaultconnections, clustervaultfiles, clustervaultsecrets and 7 more: ` +
      `clustervaultconnections.vaultsync.dev is forbidden: User "system:serviceaccount:${namespace}:default" cannot list resource ` +
      `"clustervaultconnections" in API group "vaultsync.dev" at the cluster scope. Apply deploy/chart/files/base/rbac.yaml, and run with its ServiceAccount`,
  },
  "a port at which nothing listens": {
    kubeconfig: () => plane.kubeconfigFor({ user: "admin" }, { server: "https://127.0.0.1:1" }),
    says: () =>
      "nothing listens at the API server's address 127.0.0.1:1 (ECONNREFUSED): check server in the kubeconfig",
  },
  "another certificate authority": {
    kubeconfig: () => plane.kubeconfigFor({ user: "admin" }, { ca: certificate("Other CA").cert }),
    says: () =>
      `the certificate of the API server ${host} is not trusted (SELF_SIGNED_CERT_IN_CHAIN): check certificate-authority in the kubeconfig`,
  },
  "an API server without the CRDs": {
    kubeconfig: () => plane.kubeconfigFor({ user: "admin" }, withoutCrds.api),
    says: () =>
      `the API server ${new URL(withoutCrds.api.server).host} does not serve clustervaultconnections, vaultconnections, vaultfiles and 2 more: ` +
      'install the CRDs with "kubectl apply -k crds"',
  },
};

test.concurrent.each(Object.entries(mistakes))(
  "%s is one line in the log, and what /readyz says",
  async (_, mistake) => {
    const { logger, lines } = recordingLogger();
    const stop = new AbortController();
    const config = operatorConfig({
      kubeconfig: await mistake.kubeconfig(),
      namespace,
      listen: { host: "127.0.0.1", port: 0 },
    });
    const deps = {
      clock: systemClock,
      random: Math.random,
      logger,
      metrics: new MetricsRegistry(),
    };
    const running = runOperator(config, deps, stop.signal);
    const problems = (): unknown[] =>
      lines
        .filter(({ level }) => level !== "info" && level !== "debug")
        .map(({ fields }) => withList(String(fields["reason"])));
    await expect.poll(problems, { timeout: 20_000, interval: 100 }).toEqual([mistake.says()]);
    const port = lines.find(({ message }) => message.startsWith("serving"))?.fields["port"];
    const response = await fetch(`http://127.0.0.1:${String(port)}/readyz`);
    expect(response.status).toBe(503);
    expect(withList(await response.text())).toEqual(`not ready: ${mistake.says()}\n`);
    stop.abort();
    await running;
    expect(problems()).toHaveLength(1);
  },
);
