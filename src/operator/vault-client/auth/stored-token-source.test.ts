import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { unlimitedScope } from "../../../protocol/scope.ts";
import { AuthError, CredentialsError } from "../vault-error.ts";
import type { LoginPause } from "../connection.ts";
import type { StoredTokens, TokenStore } from "./credentials.ts";
import { LoginGate } from "./login-gate.ts";
import { RequestedScope } from "./requested-scope.ts";
import { StoredTokenSource } from "./stored-token-source.ts";
import type { TokenOperations } from "./token-operations.ts";
import { TokenManager } from "./token-manager.ts";

const signal = new AbortController().signal;
const HOUR = 3_600_000;

/** A store whose writes can fail, and which records what happened in order. */
class MemoryStore implements TokenStore {
  readonly log: string[];
  pair: { access: string; refresh?: string };
  version = 1;
  /** Effect of the next writes, in order; then they succeed. */
  readonly writes: ("conflict" | "lost" | "applied-but-lost" | (() => void))[] = [];

  constructor(log: string[], access: string) {
    this.log = log;
    this.pair = { access, refresh: `${access}-refresh` };
  }

  read(): Promise<StoredTokens> {
    const { access, refresh } = this.pair;
    return Promise.resolve({
      access: new Redacted(access),
      refresh: refresh === undefined ? undefined : new Redacted(refresh),
      version: `${this.version}`,
    });
  }

  /** Another program stores a pair. */
  replace(access: string): void {
    this.pair = { access, refresh: `${access}-refresh` };
    this.version += 1;
  }

  write({ access, refresh, version }: StoredTokens): Promise<boolean> {
    const effect = this.writes.shift();
    if (typeof effect === "function") effect();
    if (effect === "conflict") this.version += 1;
    if (effect === "lost") return Promise.reject(new Error("unavailable"));
    if (version !== `${this.version}`) return Promise.resolve(false);
    this.pair = { access: access.reveal(), ...(refresh && { refresh: refresh.reveal() }) };
    this.version += 1;
    this.log.push(`stored ${access.reveal()}`);
    return effect === "applied-but-lost"
      ? Promise.reject(new Error("timeout"))
      : Promise.resolve(true);
  }
}

/**
 * A token manager of stored tokens. The vault responds to refreshes with T2, T3, … or with an
 * error.
 */
function scene(pause?: LoginPause) {
  const clock = new VirtualClock();
  const log: string[] = [];
  const store = new MemoryStore(log, "T1");
  const failures: Error[] = [];
  /** The response of the vault, in addition to an access token. */
  const response: { refresh: string | undefined; seconds: number | undefined } = {
    refresh: undefined,
    seconds: 3_600,
  };
  let issued = 1;
  const refresh: TokenOperations["refresh"] = (before, used) => {
    log.push(`refresh ${before.reveal()} ${used.reveal()}`);
    const failure = failures.shift();
    if (failure) return Promise.reject(failure);
    issued += 1;
    const accessToken = new Redacted(`T${issued}`);
    const refreshToken =
      response.refresh === undefined ? undefined : new Redacted(response.refresh);
    return Promise.resolve({ accessToken, refreshToken, expiresInSeconds: response.seconds });
  };
  const logins = new LoginGate(clock).account("https://vault.example.com", "ops@example.com", "");
  const operations = { refresh } as TokenOperations;
  const common = {
    operations,
    logins,
    lifetimeMs: HOUR,
    pause,
    clock,
    random: () => 0.5,
    logger: silentLogger,
  };
  const source = new StoredTokenSource({ ...common, store });
  const scope = new RequestedScope(unlimitedScope, false, clock);
  const tokens = new TokenManager({
    source,
    scope,
    onChange: () => undefined,
    clock,
    random: () => 0.5,
  });
  const getToken = async (): Promise<string> => {
    const token = (await tokens.getToken(signal)).access.reveal();
    log.push(`used ${token}`);
    return token;
  };
  return { clock, store, log, failures, response, source, tokens, getToken };
}

const rejected = (): AuthError => new AuthError("refresh_token", "refresh_token");

test("a stored token is used without a refresh, and refreshed after 2/3 of the lifetime", async () => {
  const { clock, log, getToken } = scene();
  await getToken();
  await clock.advance((HOUR * 2) / 3 - 1);
  await getToken();
  await clock.advance(1);
  await getToken();
  expect(log).toEqual(["used T1", "used T1", "refresh T1-refresh T1", "stored T2", "used T2"]);
});

test.each([
  [7_200, 2 * HOUR],
  [undefined, HOUR],
])(
  "a refreshed token whose expires_in is %s is refreshed after 2/3 of %d ms",
  async (seconds, lifetime) => {
    const { clock, log, response, getToken } = scene();
    response.seconds = seconds;
    await getToken();
    await clock.advance((HOUR * 2) / 3);
    await getToken();
    await clock.advance((lifetime * 2) / 3 - 1);
    await getToken();
    expect(log.at(-1)).toBe("used T2");
    await clock.advance(1);
    await getToken();
    expect(log.at(-1)).toBe("used T3");
  },
);

test("the refresh token of a response replaces the stored one, which stays if there is none", async () => {
  const { clock, log, response, getToken } = scene();
  await getToken();
  for (const refresh of ["R2", undefined, undefined]) {
    response.refresh = refresh;
    await clock.advance((HOUR * 2) / 3);
    await getToken();
  }
  expect(log.filter((line) => line.startsWith("refresh"))).toEqual([
    "refresh T1-refresh T1",
    "refresh R2 T2",
    "refresh R2 T3",
  ]);
});

test("a refreshed token is stored before it is used, and not used while that fails", async () => {
  const { clock, store, log, getToken } = scene();
  await getToken();
  store.writes.push("lost", "lost");
  await clock.advance((HOUR * 2) / 3);
  await getToken();
  await clock.advance(1_000);
  await getToken();
  await clock.advance(2_000);
  await getToken();
  expect(log).toEqual([
    "used T1",
    "refresh T1-refresh T1",
    "used T1",
    "used T1",
    "stored T2",
    "used T2",
  ]);
});

test("an expired token whose successor cannot be stored fails the request as transient", async () => {
  const { clock, store, getToken } = scene();
  await getToken();
  store.writes.push("lost");
  await clock.advance(HOUR);
  expect(await failureOf(getToken())).toMatchObject({
    kind: "transient",
    code: "credentials_not_read",
  });
});

test("a write that was applied but reported as failed is adopted, without another refresh", async () => {
  const { clock, store, log, getToken } = scene();
  await getToken();
  store.writes.push("applied-but-lost");
  await clock.advance((HOUR * 2) / 3);
  await getToken();
  await clock.advance(1_000);
  await getToken();
  expect(log).toEqual(["used T1", "refresh T1-refresh T1", "stored T2", "used T1", "used T2"]);
});

test("a pair that another program stored is adopted instead of a refresh", async () => {
  const { clock, store, log, getToken } = scene();
  await getToken();
  store.replace("X1");
  await clock.advance((HOUR * 2) / 3);
  await getToken();
  expect(log).toEqual(["used T1", "used X1"]);
});

test("a pair stored by another program during the refresh is adopted and not overwritten", async () => {
  const { clock, store, log, getToken } = scene();
  await getToken();
  store.writes.push(() => store.replace("X1"));
  await clock.advance((HOUR * 2) / 3);
  await getToken();
  expect(log).toEqual(["used T1", "refresh T1-refresh T1", "used X1"]);
  expect(store.pair.access).toBe("X1");
});

test("a concurrent change of the object with the same pair does not lose the refreshed one", async () => {
  const { clock, store, log, getToken } = scene();
  await getToken();
  store.writes.push("conflict", "conflict");
  await clock.advance((HOUR * 2) / 3);
  await getToken();
  expect(log).toEqual(["used T1", "refresh T1-refresh T1", "stored T2", "used T2"]);
});

test("a 401 to the stored token refreshes it", async () => {
  const { tokens, log, getToken } = scene();
  await getToken();
  await tokens.refreshAfter401(tokens.current!, signal);
  expect(log).toEqual(["used T1", "refresh T1-refresh T1", "stored T2"]);
});

test("a rejected refresh is retried after 1 and 5 minutes, and a new pair is used immediately", async () => {
  const { clock, store, tokens, log, failures, getToken } = scene();
  await getToken();
  failures.push(rejected(), rejected());
  await clock.advance(HOUR);
  expect(await failureOf(getToken())).toMatchObject({
    code: "refresh_token",
    retryAfterMs: 60_000,
  });
  expect(tokens.pause).toEqual({ until: clock.now() + 60_000, credentials: "1" });
  await clock.advance(59_999);
  expect(await failureOf(getToken())).toMatchObject({ retryAfterMs: 1 });
  await clock.advance(1);
  expect(await failureOf(getToken())).toMatchObject({ retryAfterMs: 300_000 });
  expect(log.filter((entry) => entry.startsWith("refresh"))).toHaveLength(2);
  store.replace("X1");
  expect(await getToken()).toBe("X1");
});

test("a refreshed token to which the vault responds with 401 counts as a rejection", async () => {
  const { clock, source, tokens, getToken } = scene();
  await getToken();
  await clock.advance(HOUR);
  await getToken();
  expect(tokens.pause).toBeUndefined();
  source.reject(await tokens.getToken(signal), new AuthError("list_no_dup", "token"));
  expect(tokens.pause).toMatchObject({ until: clock.now() + 60_000 });
});

test("a pause of an earlier process is continued for the same version of the pair only", async () => {
  const start = new VirtualClock().now();
  const same = scene({ until: start + HOUR, credentials: "1" });
  await same.getToken();
  await failureOf(same.tokens.refreshAfter401(same.tokens.current!, signal));
  expect(same.log).toEqual(["used T1"]);
  const other = scene({ until: start + HOUR, credentials: "0" });
  await other.getToken();
  await other.tokens.refreshAfter401(other.tokens.current!, signal);
  expect(other.log).toEqual(["used T1", "refresh T1-refresh T1", "stored T2"]);
});

test("without a refresh token the message asks for a new pair", async () => {
  const { clock, store, getToken } = scene();
  store.pair = { access: "T1" };
  await getToken();
  await clock.advance(HOUR);
  const error = await failureOf(getToken());
  expect(error).toBeInstanceOf(CredentialsError);
  expect(String(error)).toContain("store a new pair");
});
