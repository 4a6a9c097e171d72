import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import { beforeAll, expect, test } from "vitest";
import { certificate, type Certificate } from "../lab/certificates.ts";
import { sharedControlPlane } from "../lab/kube/control-plane.ts";
import { Lanes, type Lane } from "./support/lanes.ts";
import { FaultProxy } from "../lab/real/fault-proxy.ts";

/**
 * The vault's certificate stops being trustworthy while the operator runs: it sends nothing, and
 * reports the cause.
 */
const HOSTS = { hosts: ["127.0.0.1"] };
const DAY_MS = 86_400_000;
const authority = certificate("Faults CA");
const pair = ({ cert, keyPem }: Certificate) => ({ cert, key: keyPem });
const trusted = pair(certificate("vault", { issuer: authority, ...HOSTS }));

let authorityFile: string;
beforeAll(async () => {
  authorityFile = join((await sharedControlPlane()).directory, `faults-ca-${process.pid}.pem`);
  await writeFile(authorityFile, authority.cert);
});
const shared = Lanes.use(() => ({
  accounts: 20,
  process: { env: { NODE_EXTRA_CA_CERTS: authorityFile } },
}));

/**
 * Stores the next version while the fault hides it from the operator, and checks that it is synced
 * once the fault has ended.
 */
async function expectRecovery(lane: Lane): Promise<void> {
  expect(lane.written).toEqual([lane.values[0]]);
  const value = await lane.protect();
  lane.proxy.useCertificate(trusted);
  await lane.proxy.heal();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);
}

const expired = {
  notBefore: new Date(Date.now() - 2 * DAY_MS),
  notAfter: new Date(Date.now() - DAY_MS),
};
const future = {
  notBefore: new Date(Date.now() + DAY_MS),
  notAfter: new Date(Date.now() + 2 * DAY_MS),
};
const issuer = authority;

test.concurrent.each([
  {
    what: "an expired certificate",
    served: pair(certificate("expired", { issuer, ...HOSTS, ...expired })),
    cause: /CERT_HAS_EXPIRED/,
  },
  {
    what: "a certificate that is not valid yet",
    served: pair(certificate("future", { issuer, ...HOSTS, ...future })),
    cause: /CERT_NOT_YET_VALID/,
  },
  {
    what: "a certificate of another host",
    served: pair(certificate("other", { issuer, hosts: ["vault.example.com"] })),
    cause: /ALTNAME_INVALID/,
  },
  {
    what: "a certificate of an unknown authority",
    served: pair(certificate("unknown", { issuer: certificate("Unknown CA"), ...HOSTS })),
    cause: /UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|SELF_SIGNED/,
  },
  {
    what: "a self-signed certificate",
    served: pair(certificate("self", HOSTS)),
    cause: /DEPTH_ZERO_SELF_SIGNED_CERT/,
  },
])("V9: $what is refused, and the condition names the cause", async ({ what, served, cause }) => {
  await using lane = await shared.world.lane(
    `v9-${what.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`,
    { tls: trusted },
  );
  const sent = lane.proxy.requests.length;
  lane.proxy.useCertificate(served);
  await lane.connectionReports(undefined, cause);
  expect(lane.proxy.requests.length).toBe(sent);
  await expectRecovery(lane);
});

test.concurrent("V9: a certificate that expires while the operator runs is refused", async () => {
  // Long enough for a loaded machine to bring the lane in sync before.
  const expiring = { ...HOSTS, notAfter: new Date(Date.now() + 60_000) };
  await using lane = await shared.world.lane("v9-expiring", {
    tls: pair(certificate("expiring", { issuer, ...expiring })),
  });
  await new Promise((resolve) =>
    setTimeout(resolve, expiring.notAfter.getTime() - Date.now() + 1_000),
  );
  const sent = lane.proxy.requests.length;
  lane.proxy.reset();
  await lane.connectionReports(undefined, /CERT_HAS_EXPIRED/);
  expect(lane.proxy.requests.length).toBe(sent);
  await expectRecovery(lane);
});

test.concurrent("V9: a server that renegotiates TLS changes nothing", async () => {
  await using lane = await shared.world.lane("v9-renegotiation", { tls: trusted });
  lane.proxy.useCertificate({ ...trusted, maxVersion: "TLSv1.2" });
  lane.proxy.inject(({ socket, relay }) => {
    if (socket instanceof TLSSocket)
      socket.renegotiate({ rejectUnauthorized: false }, () => undefined);
    return relay();
  });
  await expectRecovery(lane);
});

/**
 * The response of a server that has chosen an old version: a ServerHello with a cipher of that
 * time.
 */
function serverHello(minor: number): Buffer {
  const body = Buffer.from([3, minor, ...randomBytes(32), 0, 0xc0, 0x09, 0]);
  const handshake = Buffer.from([2, 0, 0, body.length, ...body]);
  return Buffer.from([22, 3, minor, 0, handshake.length, ...handshake]);
}

const FATAL = 2;
const PROTOCOL_VERSION = 70;

test.concurrent.each([
  ["TLS 1.0", 1],
  ["TLS 1.1", 2],
])("V9: a server that chooses %s is refused with the alert of RFC 8446", async (version, minor) => {
  await using lane = await shared.world.lane(`v9-${version.toLowerCase().replace(" ", "-")}`, {
    tls: trusted,
  });
  const sent = lane.proxy.requests.length;
  await lane.proxy.refuse();
  const alerts: number[][] = [];
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write(serverHello(minor));
      socket.on("data", (bytes: Buffer) => void alerts.push([...bytes.subarray(5)]));
    });
  });
  await once(server.listen(lane.proxy.port, "127.0.0.1"), "listening");
  await lane.connectionReports(undefined, /ERR_SSL|EPROTO|PROTOCOL/);
  expect(alerts).toContainEqual([FATAL, PROTOCOL_VERSION]);
  server.close();
  expect(lane.proxy.requests.length).toBe(sent);
  await expectRecovery(lane);
});

test.concurrent("V9: a server that stops speaking TLS is refused", async () => {
  await using lane = await shared.world.lane("v9-plain", { tls: trusted });
  lane.proxy.injectOnConnect((socket) =>
    socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
  );
  await lane.connectionReports(undefined, /./);
  await expectRecovery(lane);
});

test.concurrent("V8: a redirect to http on the same host is not followed", async () => {
  await using trap = await FaultProxy.start({ url: shared.world.vault.url });
  await using lane = await shared.world.lane("v8-downgrade", { tls: trusted });
  lane.proxy.inject(({ request, response }) =>
    response.writeHead(307, { location: `${trap.url}${request.path}` }).end(),
  );
  await lane.connectionReports(undefined, /redirect/);
  await expectRecovery(lane);
  expect(trap.requests).toEqual([]);
});
