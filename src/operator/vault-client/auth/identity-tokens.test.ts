import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { type Scope, unlimitedScope } from "../../../protocol/scope.ts";
import type { LoginPause } from "../connection.ts";
import { AuthError, CredentialsError } from "../vault-error.ts";
import { IdentityTokens } from "./identity-tokens.ts";
import { LoginGate } from "./login-gate.ts";
import { RequestedScope } from "./requested-scope.ts";
import type { Token } from "./token.ts";
import { TokenOperations } from "./token-operations.ts";

const signal = new AbortController().signal;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const narrow: Scope = { ...unlimitedScope, secret_name: new Set(["a"]) };
const NARROW = "cloud_type:*,environment_type:*,application_type:*,classification:*,secret_name:a";

interface SceneOptions {
  readonly limit?: Scope;
  readonly pause?: LoginPause;
  readonly gate?: LoginGate;
  readonly clock?: VirtualClock;
  readonly id?: string;
}

/** Tokens of a vault that issues T1, T2, …, or responds with the next of `failures`. */
function scene({
  clock = new VirtualClock(),
  limit = unlimitedScope,
  pause,
  gate = new LoginGate(clock),
  id = "one",
}: SceneOptions = {}) {
  const sent: object[] = [];
  const failures: Error[] = [];
  const reads: (Error | undefined)[] = [];
  const send = ({ body }: { body: object }) => {
    sent.push(body);
    const failure = failures.shift();
    if (failure) return Promise.reject(failure);
    const response = { access_token: `T${sent.length}`, refresh_token: "R", expires_in: 3_600 };
    return Promise.resolve({
      status: 200,
      body: Buffer.from(JSON.stringify(response)),
      header: () => undefined,
    });
  };
  const operations = new TokenOperations({
    send,
    email: "ops@example.com",
    lifetimeMs: 24 * HOUR,
    timeoutMs: 1_000,
  });
  let failure: Error | undefined;
  const source = new IdentityTokens({
    identity: {
      id,
      version: "ServiceAccount/vaultsync",
      read: () => {
        reads.push(failure);
        return failure
          ? Promise.reject(failure)
          : Promise.resolve(new Redacted(`identity-${reads.length}`));
      },
    },
    operations,
    logins: gate.account("https://vault.example.com", "ops@example.com", "shop/"),
    scope: new RequestedScope(limit, false, clock),
    lifetimeMs: 24 * HOUR,
    pause,
    clock,
    random: () => 0.5,
    logger: silentLogger,
  });
  const renew = (current?: Token): Promise<Token> => source.renew(current, signal);
  const failToRead = (error: Error | undefined): void => void (failure = error);
  return { clock, sent, failures, reads, source, renew, failToRead };
}

const rejected = (): AuthError => new AuthError("exchange_identity_token", "identity");

test("each renewal is a login with a new token, and never a refresh", async () => {
  const { sent, renew } = scene();
  const token = await renew();
  const next = await renew(token);
  expect([token.access.reveal(), next.access.reveal(), next.refresh]).toEqual([
    "T1",
    "T2",
    undefined,
  ]);
  const common = { email: "ops@example.com", expiration_hours: 24 };
  expect(sent).toEqual([
    { ...common, identity_token: "identity-1" },
    { ...common, identity_token: "identity-2" },
  ]);
});

test("the vault decides how long a token lives, not the request", async () => {
  const { clock, renew } = scene();
  expect((await renew()).expiresAt).toBe(clock.now() + HOUR);
});

test("a scope is requested only where the connection has one, and shown only then", async () => {
  const { sent, renew } = scene({ limit: narrow });
  expect((await renew()).scope?.text).toBe(NARROW);
  expect(sent).toMatchObject([{ scope: NARROW }]);
  expect((await scene().renew()).scope).toBeUndefined();
});

test("a rejected identity is paused: no token is requested and none is sent", async () => {
  const { clock, failures, sent, reads, source, renew } = scene();
  failures.push(rejected(), rejected());
  await failureOf(renew());
  expect(source.pause).toEqual({
    until: clock.now() + MINUTE,
    credentials: "ServiceAccount/vaultsync",
  });
  expect(await failureOf(renew())).toMatchObject({ code: "identity", retryAfterMs: MINUTE });
  expect([sent.length, reads.length]).toEqual([1, 1]);
  await clock.advance(MINUTE);
  await failureOf(renew());
  expect(source.pause?.until).toBe(clock.now() + 5 * MINUTE);
  expect([sent.length, reads.length]).toEqual([2, 2]);
});

test("a rejected identity pauses no other connection of its namespace", async () => {
  const clock = new VirtualClock();
  const gate = new LoginGate(clock);
  const [first, second] = ["one", "two"].map((id) => scene({ clock, gate, id }));
  first!.failures.push(rejected());
  await failureOf(first!.renew());
  expect((await second!.renew()).access.reveal()).toBe("T1");
});

test("a pause that an earlier process published is continued", async () => {
  const clock = new VirtualClock();
  const pause = { until: clock.now() + 10 * MINUTE, credentials: "ServiceAccount/vaultsync" };
  const { sent, renew } = scene({ clock, pause });
  expect(await failureOf(renew())).toMatchObject({ retryAfterMs: 10 * MINUTE });
  expect(sent).toEqual([]);
});

test("a token that the API server does not issue is no rejection", async () => {
  const { source, renew, failToRead } = scene();
  failToRead(new CredentialsError("permission denied"));
  expect(await failureOf(renew())).toMatchObject({ code: "unusable" });
  failToRead(new Error("unavailable"));
  expect(await failureOf(renew())).toMatchObject({ code: "credentials_not_read" });
  expect(source.pause).toBeUndefined();
  failToRead(undefined);
  expect((await renew()).access.reveal()).toBe("T1");
});

test("a token to which the vault responds with 401 immediately counts as a rejection", async () => {
  const { source, renew } = scene();
  const token = await renew();
  source.reject(token, new AuthError("list_no_dup", "token"));
  expect(source.pause).toBeDefined();
});
