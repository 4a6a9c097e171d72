import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import {
  json,
  raw,
  errorResponse,
  reset,
  type Script,
  type ScriptedServer,
  scriptedTransport,
} from "../../../../test/lab/vault/scripted-vault.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { operationPath } from "../../../protocol/operation-paths.ts";
import { CircuitBreaker } from "../http/circuit-breaker.ts";
import { AuthError } from "../vault-error.ts";
import { valueMemory, VaultApi } from "../vault-api.ts";
import { silentObserver } from "../observer.ts";
import { ListGate } from "../http/list-gate.ts";
import { RequestPace } from "../http/request-pace.ts";
import { unlimitedScope } from "../../../protocol/scope.ts";
import type { LoginPause } from "../connection.ts";
import { LoginGate } from "./login-gate.ts";
import { PasswordTokens } from "./password-tokens.ts";
import { RequestedScope } from "./requested-scope.ts";
import { TokenManager } from "./token-manager.ts";
import { TokenOperations } from "./token-operations.ts";

const signal = new AbortController().signal;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const token = (
  access_token: string,
  expires_in: unknown = 3_600,
  more: object = { refresh_token: `${access_token}-refresh` },
): Script => json({ access_token, expires_in, ...more });

interface World {
  readonly server: ScriptedServer;
  readonly clock: VirtualClock;
  readonly tokens: TokenManager;
  readonly stored: { password: string };
  readonly getToken: () => Promise<string>;
  /** Returns the number of logins and of refreshes so far. */
  readonly count: () => [number, number];
}

async function world(
  logins: Script[],
  refreshes: Script[] = [],
  chance = 0.5,
  pause?: LoginPause,
): Promise<World> {
  const clock = new VirtualClock();
  const { server, transport } = await scriptedTransport(clock);
  server
    .on(operationPath.generate_access_token, ...logins)
    .on(operationPath.refresh_token, ...refreshes);
  const random = (): number => chance;
  const breaker = new CircuitBreaker({ clock, untilProbe: () => 0, onChange: () => undefined });
  const api = new VaultApi({
    transport,
    breaker,
    pace: new RequestPace(1_000, clock),
    gate: new ListGate(clock),
    memory: valueMemory(),
    tenant: "shop/",
    clock,
    observer: silentObserver,
    tokens: () => tokens,
    email: "ann@example.com",
    timeoutMs: 10_000,
  });
  const operations = new TokenOperations({
    send: (request) => api.send(request),
    email: "ann@example.com",
    lifetimeMs: HOUR,
    timeoutMs: 10_000,
  });
  const scope = new RequestedScope(unlimitedScope, false, clock);
  const stored = { password: "canary" };
  const source = new PasswordTokens({
    operations,
    logins: new LoginGate(clock).account(server.url, "ann@example.com", ""),
    read: () =>
      Promise.resolve({ password: new Redacted(stored.password), version: stored.password }),
    scope,
    lifetimeMs: HOUR,
    pause,
    clock,
    random,
    logger: silentLogger,
  });
  const tokens = new TokenManager({ source, scope, onChange: () => undefined, clock, random });
  const getToken = async (): Promise<string> => (await tokens.getToken(signal)).access.reveal();
  const count = (): [number, number] => [
    server.to(operationPath.generate_access_token).length,
    server.to(operationPath.refresh_token).length,
  ];
  return { server, clock, tokens, stored, getToken, count };
}

test("concurrent callers share one login", async () => {
  const { getToken, count } = await world([token("T1")]);
  expect(await Promise.all(Array.from({ length: 20 }, getToken))).toEqual(
    Array.from({ length: 20 }, () => "T1"),
  );
  expect(count()).toEqual([1, 0]);
});

test.each([
  [0, 0.9],
  [0.5, 1],
  [0.999_999, 1.1],
])("a refresh is due at 2/3 of the lifetime ± 10 %% (chance %d)", async (chance, factor) => {
  const { getToken, clock, count } = await world([token("T1")], [token("T2")], chance);
  await getToken();
  await clock.advance((HOUR * 2 * factor) / 3 - 1_000);
  expect(await getToken()).toBe("T1");
  expect(count()).toEqual([1, 0]);
  await clock.advance(1_001);
  expect(await getToken()).toBe("T2");
  expect(count()).toEqual([1, 1]);
});

test("a long-lived token is refreshed after 45 days, before its refresh token expires", async () => {
  const { getToken, clock, count } = await world(
    [token("T1", 10 * 365 * 86_400)],
    [token("T2", 10 * 365 * 86_400)],
  );
  await getToken();
  await clock.advance(45 * DAY - 1);
  expect(await getToken()).toBe("T1");
  expect(count()).toEqual([1, 0]);
  await clock.advance(1);
  expect(await getToken()).toBe("T2");
  expect(count()).toEqual([1, 1]);
});

test.each<[unknown, number]>([
  [3_600, HOUR],
  ["7200", 2 * HOUR],
  [undefined, HOUR],
  ["soon", HOUR],
  [null, HOUR],
  [0, 60_000],
  [-5, 60_000],
  ["-5", 60_000],
  [2 ** 53, 36_500 * DAY],
])("expires_in %j is a lifetime of %d ms", async (expiresIn, lifetime) => {
  const { getToken, clock, tokens } = await world([token("T1", expiresIn)]);
  await getToken();
  expect(tokens.current).toMatchObject({
    refreshedAt: clock.now(),
    expiresAt: clock.now() + lifetime,
  });
});

test("a step of the wall clock does not refresh the token", async () => {
  const { getToken, clock, count } = await world([token("T1")], [token("T2")]);
  await getToken();
  clock.stepWall(5 * HOUR);
  await getToken();
  clock.stepWall(-10 * HOUR);
  await getToken();
  expect(count()).toEqual([1, 0]);
});

test("a refresh without a new refresh token keeps the previous one", async () => {
  const { getToken, clock, server } = await world(
    [token("T1")],
    [token("T2", 3_600, {}), token("T3")],
  );
  for (let round = 0; round < 3; round += 1) {
    await getToken();
    await clock.advance(50 * 60_000);
  }
  expect(server.to(operationPath.refresh_token).map(({ body }) => body)).toEqual([
    { refresh_token: "T1-refresh", used_access_token: "T1" },
    { refresh_token: "T1-refresh", used_access_token: "T2" },
  ]);
});

test.each<[string, Script]>([
  ["rejected", errorResponse(401, "invalid_refresh_token")],
  ["that returns the old token", token("T1")],
  ["that returns a page", raw("<html>")],
])("a refresh %s is followed by a login", async (_, script) => {
  const { getToken, clock, count } = await world([token("T1"), token("T9")], [script]);
  await getToken();
  await clock.advance(50 * 60_000);
  expect(await getToken()).toBe("T9");
  expect(count()).toEqual([2, 1]);
});

test("without a refresh token an expired token leads to another login", async () => {
  const { getToken, clock, count } = await world([token("T1", 3_600, {}), token("T2")]);
  await getToken();
  await clock.advance(50 * 60_000);
  expect(await getToken()).toBe("T2");
  expect(count()).toEqual([2, 0]);
});

test("a failed refresh keeps a valid token and is retried with backoff", async () => {
  const { getToken, clock, count } = await world([token("T1"), reset], [reset, reset, token("T2")]);
  await getToken();
  await clock.advance(50 * 60_000);
  expect(await getToken()).toBe("T1");
  expect(await getToken()).toBe("T1");
  expect(count()).toEqual([1, 1]);
  await clock.advance(750);
  expect(await getToken()).toBe("T1");
  expect(count()).toEqual([1, 2]);
  await clock.advance(1_500);
  expect(await getToken()).toBe("T2");
  expect(count()).toEqual([1, 3]);
});

test("a failed refresh of an expired token fails the request", async () => {
  const { getToken, clock } = await world([token("T1")], [raw("", 503)]);
  await getToken();
  await clock.advance(HOUR);
  expect(await failureOf(getToken())).toMatchObject({
    kind: "transient",
    operation: "refresh_token",
  });
});

test("a rejected password has no effect before the token expires", async () => {
  const { getToken, clock, count } = await world(
    [token("T1"), errorResponse(401, "invalid_credentials")],
    [errorResponse(401, "invalid_refresh_token")],
  );
  await getToken();
  await clock.advance(50 * 60_000);
  expect(await getToken()).toBe("T1");
  expect(count()).toEqual([2, 1]);
  await clock.advance(10 * 60_000);
  expect(await failureOf(getToken())).toMatchObject({ kind: "auth", code: "credentials" });
});

test("a rejected login is not repeated during the backoff and reports its end", async () => {
  const { getToken, clock, count } = await world([errorResponse(401, "invalid_credentials")]);
  expect(await failureOf(getToken())).toMatchObject({
    kind: "auth",
    code: "credentials",
    retryAfterMs: 60_000,
  });
  await clock.advance(20_000);
  expect(await failureOf(getToken())).toMatchObject({
    kind: "auth",
    code: "credentials",
    retryAfterMs: 40_000,
  });
  expect(count()).toEqual([1, 0]);
});

test("a rejection of the old credentials does not delay a login with new ones", async () => {
  let respond: (() => void) | undefined;
  const slow: Script = (response, request) =>
    (respond = () => errorResponse(401, "invalid_credentials")(response, request));
  const { getToken, tokens, stored, count } = await world([slow, token("T2")]);
  const failure = failureOf(getToken());
  await expect.poll(() => respond).toBeDefined();
  stored.password = "canary-2";
  tokens.credentialsChanged();
  respond?.();
  expect(await failure).toMatchObject({ kind: "auth" });
  expect(await getToken()).toBe("T2");
  expect(count()).toEqual([2, 0]);
});

test("a rejected fresh token counts as one rejected login for all callers", async () => {
  const { getToken, tokens, count } = await world([token("T1")]);
  await getToken();
  const current = tokens.current!;
  const rejection = new AuthError("expose", "token");
  expect(tokens.markRejected(current, rejection)).toMatchObject({ retryAfterMs: 60_000 });
  expect(tokens.markRejected(current, rejection)).toMatchObject({ retryAfterMs: 60_000 });
  expect(await failureOf(getToken())).toMatchObject({
    kind: "auth",
    code: "token",
    retryAfterMs: 60_000,
  });
  expect(count()).toEqual([1, 0]);
});

test("changed credentials end the wait after a failed refresh", async () => {
  const { getToken, tokens, clock, count } = await world([token("T1")], [reset, token("T2")]);
  await getToken();
  await clock.advance(50 * 60_000);
  expect(await getToken()).toBe("T1");
  expect(await getToken()).toBe("T1");
  expect(count()).toEqual([1, 1]);
  tokens.credentialsChanged();
  expect(await getToken()).toBe("T2");
  expect(count()).toEqual([1, 2]);
});

test.each([
  ["the same", "canary", 0],
  ["another", "canary-before", 1],
])(
  "a pause of an earlier process is continued with %s version of the Secret only",
  async (_, version, logins) => {
    const until = new VirtualClock().now() + 10 * 60_000;
    const { getToken, tokens, clock, count } = await world([token("T1")], [], 0.5, {
      until,
      credentials: version,
    });
    const outcome = await getToken().catch((error: unknown) =>
      error instanceof AuthError ? error.retryAfterMs : error,
    );
    expect(outcome).toBe(logins === 0 ? 600_000 : "T1");
    expect(count()[0]).toEqual(logins);
    expect(tokens.pause).toEqual(logins === 0 ? { until, credentials: version } : undefined);
    await clock.advance(600_000);
    expect(await getToken()).toBe("T1");
  },
);

test("a late 401 to an old token returns the token already refreshed", async () => {
  const { getToken, tokens, count } = await world([token("T1")], [token("T2")]);
  await getToken();
  const old = tokens.current!;
  expect((await tokens.refreshAfter401(old, signal)).access.reveal()).toBe("T2");
  expect((await tokens.refreshAfter401(old, signal)).access.reveal()).toBe("T2");
  expect(count()).toEqual([1, 1]);
});

test.each(["", "a b", "a\r\nx: y", "ä", 7, null])("rejects the getToken token %j", async (bad) => {
  const { getToken } = await world([json({ access_token: bad, expires_in: 60 })]);
  expect(await failureOf(getToken())).toMatchObject({
    kind: "unexpected-response",
    field: "access_token",
  });
});
