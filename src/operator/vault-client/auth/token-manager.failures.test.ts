import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { unlimitedScope } from "../../../protocol/scope.ts";
import { AuthError, TransientError } from "../vault-error.ts";
import { RequestedScope } from "./requested-scope.ts";
import { tokenFrom } from "./token.ts";
import { TokenManager } from "./token-manager.ts";
import type { TokenSource } from "./token-source.ts";

const signal = new AbortController().signal;
const HOUR = 3_600_000;

/**
 * A manager whose source returns T1, T2, … for an hour each, or does the next of `effects` first.
 */
function scene(onlyReferenced = false) {
  const clock = new VirtualClock();
  const effects: (() => void | Promise<void>)[] = [];
  const scope = new RequestedScope(unlimitedScope, onlyReferenced, clock);
  const counts = { renewals: 0, changes: 0, rejections: 0 };
  const lagging = { names: undefined as ReadonlySet<string> | undefined };
  const source: TokenSource = {
    pause: undefined,
    renew: async () => {
      counts.renewals += 1;
      const number = counts.renewals;
      await effects.shift()?.();
      const granted = { text: "", names: lagging.names ?? scope.current().names };
      const parts = { access: new Redacted(`T${number}`), refresh: undefined, scope: granted };
      return tokenFrom(parts, HOUR, clock, () => 0.5);
    },
    reject: (_, { operation, code }) => {
      counts.rejections += 1;
      return new AuthError(operation, code, 60_000);
    },
  };
  const tokens = new TokenManager({
    source,
    scope,
    onChange: () => (counts.changes += 1),
    clock,
    random: () => 1,
  });
  const getToken = async (of = signal): Promise<string> =>
    (await tokens.getToken(of)).access.reveal();
  return { clock, effects, tokens, counts, lagging, getToken };
}

const reset = new TransientError("refresh_token", "reset");
const fail = (error: Error = reset) => {
  return (): void => {
    throw error;
  };
};

test("a token is fresh for a minute after it replaced a rejected one, and no other is", async () => {
  const { clock, tokens } = scene();
  const first = await tokens.getToken(signal);
  expect(tokens.isFresh(first)).toBe(false);
  const second = await tokens.refreshAfter401(first, signal);
  await clock.advance(30_000);
  expect(await tokens.refreshAfter401(first, signal)).toBe(second);
  expect(tokens.isFresh(first)).toBe(false);
  expect(tokens.isFresh(second)).toBe(true);
  await clock.advance(29_999);
  expect(tokens.isFresh(second)).toBe(true);
  await clock.advance(1);
  expect(tokens.isFresh(second)).toBe(false);
});

test("every change of the token and every rejection is reported", async () => {
  const { effects, tokens, counts, getToken } = scene();
  effects.push(fail());
  await failureOf(getToken());
  const token = await tokens.getToken(signal);
  expect(counts.changes).toBe(2);
  const error = new AuthError("expose", "token");
  expect(tokens.markRejected(token, error)).toMatchObject({ retryAfterMs: 60_000 });
  expect(tokens.markRejected(token, error)).toMatchObject({ retryAfterMs: 60_000 });
  expect(counts).toEqual({ renewals: 2, changes: 3, rejections: 1 });
});

test("an aborted renewal of a token that is still valid ends the request", async () => {
  const { clock, effects, getToken } = scene();
  await getToken();
  await clock.advance((HOUR * 2) / 3);
  const abort = new AbortController();
  effects.push(() => clock.sleep(1_000));
  const outcome = failureOf(getToken(abort.signal));
  abort.abort(new Error("closed"));
  expect(await outcome).toMatchObject({ message: "closed" });
});

test("a token that expires during a failing renewal is not returned", async () => {
  const { clock, effects, getToken } = scene();
  await getToken();
  await clock.advance(HOUR - 500);
  effects.push(async () => {
    await clock.sleep(1_000);
    throw reset;
  });
  const outcome = failureOf(getToken());
  await clock.advance(1_000);
  expect(await outcome).toBe(reset);
});

test("a success resets the backoff of renewals", async () => {
  const { clock, effects, counts, getToken } = scene();
  await getToken();
  for (let round = 1; round <= 2; round += 1) {
    await clock.advance((HOUR * 2) / 3);
    effects.push(fail());
    const token = await getToken();
    await clock.advance(999);
    expect(await getToken()).toBe(token);
    await clock.advance(1);
    expect(await getToken()).not.toBe(token);
  }
  expect(counts.renewals).toBe(5);
});

test("a token that still lacks a name is renewed with backoff, and the failure is reported", async () => {
  const { clock, effects, tokens, lagging, counts, getToken } = scene(true);
  await getToken();
  expect(tokens.scopeFailure).toBeUndefined();
  lagging.names = new Set();
  tokens.setNames(new Set(["a"]));
  await clock.advance(2_000);
  effects.push(fail(), fail(new TypeError("a defect")));
  expect(await getToken()).toBe("T1");
  expect(tokens.scopeFailure).toEqual(reset);
  await clock.advance(1_000);
  expect(await getToken()).toBe("T1");
  expect(tokens.scopeFailure).toEqual(reset);
  await clock.advance(2_000);
  expect(await getToken()).toBe("T4");
  expect(await getToken()).toBe("T4");
  expect(counts.renewals).toBe(4);
  lagging.names = undefined;
  await clock.advance(3_999);
  expect(await getToken()).toBe("T4");
  await clock.advance(1);
  expect(await getToken()).toBe("T5");
  expect(tokens.scopeFailure).toBeUndefined();
});
