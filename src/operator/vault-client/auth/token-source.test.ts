import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { type Logger, silentLogger } from "../../../lib/logger.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { unlimitedScope } from "../../../protocol/scope.ts";
import type { LoginPause } from "../connection.ts";
import {
  AuthError,
  CredentialsError,
  RateLimitedError,
  RefusedError,
  TransientError,
} from "../vault-error.ts";
import { LoginGate } from "./login-gate.ts";
import { PasswordTokens } from "./password-tokens.ts";
import { RequestedScope } from "./requested-scope.ts";
import type { Token } from "./token.ts";
import { TokenOperations } from "./token-operations.ts";
import { fromStore } from "./token-source.ts";

const signal = new AbortController().signal;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Password tokens of a vault that issues T1, T2, …, or responds with the next of `failures`. */
function scene({
  onlyReferenced = false,
  pause,
}: { onlyReferenced?: boolean; pause?: LoginPause } = {}) {
  const clock = new VirtualClock();
  const log: string[] = [];
  const infos: [object, string][] = [];
  const failures: Error[] = [];
  let issued = 0;
  const respond = (operation: string) => {
    log.push(operation);
    const failure = failures.shift();
    if (failure) return Promise.reject(failure);
    issued += 1;
    const accessToken = new Redacted(`T${issued}`);
    return Promise.resolve({
      accessToken,
      refreshToken: new Redacted("R"),
      expiresInSeconds: undefined,
    });
  };
  const operations = {
    login: () => respond("login"),
    refresh: () => respond("refresh"),
  } as unknown as TokenOperations;
  const logger: Logger = {
    ...silentLogger,
    info: (fields, message) => void infos.push([fields, message]),
  };
  const scope = new RequestedScope(unlimitedScope, onlyReferenced, clock);
  const source = new PasswordTokens({
    operations,
    logins: new LoginGate(clock).account("https://vault.example.com", "ops@example.com", ""),
    read: () => Promise.resolve({ password: new Redacted("canary"), version: "7" }),
    scope,
    lifetimeMs: HOUR,
    pause,
    clock,
    random: () => 0.5,
    logger,
  });
  const renew = (current?: Token): Promise<Token> => source.renew(current, signal);
  return { clock, log, infos, failures, scope, source, renew };
}

const rejected = (): AuthError => new AuthError("refresh_token", "refresh_token");

test.each<[string, Error]>([
  ["transient", new TransientError("refresh_token", "reset")],
  ["rate-limited", new RateLimitedError("refresh_token", 1_000)],
  ["refused", new RefusedError("refresh_token", "tls")],
  ["unexpected", new TypeError("a defect")],
])("a refresh that fails in a %s way is not followed by a login", async (_, error) => {
  const { log, failures, renew } = scene();
  const token = await renew();
  failures.push(error);
  expect(await failureOf(renew(token))).toBe(error);
  expect((await renew(token)).access.reveal()).toBe("T2");
  expect(log).toEqual(["login", "refresh", "refresh"]);
});

test("a rejected refresh is logged and not repeated with the same token", async () => {
  const { log, infos, failures, renew } = scene();
  const token = await renew();
  failures.push(rejected(), new TransientError("generate_access_token", "reset"));
  await failureOf(renew(token));
  await renew(token);
  expect(log).toEqual(["login", "refresh", "login", "login"]);
  expect(infos).toEqual([[{ kind: "auth" }, "token refresh rejected, logging in"]]);
});

test("a token that lacks a name is replaced by a login, and refreshed while logins are paused", async () => {
  const { log, failures, scope, source, renew } = scene({ onlyReferenced: true });
  const token = await renew();
  scope.setNames(new Set(["a"]));
  failures.push(new AuthError("generate_access_token", "credentials"));
  await failureOf(renew(token));
  expect(source.pause).toMatchObject({ credentials: "7" });
  await renew(token);
  expect(log).toEqual(["login", "login", "refresh"]);
});

test("a pause of an earlier process is continued once, whatever the wall clock does", async () => {
  const until = new VirtualClock().now() + 10 * MINUTE;
  const { clock, renew } = scene({ pause: { until, credentials: "7" } });
  expect(await failureOf(renew())).toMatchObject({ retryAfterMs: 10 * MINUTE });
  clock.stepWall(-20 * MINUTE);
  expect(await failureOf(renew())).toMatchObject({ retryAfterMs: 10 * MINUTE });
});

test.each([
  [1, 1],
  [60, 1],
  [61, 2],
  [90 * 24 * 60, 2_160],
])("a lifetime of %d minutes is requested as %d hours", async (minutes, hours) => {
  const bodies: unknown[] = [];
  const send = ({ body }: { body: unknown }) => {
    bodies.push(body);
    return Promise.resolve({
      status: 200,
      body: Buffer.from('{"access_token":"T1"}'),
      header: () => undefined,
    });
  };
  const operations = new TokenOperations({
    send,
    email: "ops@example.com",
    lifetimeMs: minutes * MINUTE,
    timeoutMs: 1_000,
  });
  await operations.login(new Redacted("canary"), "scope", signal);
  expect(bodies).toEqual([
    { email: "ops@example.com", password: "canary", scope: "scope", expiration_hours: hours },
  ]);
});

const failing = (error: Error, of = signal): Promise<unknown> =>
  failureOf(fromStore(of, () => Promise.reject(error)));

test("an error of the store is transient; a VaultError and an abort are passed on", async () => {
  const unavailable = Object.assign(new Error("canary"), { code: "ECONNREFUSED" });
  const transient = {
    kind: "transient",
    code: "credentials_not_read",
    operation: "generate_access_token",
    detail: "ECONNREFUSED",
  };
  expect(await failing(unavailable)).toMatchObject(transient);
  const unusable = new CredentialsError("no such Secret");
  expect(await failing(unusable)).toBe(unusable);
  const closed = new Error("closed");
  expect(await failing(unavailable, AbortSignal.abort(closed))).toBe(closed);
});
