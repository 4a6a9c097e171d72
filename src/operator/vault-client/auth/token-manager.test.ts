import { expect, onTestFinished, test } from "vitest";
import { failureOf } from "../../../../test/support/assertions/failure-of.ts";
import { json, raw, refuse, reset, ScriptedServer, type Script } from "../../../../test/support/vault/scripted-server.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { operationPath } from "../../../protocol/operation-paths.ts";
import { CircuitBreaker } from "../http/circuit-breaker.ts";
import { AuthError } from "../vault-error.ts";
import { VaultHttp } from "../http/vault-http.ts";
import { silentObserver } from "../observer.ts";
import { RateLimiter } from "../http/rate-limiter.ts";
import { TokenManager } from "./token-manager.ts";
import { TokenOperations } from "./token-operations.ts";
import { VaultTransport } from "../http/vault-transport.ts";

const signal = new AbortController().signal;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const answer = (
  access_token: string,
  expires_in: unknown = 3_600,
  more: object = { refresh_token: `${access_token}-refresh` },
): Script => json({ access_token, expires_in, ...more });

interface World {
  readonly server: ScriptedServer;
  readonly clock: VirtualClock;
  readonly tokens: TokenManager;
  readonly access: () => Promise<string>;
  /** Log-ins and refreshes so far. */
  readonly count: () => [number, number];
}

async function world(logIns: Script[], refreshes: Script[] = [], chance = 0.5): Promise<World> {
  const server = await ScriptedServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.on(operationPath.generate_access_token, ...logIns).on(operationPath.refresh_token, ...refreshes);
  const clock = new VirtualClock();
  const random = (): number => chance;
  const transport = new VaultTransport({
    url: server.url,
    clock,
    ca: undefined,
    policy: { allowHttp: true, allowedHosts: undefined },
  });
  onTestFinished(() => transport[Symbol.asyncDispose]());
  const breaker = new CircuitBreaker(clock, random, () => undefined);
  const http = new VaultHttp({ transport, breaker, limiter: new RateLimiter(1_000, clock), clock, observer: silentObserver });
  const operations = new TokenOperations({
    http,
    email: "ann@example.com",
    scope: "asked",
    lifetimeMs: HOUR,
    timeoutMs: 10_000,
  });
  const credentials = { kind: "password", password: () => Promise.resolve(new Redacted("canary")) } as const;
  const tokens = new TokenManager({
    operations,
    credentials,
    scope: "asked",
    lifetimeMs: HOUR,
    clock,
    random,
    logger: silentLogger,
  });
  const access = async (): Promise<string> => (await tokens.getToken(signal)).access.reveal();
  const count = (): [number, number] => [
    server.to(operationPath.generate_access_token).length,
    server.to(operationPath.refresh_token).length,
  ];
  return { server, clock, tokens, access, count };
}

test("callers of one moment share one log-in", async () => {
  const { access, count } = await world([answer("T1")]);
  expect(await Promise.all(Array.from({ length: 20 }, access))).toEqual(Array.from({ length: 20 }, () => "T1"));
  expect(count()).toEqual([1, 0]);
});

test.each([
  [0, 0.9],
  [0.5, 1],
  [0.999_999, 1.1],
])("a refresh is due at 2/3 of the lifetime ± 10 %% (chance %d)", async (chance, factor) => {
  const { access, clock, count } = await world([answer("T1")], [answer("T2")], chance);
  await access();
  await clock.advance((HOUR * 2 * factor) / 3 - 1_000);
  expect([await access(), count()]).toEqual(["T1", [1, 0]]);
  await clock.advance(1_001);
  expect([await access(), count()]).toEqual(["T2", [1, 1]]);
});

test("a token for years is refreshed after 45 days, before its refresh token lapses", async () => {
  const { access, clock, count } = await world([answer("T1", 10 * 365 * 86_400)], [answer("T2", 10 * 365 * 86_400)]);
  await access();
  await clock.advance(45 * DAY - 1);
  expect([await access(), count()]).toEqual(["T1", [1, 0]]);
  await clock.advance(1);
  expect([await access(), count()]).toEqual(["T2", [1, 1]]);
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
  const { access, clock, tokens } = await world([answer("T1", expiresIn)]);
  await access();
  expect(tokens.current).toMatchObject({ refreshedAt: clock.now(), expiresAt: clock.now() + lifetime, scope: "asked" });
});

test("a step of the wall clock changes nothing", async () => {
  const { access, clock, count } = await world([answer("T1")], [answer("T2")]);
  await access();
  clock.stepWall(5 * HOUR);
  await access();
  clock.stepWall(-10 * HOUR);
  await access();
  expect(count()).toEqual([1, 0]);
});

test("a refresh that answers no new refresh token keeps the one it was done with", async () => {
  const { access, clock, server } = await world([answer("T1")], [answer("T2", 3_600, {}), answer("T3")]);
  for (let round = 0; round < 3; round += 1) {
    await access();
    await clock.advance(50 * 60_000);
  }
  expect(server.to(operationPath.refresh_token).map(({ body }) => body)).toEqual([
    { refresh_token: "T1-refresh", used_access_token: "T1" },
    { refresh_token: "T1-refresh", used_access_token: "T2" },
  ]);
});

test.each<[string, Script]>([
  ["refused", refuse(401, "invalid_refresh_token")],
  ["answered with the old token", answer("T1")],
  ["answered with a page", raw("<html>")],
])("a refresh %s is followed by a log-in", async (_, script) => {
  const { access, clock, count } = await world([answer("T1"), answer("T9")], [script]);
  await access();
  await clock.advance(50 * 60_000);
  expect([await access(), count()]).toEqual(["T9", [2, 1]]);
});

test("a vault without refresh tokens is logged in to again", async () => {
  const { access, clock, count } = await world([answer("T1", 3_600, {}), answer("T2")]);
  await access();
  await clock.advance(50 * 60_000);
  expect([await access(), count()]).toEqual(["T2", [2, 0]]);
});

test("a refresh that fails harms nobody while the token lives, and is tried again after a while", async () => {
  const { access, clock, count } = await world([answer("T1"), reset], [reset, reset, answer("T2")]);
  await access();
  await clock.advance(50 * 60_000);
  expect([await access(), await access(), count()]).toEqual(["T1", "T1", [1, 1]]);
  await clock.advance(750);
  expect([await access(), count()]).toEqual(["T1", [1, 2]]);
  await clock.advance(1_500);
  expect([await access(), count()]).toEqual(["T2", [1, 3]]);
});

test("a refresh that fails after the token's end is the caller's failure", async () => {
  const { access, clock } = await world([answer("T1")], [raw("", 503)]);
  await access();
  await clock.advance(HOUR);
  expect(await failureOf(access())).toMatchObject({ kind: "transient", operation: "refresh_token" });
});

test("a password that no longer works is not felt before the token's end", async () => {
  const { access, clock, count } = await world(
    [answer("T1"), refuse(401, "invalid_credentials")],
    [refuse(401, "invalid_refresh_token")],
  );
  await access();
  await clock.advance(50 * 60_000);
  expect([await access(), count()]).toEqual(["T1", [2, 1]]);
  await clock.advance(10 * 60_000);
  expect(await failureOf(access())).toMatchObject({ kind: "auth", code: "credentials" });
});

test("a refused log-in is not repeated before its time, and says when that is", async () => {
  const { access, clock, count } = await world([refuse(401, "invalid_credentials")]);
  expect(await failureOf(access())).toMatchObject({ kind: "auth", code: "credentials", retryAfterMs: 60_000 });
  await clock.advance(20_000);
  expect(await failureOf(access())).toMatchObject({ kind: "auth", code: "credentials", retryAfterMs: 40_000 });
  expect(count()).toEqual([1, 0]);
});

test("a refusal of the old credentials is not held against the new ones", async () => {
  let answerLater: (() => void) | undefined;
  const slow: Script = (response, call) => (answerLater = () => refuse(401, "invalid_credentials")(response, call));
  const { access, tokens, count } = await world([slow, answer("T2")]);
  const failure = failureOf(access());
  await expect.poll(() => answerLater).toBeDefined();
  tokens.credentialsChanged();
  answerLater?.();
  expect(await failure).toMatchObject({ kind: "auth" });
  expect([await access(), count()]).toEqual(["T2", [2, 0]]);
});

test("a fresh token that the vault refuses counts as one refused log-in, whoever notices", async () => {
  const { access, tokens, count } = await world([answer("T1")]);
  await access();
  const token = tokens.current!;
  const refusal = new AuthError("expose", "token");
  expect(tokens.markRejected(token, refusal)).toMatchObject({ retryAfterMs: 60_000 });
  expect(tokens.markRejected(token, refusal)).toMatchObject({ retryAfterMs: 60_000 });
  expect(await failureOf(access())).toMatchObject({ kind: "auth", code: "token", retryAfterMs: 60_000 });
  expect(count()).toEqual([1, 0]);
});

test("who was refused late gets the token that is there already", async () => {
  const { access, tokens, count } = await world([answer("T1")], [answer("T2")]);
  await access();
  const old = tokens.current!;
  expect((await tokens.refreshAfter401(old, signal)).access.reveal()).toBe("T2");
  expect((await tokens.refreshAfter401(old, signal)).access.reveal()).toBe("T2");
  expect(count()).toEqual([1, 1]);
});

test.each(["", "a b", "a\r\nx: y", "ä", 7, null])("an access token %j is none", async (bad) => {
  const { access } = await world([json({ access_token: bad, expires_in: 60 })]);
  expect(await failureOf(access())).toMatchObject({ kind: "unexpected-response", field: "access_token" });
});
