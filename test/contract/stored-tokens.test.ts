import { expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { InMemoryKubeApi } from "../lab/kube/in-memory-kube-api.ts";
import { listSoon } from "../lab/vault/scripted-vault.ts";
import { observeConnection, untilHealthy } from "../lab/vault/vault-connection.ts";
import { SecretTokenStore } from "../../src/operator/controllers/connection/credential-source.ts";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { unlimitedScope, formatScope } from "../../src/protocol/scope.ts";
import { startVaultServer } from "../../src/vault/server/vault-server.ts";

const HOUR = 3_600_000;
const email = "ann@example.com";
const secret = { namespace: "shop", name: "pair" };

/**
 * The reference server, and the Secret `shop/pair` with a pair of tokens of one hour that a user
 * stored.
 */
async function world() {
  const clock = new VirtualClock();
  const api = new InMemoryKubeApi();
  const listen = { host: "127.0.0.1", port: 0 };
  const server = await startVaultServer({
    listen,
    data: ":memory:",
    dev: { users: [email] },
    clock,
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  /** Logs in as a user and stores the pair. */
  const storePair = async (): Promise<void> => {
    const password = server.users[0]?.password.reveal();
    const body = JSON.stringify({
      email,
      password,
      scope: formatScope(unlimitedScope),
      expiration_hours: 1,
    });
    const headers = { "content-type": "application/json" };
    const response = await fetch(server.url + operationPath.generate_access_token, {
      method: "POST",
      headers,
      body,
    });
    const { access_token, refresh_token } = (await response.json()) as Record<string, string>;
    const data = { access_token: btoa(access_token!), refresh_token: btoa(refresh_token!) };
    const type = "vaultsync.dev/credentials";
    api.put("secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { ...secret, uid: "u" },
      type,
      data,
    });
  };
  await storePair();
  const stored = (): unknown => api.objects.get("secrets/shop/pair")?.data;
  const connect = () => {
    const credentials = {
      kind: "tokens",
      store: new SecretTokenStore(api, { ...secret, url: server.url }),
    } as const;
    return untilHealthy(
      observeConnection({ url: server.url, email, credentials, clock, tokenLifetimeMs: HOUR }),
    );
  };
  return { clock, stored, connect };
}

test("a stored pair is used without a login, and its successor is stored and used", async () => {
  const { clock, stored, connect } = await world();
  const observed = await connect();
  const before = stored();
  await clock.advance((HOUR * 2) / 3);
  await listSoon(observed);
  await expect.poll(() => observed.requests).toContain("refresh_token ok");
  expect(stored()).not.toEqual(before);
  expect(stored()).toMatchObject({
    refresh_token: (before as { refresh_token: string }).refresh_token,
  });
  await listSoon(observed);
  expect(observed.connection.health.state).toBe("healthy");
  expect(observed.requests.filter((request) => request.startsWith("generate"))).toEqual([]);
  // Another process continues with the stored pair.
  await expect(connect()).resolves.toMatchObject({ connection: { health: { state: "healthy" } } });
});

test("an expired pair is refreshed after the first 401", async () => {
  const { clock, connect } = await world();
  await clock.advance(HOUR + 1);
  const observed = await connect();
  expect(observed.requests.filter((request) => !request.startsWith("list_no_dup ok"))).toEqual([
    "list_no_dup auth",
    "refresh_token ok",
  ]);
});
