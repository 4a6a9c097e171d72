import { expect, test } from "vitest";
import { sessionOperationPath } from "../../src/protocol/operation-paths.ts";
import { defaultPasswordCost } from "../../src/vault/server/limits.ts";
import { mailTo } from "../lab/mail/smtp-server.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";

const MINUTE = 60_000;
const emails = Array.from({ length: 7 }, (_, index) => `user${index}@example.com`);

async function failures(
  vault: TestVault,
  email: string,
  count: number,
): Promise<(string | undefined)[]> {
  const codes: (string | undefined)[] = [];
  for (let i = 0; i < count; i += 1)
    codes.push((await vault.logIn(email, { password: "wrong" })).code());
  return codes;
}

test("five failures throttle an account, for twice as long after each, up to a minute", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock });
  expect(await failures(vault, "ann@example.com", 5)).toEqual(
    Array.from({ length: 5 }, () => "invalid_credentials"),
  );
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    const refused = await vault.logIn("Ann@Example.com", {
      password: vault.passwords.get("ann@example.com") ?? "",
    });
    expect(refused.status).toBe(429);
    expect(refused.code()).toBe("rate_limited");
    expect(refused.headers["retry-after"]).toEqual(String(seconds));
    clock.stepWall(seconds * 1000 - 1);
    expect((await vault.logIn("ann@example.com")).code()).toBe("rate_limited");
    clock.stepWall(1);
    expect(await failures(vault, "ann@example.com", 1)).toEqual(["invalid_credentials"]);
  }
});

test("a success resets the account's count; another account is not throttled", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock });
  await failures(vault, "ann@example.com", 5);
  expect((await vault.logIn("bob@example.com")).status).toBe(200);
  clock.stepWall(1000);
  expect((await vault.logIn("ann@example.com")).status).toBe(200);
  expect(await failures(vault, "ann@example.com", 5)).not.toContain("rate_limited");
});

test("failures older than fifteen minutes do not count", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock });
  await failures(vault, "ann@example.com", 4);
  clock.stepWall(15 * MINUTE);
  await failures(vault, "ann@example.com", 1);
  expect((await vault.logIn("ann@example.com")).status).toBe(200);
});

test("twenty failures throttle an IP address for every account", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock, emails });
  for (const email of emails.slice(0, 5)) await failures(vault, email, 4);
  const refused = await vault.logIn("user6@example.com");
  expect(refused.code()).toBe("rate_limited");
  expect(refused.headers["retry-after"]).toBe("1");
  clock.stepWall(1000);
  expect((await vault.logIn("user6@example.com")).status).toBe(200);
});

test("a missing account is throttled like an existing one", async () => {
  await using vault = await TestVault.start({ clock: new VirtualClock() });
  const [known, unknown] = [
    await failures(vault, "ann@example.com", 7),
    await failures(vault, "nobody@example.com", 7),
  ];
  expect(unknown).toEqual(known);
});

test("concurrent guesses are throttled like sequential ones", async () => {
  await using vault = await TestVault.start({ clock: new VirtualClock() });
  const responses = await Promise.all(
    Array.from({ length: 40 }, () => vault.logIn("ann@example.com", { password: "wrong" })),
  );
  const tried = responses.filter((response) => response.code() === "invalid_credentials").length;
  // Two are hashed concurrently, so one more than the threshold can be in flight.
  expect(tried).toBeLessThanOrEqual(6);
  expect(responses.filter((response) => response.code() === "rate_limited")).toHaveLength(
    40 - tried,
  );
});

test("logins beyond the hashing queue are rejected with rate_limited", async () => {
  await using vault = await TestVault.start({
    limits: { loginQueue: 0 },
    passwordCost: defaultPasswordCost,
  });
  const responses = await Promise.all(
    Array.from({ length: 12 }, () => vault.logIn("ann@example.com")),
  );
  const codes = new Set(responses.map((response) => response.code()));
  expect(codes).toEqual(new Set([undefined, "rate_limited"]));
});

/** Logs in from an address that a trusted proxy reports. */
const logInFrom = (
  vault: TestVault,
  address: string,
  password = vault.passwords.get("ann@example.com") ?? "",
) =>
  vault.post(
    sessionOperationPath.app_log_in,
    { email: "ann@example.com", password },
    { "x-forwarded-for": address },
  );

test("strangers cannot lock an account out of a network that it has logged in from", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock, trustedProxies: ["127.0.0.1"] });
  const [owner, stranger] = ["192.0.2.1", "198.51.100.1"];
  expect((await logInFrom(vault, owner)).status).toBe(200);
  const outcomes: string[] = [];
  for (let second = 0; second < 70; second += 1) {
    for (let guess = 0; guess < 3; guess += 1) await logInFrom(vault, stranger, "wrong");
    if (second % 10 === 9) outcomes.push((await logInFrom(vault, owner)).outcome());
    clock.stepWall(1000);
  }
  expect(outcomes).toEqual(Array(7).fill("200"));
  expect((await logInFrom(vault, stranger)).outcome()).toBe("429 rate_limited");
});

test("failures of others behind one address do not throttle an account that has logged in there", async () => {
  await using vault = await TestVault.start({
    clock: new VirtualClock(),
    emails: [...emails, "ann@example.com"],
  });
  expect((await vault.logIn("ann@example.com")).outcome()).toBe("200");
  for (const email of emails.slice(0, 5)) await failures(vault, email, 4);
  expect((await vault.logIn("user6@example.com")).outcome()).toBe("429 rate_limited");
  expect((await vault.logIn("ann@example.com")).outcome()).toBe("200");
  // Its own failures still count.
  expect(await failures(vault, "ann@example.com", 6)).toEqual([
    ...Array(5).fill("invalid_credentials"),
    "rate_limited",
  ]);
});

test("strangers of many networks leave places for the logins of known accounts", async () => {
  const limits = { loginQueue: 40, loginQueueUnknown: 30 };
  const options = { limits, passwordCost: defaultPasswordCost, trustedProxies: ["127.0.0.1"] };
  await using vault = await TestVault.start(options);
  const owner = "192.0.2.1";
  expect((await logInFrom(vault, owner)).outcome()).toBe("200");
  const strangers = Array.from({ length: 60 }, (_, network) =>
    vault.post(
      sessionOperationPath.app_log_in,
      { email: `nobody${network}@example.com`, password: "wrong" },
      { "x-forwarded-for": `198.51.100.${network}` },
    ),
  );
  const refused = strangers.map(
    async (response) => (await response).outcome() === "429 rate_limited",
  );
  await Promise.race(refused.map(async (each) => (await each) || new Promise(() => undefined)));
  expect((await logInFrom(vault, owner)).outcome()).toBe("200");
  expect((await Promise.all(refused)).filter(Boolean).length).toBeGreaterThanOrEqual(20);
});

test("five failures from a known network throttle that network only", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock, trustedProxies: ["127.0.0.1"] });
  const [office, home] = ["192.0.2.1", "2001:db8::1"];
  for (const address of [office, home]) expect((await logInFrom(vault, address)).status).toBe(200);
  for (let guess = 0; guess < 5; guess += 1) await logInFrom(vault, office, "wrong");
  expect((await logInFrom(vault, office)).outcome()).toBe("429 rate_limited");
  expect((await logInFrom(vault, "2001:db8::2")).outcome()).toBe("200");
});

test("a new password ends the throttling of its account and makes the network known", async () => {
  await using vault = await TestVault.start({
    clock: new VirtualClock(),
    trustedProxies: ["127.0.0.1"],
  });
  const [home, stranger] = ["192.0.2.1", "198.51.100.1"];
  expect((await logInFrom(vault, home)).status).toBe(200);
  for (let guess = 0; guess < 6; guess += 1) await logInFrom(vault, home, "forgotten");
  await vault.post(sessionOperationPath.app_request_password, { email: "ann@example.com" });
  const { token } = await mailTo(vault.mailDirectory, "ann@example.com");
  const cafe = { "x-forwarded-for": "203.0.113.1" };
  const password = "a new password";
  const set = await vault.post(
    sessionOperationPath.app_set_password,
    { token, password },
    { "x-forwarded-for": home },
  );
  expect(set.outcome()).toBe("200");
  expect((await logInFrom(vault, home, password)).outcome()).toBe("200");

  for (let guess = 0; guess < 6; guess += 1) await logInFrom(vault, stranger, "wrong");
  expect((await logInFrom(vault, "203.0.113.1", password)).outcome()).toBe("429 rate_limited");
  await vault.post(sessionOperationPath.app_request_password, { email: "bob@example.com" });
  const bob = (await mailTo(vault.mailDirectory, "bob@example.com")).token;
  expect(
    (await vault.post(sessionOperationPath.app_set_password, { token: bob, password }, cafe))
      .status,
  ).toBe(200);
  const logInBob = (address: string, tried: string) =>
    vault.post(
      sessionOperationPath.app_log_in,
      { email: "bob@example.com", password: tried },
      { "x-forwarded-for": address },
    );
  for (let guess = 0; guess < 6; guess += 1) await logInBob(stranger, "wrong");
  expect((await logInBob("203.0.113.1", password)).outcome()).toBe("200");
});

test("a network is known for 90 days after a login", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock, trustedProxies: ["127.0.0.1"] });
  const attack = async (): Promise<string> => {
    for (let guess = 0; guess < 6; guess += 1) await logInFrom(vault, "198.51.100.1", "wrong");
    return (await logInFrom(vault, "192.0.2.1")).outcome();
  };
  expect((await logInFrom(vault, "192.0.2.1")).status).toBe(200);
  clock.stepWall(90 * 24 * 60 * MINUTE - 1);
  expect(await attack()).toBe("200");
  clock.stepWall(90 * 24 * 60 * MINUTE);
  expect(await attack()).toBe("429 rate_limited");
});

test("the addresses of one IPv6 network are throttled together", async () => {
  await using vault = await TestVault.start({
    clock: new VirtualClock(),
    trustedProxies: ["127.0.0.1"],
    limits: { loginFailuresPerNetwork: 3, loginFailuresPerAccount: 100 },
  });
  const outcomes: string[] = [];
  for (let host = 1; host <= 4; host += 1)
    outcomes.push((await logInFrom(vault, `2001:db8::${host}`, "wrong")).outcome());
  expect(outcomes).toEqual([...Array(3).fill("401 invalid_credentials"), "429 rate_limited"]);
});

test("the tokens of one account together have four times the request rate of one", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({
    clock,
    limits: { requestsPerSecond: 5, requestBurst: 10 },
  });
  const tokens: VaultClient[] = [];
  // One at a time: few logins of an account may wait for hashing.
  while (tokens.length < 8) tokens.push(await vault.client("ann@example.com"));
  const responses = await Promise.all(
    tokens.flatMap((token) => Array.from({ length: 10 }, () => token.call("list_file"))),
  );
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(40);
  expect((await (await vault.client("bob@example.com")).call("list_file")).status).toBe(200);
});

test("the request rate is 50 per second in bursts of 200 per token", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({
    clock,
    limits: { requestsPerSecond: 50, requestBurst: 200 },
  });
  const [one, other] = [
    await vault.client("ann@example.com"),
    await vault.client("ann@example.com"),
  ];
  const burst = await Promise.all(Array.from({ length: 200 }, () => one.call("list_file")));
  expect(burst.every((response) => response.status === 200)).toBe(true);
  const refused = await one.call("list_file");
  expect(refused.status).toBe(429);
  expect(refused.code()).toBe("rate_limited");
  expect(refused.headers["retry-after"]).toBe("1");
  expect((await other.call("list_file")).status).toBe(200);
  await clock.advance(20);
  expect((await one.call("list_file")).status).toBe(200);
  expect((await one.call("list_file")).status).toBe(429);
});
