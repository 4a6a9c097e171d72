import { accessTo } from "../../../../test/lab/kube/connected-client.ts";
import { createServer, type Server } from "node:https";
import type { TLSSocket } from "node:tls";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { certificate, type Certificate } from "../../../../test/lab/certificates.ts";
import { json, LoopbackServer } from "../../../../test/lab/loopback-server.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { KubeClient } from "./kube-client.ts";
import { KubeTransport } from "./kube-transport.ts";
import { Credentials, type AccessSource } from "../credentials/credentials.ts";
import { KubeError } from "../kube-error.ts";
import { NAMESPACES } from "../resource.ts";

const forever = new AbortController().signal;
const ref = { name: "a" };

interface Scene {
  readonly server: Server;
  readonly client: KubeClient;
  readonly clock: VirtualClock;
  /** Number of connections that were opened. */
  readonly connections: { count: number };
}

let authorities = 0;

function authority(): Certificate {
  authorities += 1;
  return certificate(`authority ${authorities}`);
}

function serverOptions(issuer: Certificate, host = "127.0.0.1"): { cert: string; key: string } {
  const { cert, keyPem } = certificate("server", { issuer, hosts: [host] });
  return { cert, key: keyPem };
}

async function start(
  tls: { cert: string; key: string },
  ca: (fresh: boolean) => Certificate,
): Promise<Scene> {
  const connections = { count: 0 };
  const server = createServer(tls, (_, response) =>
    response.end(JSON.stringify({ metadata: ref })),
  );
  server
    .on("secureConnection", () => (connections.count += 1))
    .on("tlsClientError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening");
  const source: AccessSource = {
    server: new URL(`https://127.0.0.1:${address.port}`),
    namespace: undefined,
    load: async (fresh) => ({
      headers: new Redacted({}),
      tls: new Redacted({ ca: ca(fresh).cert }),
    }),
  };
  const clock = new VirtualClock();
  const client = new KubeClient({
    credentials: new Credentials(source, clock),
    clock,
    fieldManager: "vaultsync",
  });
  onTestFinished(async () => {
    await client[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  return { server, client, clock, connections };
}

async function reasonOf(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.catch((caught: unknown) => caught);
  if (!(error instanceof KubeError)) throw new Error("no KubeError");
  expect(error.kind).toBe("Unavailable");
  return error.reason;
}

test("a server of the configured CA is trusted, and its connections are reused", async () => {
  const ca = authority();
  const { client, connections } = await start(serverOptions(ca), () => ca);
  for (let n = 0; n < 10; n += 1)
    expect((await client.get(NAMESPACES, ref, forever)).metadata).toEqual(ref);
  // A second connection is opened when a request starts before the end of the previous response is
  // noticed.
  expect(connections.count).toBeLessThanOrEqual(2);
});

test("every new connection verifies the certificate: no TLS session is resumed", async () => {
  const ca = authority();
  const { server, client } = await start(serverOptions(ca), () => ca);
  const sockets: TLSSocket[] = [];
  server.on("secureConnection", (socket) => sockets.push(socket));
  const simultaneous = (): Promise<unknown> =>
    Promise.all([1, 2].map(() => client.get(NAMESPACES, ref, forever)));
  await simultaneous();
  // One connection stays open: undici forgets sessions with the last connection.
  sockets[0]?.destroy();
  await expect.poll(() => simultaneous().then(() => sockets.length)).toBeGreaterThan(2);
  expect(sockets.map((socket) => socket.isSessionReused())).not.toContain(true);
});

test.each<[string, () => Promise<Scene>, string]>([
  [
    "of another CA",
    () => start(serverOptions(authority()), authority),
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  ],
  [
    "for another host",
    () => {
      const ca = authority();
      return start(serverOptions(ca, "10.9.8.7"), () => ca);
    },
    "ERR_TLS_CERT_ALTNAME_INVALID",
  ],
])("a certificate %s is rejected on every request", async (_, begin, reason) => {
  const { client } = await begin();
  for (let n = 0; n < 2; n += 1)
    expect(await reasonOf(client.get(NAMESPACES, ref, forever))).toBe(reason);
});

test("a rotated CA is trusted after its file changes, without a restart", async () => {
  const [old, next] = [authority(), authority()];
  let file = old;
  const { client, clock, connections } = await start(serverOptions(next), () => file);
  await reasonOf(client.get(NAMESPACES, ref, forever));
  file = next;
  await clock.advance(10_000);
  expect((await client.get(NAMESPACES, ref, forever)).metadata).toEqual(ref);
  expect(connections.count).toBe(1);
});

test("after a rejected certificate the CA is read again before its cache expires", async () => {
  const [old, next] = [authority(), authority()];
  const { server, client } = await start(serverOptions(old), (fresh) => (fresh ? next : old));
  await client.get(NAMESPACES, ref, forever);
  server.setSecureContext(serverOptions(next));
  server.closeAllConnections();
  await expect(client.get(NAMESPACES, ref, forever)).rejects.toThrow(KubeError);
  await expect
    .poll(() => client.get(NAMESPACES, ref, forever).catch(() => undefined))
    .toBeDefined();
});

test("after a 401 the request is retried, also when there is one connection only", async () => {
  let responses = 0;
  const long = "x".repeat(1024 * 1024);
  await using server = await LoopbackServer.start((_, response) =>
    (responses += 1) === 1 ? json(response, 401, { long }) : json(response, 200, {}),
  );
  await using transport = new KubeTransport(
    new Credentials(accessTo(server), new VirtualClock()),
    1,
  );
  const request = {
    method: "GET",
    path: "/",
    operation: "get",
    headers: {},
    signal: forever,
  } as const;
  const response = await transport.send(request);
  expect(response.statusCode).toBe(200);
  expect(server.requests.length).toBe(2);
});
