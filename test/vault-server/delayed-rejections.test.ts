import { once } from "node:events";
import { connect } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { certificate } from "../lab/certificates.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, VaultClient, type VaultResponse } from "../lab/vault/vault-client.ts";

/** Asks the server to keep the connection open. The server does not do that for every request. */
const open = { connection: "keep-alive" };
const limits = {
  rejectionsPerSecond: 0.001,
  rejectionBurst: 3,
  delayedRejectionsPerParty: 2,
  rejectionDelayMs: 1_000,
};

/** Records the order in which responses arrive. */
function arrivals() {
  const arrived: string[] = [];
  const watch = (name: string, response: Promise<VaultResponse>) =>
    response.then((received) => {
      arrived.push(`${name} ${received.outcome()} ${received.headers.connection ?? ""}`.trim());
      return received;
    });
  return { arrived, watch };
}

test("rejections of a network beyond the burst are delayed, and valid credentials pass", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock, limits });
  const caller = await vault.client("ann@example.com");
  const { arrived, watch } = arrivals();
  const body = { email: caller.email };
  for (let sent = 0; sent < 3; sent += 1)
    await watch("stranger", vault.post(operationPath.list_no_dup, body));
  const idle = clock.pending;
  const delayed = [1, 2].map(() =>
    watch("delayed", vault.post(operationPath.refresh_token, {}, open)),
  );
  await expect.poll(() => clock.pending).toBeGreaterThanOrEqual(idle + 2);
  await watch("caller", caller.call("list_no_dup", {}, open));
  await watch("login", vault.logIn(caller.email));
  await watch("beyond", vault.post(operationPath.list_no_dup, body, open));
  expect(arrived.slice(3)).toEqual([
    "caller 200 keep-alive",
    "login 200 close",
    "beyond 401 invalid_token close",
  ]);
  await clock.advance(1_000);
  await Promise.all(delayed);
  expect(arrived.slice(6)).toEqual(Array(2).fill("delayed 400 invalid_request keep-alive"));
});

test("strangers in a network that keeps sending rejected requests are rejected by their headers", async () => {
  await using vault = await TestVault.start({ limits: { ...limits, rejectionDelayMs: 0 } });
  const send = () =>
    vault.post(operationPath.protect, { email: 3 }).then((response) => response.outcome());
  expect(await Promise.all([send(), send(), send()])).toEqual(Array(3).fill("400 invalid_request"));
  expect(await send()).toBe("401 invalid_token");
  const caller = await vault.client("ann@example.com");
  expect((await caller.call("protect", { key_name: 3 })).outcome()).toBe("400 invalid_request");
});

test("requests of an account beyond its rate are delayed, and those of others are not", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({
    clock,
    limits: { ...limits, requestsPerSecond: 0.001, requestBurst: 5 },
  });
  const [ann, bob] = [await vault.client("ann@example.com"), await vault.client("bob@example.com")];
  const { arrived, watch } = arrivals();
  for (let sent = 0; sent < 8; sent += 1) await watch("ann", ann.call("list_no_dup"));
  expect(arrived.filter((each) => each.includes("429")).length).toBe(3);
  const idle = clock.pending;
  const delayed = watch("delayed", ann.call("list_no_dup"));
  await expect.poll(() => clock.pending).toBeGreaterThan(idle);
  await watch("bob", bob.call("list_no_dup"));
  await clock.advance(1_000);
  await delayed;
  expect(arrived.slice(8)).toEqual(["bob 200 close", "delayed 429 rate_limited close"]);
});

/** Sends a request on a connection and returns the beginning of its response. */
const send = async (
  socket: TLSSocket,
  path: string,
  body: object,
  authorization: string,
): Promise<string> => {
  const text = JSON.stringify(body);
  const head = [
    "host: localhost",
    "content-type: application/json",
    `content-length: ${text.length}`,
  ];
  socket.write(
    `POST ${path} HTTP/1.1\r\n${head.join("\r\n")}\r\nauthorization: ${authorization}\r\n\r\n${text}`,
  );
  return String(await once(socket, "data"));
};

test("with TLS, a connection with valid credentials outlives those of strangers in its network", async () => {
  const { cert, keyPem: key } = certificate("vault", { hosts: ["127.0.0.1"] });
  const few = { rejectionDelayMs: 0, unauthenticatedConnections: 3 };
  await using vault = await TestVault.start({ limits: { ...limits, ...few }, tls: { cert, key } });
  const secured = async (): Promise<TLSSocket> => {
    const socket = connectTls({
      port: Number(new URL(vault.url).port),
      host: "127.0.0.1",
      ca: cert,
    });
    socket.on("error", () => undefined);
    await once(socket, "secureConnect");
    return socket;
  };
  const email = "ann@example.com";
  const login = {
    email,
    password: vault.passwords.get(email),
    scope: scopeString(),
    expiration_hours: 1,
  };
  const owner = await secured();
  const issued = await send(owner, operationPath.generate_access_token, login, "");
  const [, token = ""] = /"access_token":"([^"]+)"/u.exec(issued) ?? [];
  expect(await send(owner, operationPath.list_file, { email }, token)).toContain("HTTP/1.1 200");
  for (let sent = 0; sent < 4; sent += 1) {
    const stranger = await secured();
    expect(await send(stranger, operationPath.list_file, { email }, "wrong")).toContain(
      "HTTP/1.1 401",
    );
    await new Promise((resolve) => stranger.once("close", resolve).destroy());
  }
  const idle = [await secured(), await secured(), await secured(), await secured()];
  await expect.poll(() => [owner, ...idle].map(({ closed }) => closed)).toContain(true);
  const isClosed = owner.closed;
  for (const socket of [owner, ...idle]) socket.destroy();
  expect(isClosed).toBe(false);
});

test("a network whose rejections are delayed keeps few connections without valid credentials", async () => {
  await using vault = await TestVault.start({
    limits: { ...limits, rejectionDelayMs: 0, unauthenticatedConnections: 3 },
  });
  const { token, email } = await vault.client("ann@example.com");
  using caller = new VaultClient(vault.url, email, { token, keepAlive: true });
  const list = async () => (await caller.call("list_no_dup")).status;
  expect(await list()).toBe(200);
  const idle = async () => {
    const socket = connect(Number(new URL(vault.url).port), "127.0.0.1").on(
      "error",
      () => undefined,
    );
    await once(socket, "connect");
    return socket;
  };
  const first = [await idle(), await idle(), await idle(), await idle()];
  const closed = first.map(
    (socket) => new Promise<void>((resolve) => socket.resume().once("close", () => resolve())),
  );
  for (let sent = 0; sent < 4; sent += 1) await vault.post(operationPath.list_no_dup, { email });
  const later = [await idle(), await idle(), await idle()];
  await Promise.all(closed);
  expect(later.map((socket) => socket.destroyed)).toEqual([false, false, false]);
  expect(await list()).toBe(200);
  for (const socket of later) socket.destroy();
});
