import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { mailTo, receivedMail } from "../lab/mail/smtp-server.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { VaultClient, type VaultResponse } from "../lab/vault/vault-client.ts";
import { WebSession } from "../lab/vault/web-session.ts";
import type { Logger } from "../../src/lib/logger.ts";
import { sessionOperationPath, operationPath } from "../../src/protocol/operation-paths.ts";
import { defaultPasswordCost } from "../../src/vault/server/limits.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const emails = [
  "ann@example.com",
  "bob@example.com",
  "carl@example.com",
  "dora@example.com",
  "emil@example.com",
];

/** Repeats nothing. */
const LONG = Array.from({ length: 1024 }, (_, index) => index.toString(36))
  .join("")
  .slice(0, 1024);

function requestPassword(vault: TestVault, email: string): Promise<VaultResponse> {
  return vault.post(sessionOperationPath.app_request_password, { email });
}

function setPassword(vault: TestVault, token: string, password: string): Promise<VaultResponse> {
  return vault.post(sessionOperationPath.app_set_password, { token, password });
}

function logIn(vault: TestVault, email: string, password: string): Promise<VaultResponse> {
  return vault.post(sessionOperationPath.app_log_in, { email, password });
}

/** Requests an email and returns the token in its link. */
async function confirmation(vault: TestVault, email: string): Promise<string> {
  expect((await requestPassword(vault, email)).outcome()).toBe("200");
  return (await mailTo(vault.mailDirectory, email.toLowerCase())).token;
}

describe("signing up and setting passwords", () => {
  let clock: VirtualClock;
  let vault: TestVault;
  beforeAll(async () => {
    clock = new VirtualClock();
    vault = await TestVault.start({ clock, emails, signUp: { mode: "open" } });
  });
  afterAll(() => vault[Symbol.asyncDispose]());

  test("the link in an email creates the account and logs in", async () => {
    const token = await confirmation(vault, "New@Example.com");
    const response = await setPassword(vault, token, "a password of one's own");
    expect(response.json()).toEqual({
      session: { email: "new@example.com", csrf_token: expect.any(String) },
    });
    expect(await new WebSession(vault.url, response).isLive()).toBe(true);
    expect((await logIn(vault, "new@example.com", "a password of one's own")).outcome()).toBe(
      "200",
    );
    expect(
      (await vault.logIn("new@example.com", { password: "a password of one's own" })).outcome(),
    ).toBe("200");
  });

  test("a known and an unknown email get the same response", async () => {
    const responses = [
      await requestPassword(vault, "ann@example.com"),
      await requestPassword(vault, "nobody@example.com"),
    ];
    const [known, unknown] = responses.map(({ status, bytes, headers }) => {
      const { date: _date, "x-request-id": _id, ...others } = headers;
      return { status, body: bytes.toString(), headers: others };
    });
    expect(unknown).toEqual(known);
    expect(known).toMatchObject({ status: 200, body: "{}" });
    for (const email of ["ann@example.com", "nobody@example.com"]) {
      expect((await mailTo(vault.mailDirectory, email)).token).toMatch(/^[\w-]{43}$/u);
    }
  });

  test.each([
    "",
    "nobody",
    "a b@example.com",
    "@example.com",
    '"https://evil.example/log-in"@example.com',
    "ann@example.com/log-in",
  ])("%j is rejected as an email", async (email) => {
    expect((await requestPassword(vault, email)).outcome()).toBe("400 invalid_request");
  });

  test("a new password ends all sessions and tokens of its account only", async () => {
    const [session, other] = [
      await WebSession.logIn(vault, "bob@example.com"),
      await WebSession.logIn(vault, "ann@example.com"),
    ];
    const pair = (await vault.logIn("bob@example.com")).json();
    const caller = new VaultClient(vault.url, "bob@example.com", { token: pair.access_token });
    const refresh = () =>
      vault.post(operationPath.refresh_token, {
        refresh_token: pair.refresh_token,
        used_access_token: pair.access_token,
      });
    await caller.call("protect", { key_name: "kept", key_value: "v" });
    expect([await session.isLive(), (await refresh()).outcome()]).toEqual([true, "200"]);

    const response = await setPassword(
      vault,
      await confirmation(vault, "bob@example.com"),
      "another password",
    );
    expect(await session.isLive()).toBe(false);
    expect((await caller.call("list_no_dup")).outcome()).toBe("401 invalid_token");
    expect((await refresh()).outcome()).toBe("401 invalid_refresh_token");
    const former = vault.passwords.get("bob@example.com") ?? "";
    expect((await logIn(vault, "bob@example.com", former)).outcome()).toBe(
      "401 invalid_credentials",
    );
    expect((await logIn(vault, "bob@example.com", "another password")).outcome()).toBe("200");
    const renewed = new WebSession(vault.url, response);
    expect((await renewed.call("expose", { key_name: "kept" })).json().key_value).toBe("v");
    expect(await other.isLive()).toBe(true);
  });

  test("a link works once, even for concurrent requests", async () => {
    const token = await confirmation(vault, "twice@example.com");
    const attempts = ["first password", "second password", "third password", "fourth password"];
    const responses = await Promise.all(
      attempts.map((password) => setPassword(vault, token, password)),
    );
    const outcomes = responses.map((response) => response.outcome());
    expect(outcomes.toSorted()).toEqual([
      "200",
      ...Array.from({ length: 3 }, () => "401 invalid_confirmation"),
    ]);
    const winner = attempts[outcomes.indexOf("200")] ?? "";
    expect((await logIn(vault, "twice@example.com", winner)).outcome()).toBe("200");
    expect((await setPassword(vault, token, "fifth password")).outcome()).toBe(
      "401 invalid_confirmation",
    );
  });

  test("a link invalidates the other links of its email only", async () => {
    const former = await confirmation(vault, "carl@example.com");
    const others = await confirmation(vault, "dora@example.com");
    clock.stepWall(MINUTE);
    await requestPassword(vault, "carl@example.com");
    await expect
      .poll(async () => (await mailTo(vault.mailDirectory, "carl@example.com")).token)
      .not.toBe(former);
    const { token: latest } = await mailTo(vault.mailDirectory, "carl@example.com");
    expect((await setPassword(vault, former, "a new password")).outcome()).toBe("200");
    expect((await setPassword(vault, latest, "a newer password")).outcome()).toBe(
      "401 invalid_confirmation",
    );
    expect((await setPassword(vault, others, "a new password")).outcome()).toBe("200");
  });

  test("a link works for an hour", async () => {
    const early = await confirmation(vault, "early@example.com");
    const late = await confirmation(vault, "late@example.com");
    clock.stepWall(HOUR - 1);
    expect((await setPassword(vault, early, "just in time")).outcome()).toBe("200");
    clock.stepWall(1);
    expect((await setPassword(vault, late, "a little late")).outcome()).toBe(
      "401 invalid_confirmation",
    );
    expect((await logIn(vault, "late@example.com", "a little late")).outcome()).toBe(
      "401 invalid_credentials",
    );
  });

  test("an unknown token is rejected", async () => {
    expect((await setPassword(vault, "A".repeat(43), "a long password")).outcome()).toBe(
      "401 invalid_confirmation",
    );
    const { access_token: token } = (await vault.logIn("ann@example.com")).json();
    expect((await setPassword(vault, token, "a long password")).outcome()).toBe(
      "401 invalid_confirmation",
    );
  });

  test("a password has 12 to 1024 characters; another one leaves the link valid", async () => {
    const token = await confirmation(vault, "length@example.com");
    for (const password of ["", "x".repeat(11), "x".repeat(1025), "\ud800".repeat(12), 12]) {
      const response = await vault.post(sessionOperationPath.app_set_password, { token, password });
      expect([response.outcome(), response.json().error.details]).toEqual([
        "400 invalid_request",
        [{ path: "password", reason: expect.any(String) }],
      ]);
    }
    expect((await setPassword(vault, token, LONG)).outcome()).toBe("200");
    expect((await logIn(vault, "length@example.com", LONG)).outcome()).toBe("200");
  });

  test("a new password ends the throttling of its account", async () => {
    const token = await confirmation(vault, "emil@example.com");
    for (let i = 0; i < 6; i += 1) await logIn(vault, "emil@example.com", "wrong");
    expect((await logIn(vault, "emil@example.com", "wrong")).outcome()).toBe("429 rate_limited");
    await setPassword(vault, token, "a new password");
    expect((await logIn(vault, "emil@example.com", "a new password")).outcome()).toBe("200");
  });
});

test("a login in flight with the old password gets no lasting token or session", async () => {
  await using vault = await TestVault.start({
    clock: new VirtualClock(),
    passwordCost: defaultPasswordCost,
  });
  const former = vault.passwords.get("ann@example.com") ?? "";
  const token = await confirmation(vault, "ann@example.com");
  const [replaced, ...responses] = await Promise.all([
    setPassword(vault, token, "a new password"),
    ...Array.from({ length: 16 }, (_, index) =>
      index % 2 === 0
        ? logIn(vault, "ann@example.com", former)
        : vault.logIn("ann@example.com", { password: former }),
    ),
  ]);
  expect(replaced?.outcome()).toBe("200");
  for (const response of responses.filter(({ status }) => status === 200)) {
    const isToken = "access_token" in response.json();
    const live = isToken
      ? (
          await new VaultClient(vault.url, "ann@example.com", {
            token: response.json().access_token,
          }).call("list_no_dup")
        ).status === 200
      : await new WebSession(vault.url, response).isLive();
    expect(live).toBe(false);
  }
});

test("logins that wait for hashing do not displace the new password of their account", async () => {
  const limits = { loginFailuresPerAccount: 1000, loginFailuresPerNetwork: 1000 };
  await using vault = await TestVault.start({
    clock: new VirtualClock(),
    passwordCost: defaultPasswordCost,
    limits,
  });
  const token = await confirmation(vault, "ann@example.com");
  const replacing = new AbortController();
  const flood = Array.from({ length: 12 }, async () => {
    while (!replacing.signal.aborted) await logIn(vault, "ann@example.com", "wrong");
  });
  await expect
    .poll(async () => (await logIn(vault, "ann@example.com", "wrong")).code())
    .toBe("rate_limited");
  const replaced = await setPassword(vault, token, "a new password");
  replacing.abort();
  await Promise.all(flood);
  expect(replaced.outcome()).toBe("200");
});

test("a recipient gets one email per minute, with or without an account", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock, signUp: { mode: "open" } });
  for (const email of ["ann@example.com", "nobody@example.com"]) {
    expect((await requestPassword(vault, email)).outcome()).toBe("200");
    const refused = await requestPassword(vault, email.toUpperCase());
    expect([refused.outcome(), refused.headers["retry-after"]]).toEqual(["429 rate_limited", "60"]);
    await mailTo(vault.mailDirectory, email);
  }
  expect(await receivedMail(vault.mailDirectory)).toHaveLength(2);
  clock.stepWall(MINUTE - 1);
  const refused = await requestPassword(vault, "ann@example.com");
  expect([refused.outcome(), refused.headers["retry-after"]]).toEqual(["429 rate_limited", "1"]);
  clock.stepWall(1);
  expect((await requestPassword(vault, "ann@example.com")).outcome()).toBe("200");
});

describe("emails to one recipient, each requested as soon as possible", () => {
  const startedAt = Date.UTC(2026, 10, 24);
  let clock: VirtualClock;
  let vault: TestVault;
  beforeEach(async () => {
    clock = new VirtualClock(startedAt);
    vault = await TestVault.start({ clock, signUp: { mode: "open" } });
    return () => vault[Symbol.asyncDispose]();
  });

  test.each(["ann@example.com", "nobody@example.com"])(
    "have an interval that doubles up to four hours: %s",
    async (email) => {
      const minutes: number[] = [];
      while (minutes.length < 13) {
        const response = await requestPassword(vault, email);
        if (response.status === 200) minutes.push((clock.now() - startedAt) / MINUTE);
        else clock.stepWall(Number(response.headers["retry-after"]) * 1000);
      }
      expect(minutes).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 255, 495, 735, 975, 1215]);
    },
  );

  test("have the first interval again once a link was used", async () => {
    for (const wait of [0, 1, 2]) {
      clock.stepWall(wait * MINUTE);
      await requestPassword(vault, "ann@example.com");
    }
    const { token } = await mailTo(vault.mailDirectory, "ann@example.com");
    expect((await setPassword(vault, token, "a new password")).outcome()).toBe("200");
    expect((await requestPassword(vault, "ann@example.com")).outcome()).toBe("200");
    expect((await requestPassword(vault, "ann@example.com")).headers["retry-after"]).toBe("60");
  });
});

test("a client may request twenty emails in 15 minutes", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock, trustedProxies: ["127.0.0.1"] });
  const ask = (name: string, client: string) =>
    vault.post(
      sessionOperationPath.app_request_password,
      { email: `${name}@example.com` },
      { "x-forwarded-for": client },
    );
  for (let i = 0; i < 20; i += 1)
    expect((await ask(`user${i}`, "192.0.2.1")).outcome()).toBe("200");
  for (const name of ["user20", "ann"])
    expect((await ask(name, "192.0.2.1")).outcome()).toBe("429 rate_limited");
  expect((await ask("user20", "192.0.2.2")).outcome()).toBe("200");
  clock.stepWall(15 * MINUTE);
  expect((await ask("user21", "192.0.2.1")).outcome()).toBe("200");
});

test("no token, cookie or password is in the log or the metrics", async () => {
  const lines: unknown[][] = [];
  const log = (...line: unknown[]): void => void lines.push(line);
  const logger: Logger = { debug: log, info: log, warn: log, error: log, child: () => logger };
  await using vault = await TestVault.start({
    logger,
    clock: new VirtualClock(),
    signUp: { mode: "open" },
  });
  const token = await confirmation(vault, "new@example.com");
  const password = "canary-5e1c0d-password";
  const response = await setPassword(vault, token, password);
  const session = new WebSession(vault.url, response);
  const pair = (await session.app("app_api_token", { password })).json();
  await session.app("app_api_token", { password: `${password}-wrong` });
  await session.call("list_no_dup", {}, { "x-csrf-token": "wrong" });
  await session.app("app_log_out");
  await setPassword(vault, token, password);
  const seen = JSON.stringify(lines);
  const metrics = await fetch(`${vault.metricsUrl}/metrics`).then((body) => body.text());
  expect(lines.length).toBeGreaterThan(6);
  const sessionToken = session.cookie.split("=")[1] ?? "";
  for (const secret of [
    token,
    password,
    sessionToken,
    session.csrf,
    pair.access_token,
    pair.refresh_token,
  ]) {
    expect(seen).not.toContain(secret);
    expect(metrics).not.toContain(secret);
  }
});
