import type { OutgoingHttpHeaders } from "node:http";
import { beforeEach, describe, expect, test } from "vitest";
import { operationPath, sessionOperationPath } from "../../src/protocol/operation-paths.ts";
import { mailTo } from "../lab/mail/smtp-server.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, type VaultResponse } from "../lab/vault/vault-client.ts";
import { WebSession } from "../lab/vault/web-session.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const ANN = "ann@example.com";
/** More guesses than any limit admits. */
const MANY_GUESSES = 300;

/** All clients have one address here, as behind a proxy that is not trusted. */
class Proxied implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly vault: TestVault;

  private constructor(clock: VirtualClock, vault: TestVault) {
    this.clock = clock;
    this.vault = vault;
  }

  static async start(): Promise<Proxied> {
    const clock = new VirtualClock();
    // Another test covers the rate of rejections.
    return new Proxied(
      clock,
      await TestVault.start({ clock, limits: { rejectionBurst: 1e6, unauthenticatedBurst: 1e6 } }),
    );
  }

  passwordOf(email = ANN): string {
    return this.vault.passwords.get(email) ?? "";
  }

  /** Logs in to the web application. */
  page(password: string, headers: OutgoingHttpHeaders = {}, email = ANN): Promise<VaultResponse> {
    return this.vault.post(sessionOperationPath.app_log_in, { email, password }, headers);
  }

  /** Logs in over the API. */
  api(password: string, userAgent: string | undefined): Promise<VaultResponse> {
    const body = { email: ANN, password, scope: scopeString(), expiration_hours: 1 };
    return this.vault.post(operationPath.generate_access_token, body, { "user-agent": userAgent });
  }

  /**
   * Returns the outcomes of a client that logs in once a second, each time after five guesses of a
   * stranger.
   */
  async outcomesUnderAttack(logIn: () => Promise<VaultResponse>): Promise<string[]> {
    const outcomes: string[] = [];
    for (let second = 0; second < 25; second += 1) {
      for (let guess = 0; guess < 5; guess += 1) {
        await this.page("wrong", { "x-forwarded-for": "198.51.100.7" });
        this.clock.stepWall(100);
      }
      outcomes.push((await logIn()).outcome());
      this.clock.stepWall(500);
    }
    return outcomes;
  }

  /**
   * Returns the number of guesses that are evaluated in a time, of a stranger who sends each as
   * soon as it would not be throttled.
   */
  async evaluated(
    guess: () => Promise<VaultResponse>,
    periodMs: number,
    meanwhile = async () => undefined,
  ): Promise<number> {
    let count = 0;
    for (const end = this.clock.now() + periodMs; this.clock.now() < end && count < MANY_GUESSES;) {
      const response = await guess();
      if (response.status === 401) {
        count += 1;
        continue;
      }
      this.clock.stepWall(Number(response.headers["retry-after"]) * 1000);
      await meanwhile();
    }
    return count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.vault[Symbol.asyncDispose]();
  }
}

/** Returns the device cookie that a response sets, as a browser would send it back. */
function deviceOf({ headers }: VaultResponse): string {
  const cookie = headers["set-cookie"]?.find((set) => set.startsWith("vaultsync_device="));
  return cookie?.split(";", 1).join() ?? "";
}

/**
 * Guesses that a stranger in a known network could evaluate before clients were known: 5 without a
 * delay, then with delays up to a minute.
 */
const GUESSES_PER_HOUR = 70;

describe("a stranger who sends five wrong passwords a second from the address of the owner", () => {
  test("does not lock out the owner's browser", async () => {
    await using proxied = await Proxied.start();
    const cookie = deviceOf(await proxied.page(proxied.passwordOf()));
    const outcomes = await proxied.outcomesUnderAttack(() =>
      proxied.page(proxied.passwordOf(), { cookie }),
    );
    expect(outcomes).toEqual(Array(25).fill("200"));
  });

  test("does not lock out the owner's API client", async () => {
    await using proxied = await Proxied.start();
    await proxied.api(proxied.passwordOf(), "deployer/1.0");
    const outcomes = await proxied.outcomesUnderAttack(() =>
      proxied.api(proxied.passwordOf(), "deployer/1.0"),
    );
    expect(outcomes).toEqual(Array(25).fill("200"));
  });

  test("locks out clients that are not known", async () => {
    await using proxied = await Proxied.start();
    await proxied.api(proxied.passwordOf(), "deployer/1.0");
    for (const logIn of [
      () => proxied.page(proxied.passwordOf()),
      () => proxied.api(proxied.passwordOf(), "deployer/1.1"),
      () => proxied.api(proxied.passwordOf(), undefined),
    ]) {
      expect(await proxied.outcomesUnderAttack(logIn)).toEqual(Array(25).fill("429 rate_limited"));
    }
  });
});

describe("strangers from many addresses who exhaust the attempts of an account", () => {
  const [HOME, AWAY] = ["192.0.2.1", "192.0.2.99"];
  type LogIn = (address: string, headers: OutgoingHttpHeaders) => Promise<VaultResponse>;
  let page: LogIn;
  let api: LogIn;
  let attack: () => Promise<void>;
  beforeEach(async () => {
    const vault = await TestVault.start({
      clock: new VirtualClock(),
      trustedProxies: ["127.0.0.1"],
    });
    const password = vault.passwords.get(ANN);
    const credentials = { email: ANN, password };
    const tokens = { ...credentials, scope: scopeString(), expiration_hours: 1 };
    page = (address, headers) =>
      vault.post(sessionOperationPath.app_log_in, credentials, {
        ...headers,
        "x-forwarded-for": address,
      });
    api = (address, headers) =>
      vault.post(operationPath.generate_access_token, tokens, {
        ...headers,
        "x-forwarded-for": address,
      });
    attack = async () => {
      for (let host = 1; host <= 60; host += 1) {
        await vault.post(
          sessionOperationPath.app_log_in,
          { ...credentials, password: "wrong" },
          { "x-forwarded-for": `198.51.100.${host}` },
        );
      }
    };
    return () => vault[Symbol.asyncDispose]();
  });

  test("do not lock out its user's browser, in whatever network", async () => {
    const cookie = deviceOf(await page(HOME, {}));
    await attack();
    expect((await page(AWAY, {})).outcome()).toBe("429 rate_limited");
    expect((await page(AWAY, { cookie })).outcome()).toBe("200");
  });

  test("do not lock out a client of the API in the network of its last login", async () => {
    const client = { "user-agent": "deployer/1.0" };
    await api(HOME, client);
    await attack();
    expect((await api(AWAY, client)).outcome()).toBe("429 rate_limited");
    expect((await api(HOME, client)).outcome()).toBe("200");
  });
});

describe("the guesses that are evaluated in an hour", () => {
  test("of a stranger are as many as without known clients, also while the owner logs in", async () => {
    await using proxied = await Proxied.start();
    const cookie = deviceOf(await proxied.page(proxied.passwordOf()));
    expect(await proxied.evaluated(() => proxied.page("wrong"), HOUR)).toBeLessThanOrEqual(
      GUESSES_PER_HOUR,
    );
    proxied.clock.stepWall(HOUR);
    const outcomes = new Set<string>();
    const logIn = async (): Promise<undefined> => {
      outcomes.add((await proxied.page(proxied.passwordOf(), { cookie })).outcome());
    };
    expect(await proxied.evaluated(() => proxied.page("wrong"), HOUR, logIn)).toBeLessThanOrEqual(
      GUESSES_PER_HOUR,
    );
    expect(outcomes).toEqual(new Set(["200"]));
  });

  test("of a stranger with the user-agent of a known client are at most 20 more", async () => {
    await using proxied = await Proxied.start();
    await proxied.api(proxied.passwordOf(), "deployer/1.0");
    let guesses = 0;
    // Each guess is counted by the client while it is admitted so, otherwise by the network.
    const guess = async (): Promise<VaultResponse> => {
      guesses += 1;
      return proxied.api("wrong", guesses % 2 === 0 ? "deployer/1.0" : "other/1.0");
    };
    expect(await proxied.evaluated(guess, HOUR)).toBeLessThanOrEqual(GUESSES_PER_HOUR + 20);
    expect(
      await proxied.evaluated(() => proxied.api("wrong", "deployer/1.0"), HOUR),
    ).toBeLessThanOrEqual(GUESSES_PER_HOUR);
  });

  test("with a stolen device cookie are five in 15 minutes, from however many networks", async () => {
    const clock = new VirtualClock();
    await using vault = await TestVault.start({ clock, trustedProxies: ["127.0.0.1"] });
    const password = vault.passwords.get(ANN) ?? "";
    const logIn = (tried: string, address: string, cookie = ""): Promise<VaultResponse> =>
      vault.post(
        sessionOperationPath.app_log_in,
        { email: ANN, password: tried },
        { cookie, "x-forwarded-for": address },
      );
    const cookie = deviceOf(await logIn(password, "192.0.2.1"));
    // The account is throttled for strangers.
    for (let guess = 0; guess < 6; guess += 1) await logIn("wrong", "198.51.100.1");
    const tried: string[] = [];
    for (let guess = 0; guess < 10; guess += 1)
      tried.push((await logIn("wrong", `203.0.113.${guess}`, cookie)).outcome());
    expect(tried).toEqual([
      ...Array(5).fill("401 invalid_credentials"),
      ...Array(5).fill("429 rate_limited"),
    ]);
    clock.stepWall(15 * MINUTE);
    expect((await logIn(password, "203.0.113.1", cookie)).outcome()).toBe("200");
  });
});

/** Returns the outcome of the right password with this cookie, while a stranger guesses. */
const underAttack = async (
  proxied: Proxied,
  cookie: string,
  password = proxied.passwordOf(),
): Promise<string> => {
  for (let guess = 0; guess < 6; guess += 1) await proxied.page("wrong");
  return (await proxied.page(password, { cookie })).outcome();
};

describe("the device cookie", () => {
  test("is hidden from scripts, sent to the server only, and names no account", async () => {
    await using secure = await TestVault.start({ appUrl: "https://vault.example.com" });
    const credentials = { email: ANN, password: secure.passwords.get(ANN) };
    const [, cookie = ""] =
      (await secure.post(sessionOperationPath.app_log_in, credentials)).headers["set-cookie"] ?? [];
    expect(cookie).toMatch(
      /^__Host-vaultsync_device=[\w-]{22}\.[0-9]+\.[\w-]{43}; Max-Age=15552000; Path=\/; HttpOnly; Secure; SameSite=Strict$/u,
    );
    expect(
      (await secure.post(sessionOperationPath.app_log_in, { ...credentials, password: "wrong" }))
        .headers["set-cookie"],
    ).toBe(undefined);
  });

  test("of another account, or one that was changed, makes no client known", async () => {
    await using proxied = await Proxied.start();
    const cookie = deviceOf(await proxied.page(proxied.passwordOf()));
    const bobs = deviceOf(
      await proxied.page(proxied.passwordOf("bob@example.com"), {}, "bob@example.com"),
    );
    const [id = "", expiresAt = "", mac = ""] = (cookie.split("=")[1] ?? "").split(".");
    const flipped = mac.startsWith("A") ? `B${mac.slice(1)}` : `A${mac.slice(1)}`;
    for (const value of [
      `${id.slice(1)}A.${expiresAt}.${mac}`,
      `${id}.${Number(expiresAt) + 1}.${mac}`,
      `${id}.${expiresAt}.${flipped}`,
      `${id}.${expiresAt}.`,
      `${id}.${expiresAt}`,
      "",
    ]) {
      expect([value, await underAttack(proxied, `vaultsync_device=${value}`)]).toEqual([
        value,
        "429 rate_limited",
      ]);
    }
    expect(await underAttack(proxied, bobs)).toBe("429 rate_limited");
    expect(await underAttack(proxied, cookie)).toBe("200");
  });

  test("ends after 180 days", async () => {
    await using proxied = await Proxied.start();
    const cookie = deviceOf(await proxied.page(proxied.passwordOf()));
    proxied.clock.stepWall(180 * DAY - 1000);
    // Its network is known no longer, the device is.
    expect(await underAttack(proxied, cookie)).toBe("200");
    proxied.clock.stepWall(1000);
    expect(await underAttack(proxied, cookie)).toBe("429 rate_limited");
  });

  test("ends with the password, and a change of the password sets another one", async () => {
    await using proxied = await Proxied.start();
    const { vault } = proxied;
    const session = await WebSession.logIn(vault, ANN);
    const former = deviceOf(await proxied.page(proxied.passwordOf()));
    const [changed, reset] = ["a good new password", "another good password"];
    const change = await session.app("app_change_password", {
      password: proxied.passwordOf(),
      new_password: changed,
    });
    expect(await underAttack(proxied, former, changed)).toBe("429 rate_limited");
    expect(await underAttack(proxied, deviceOf(change), changed)).toBe("200");

    await vault.post(sessionOperationPath.app_request_password, { email: ANN });
    const { token } = await mailTo(vault.mailDirectory, ANN);
    const set = await vault.post(sessionOperationPath.app_set_password, { token, password: reset });
    expect(await underAttack(proxied, deviceOf(change), reset)).toBe("429 rate_limited");
    expect(await underAttack(proxied, deviceOf(set), reset)).toBe("200");
  });
});

test("the newest eight user-agents of an account in a network are known", async () => {
  await using proxied = await Proxied.start();
  const agents = Array.from({ length: 9 }, (_, index) => `deployer/${index}`);
  for (const agent of [...agents, "deployer/1"]) {
    proxied.clock.stepWall(1);
    expect((await proxied.api(proxied.passwordOf(), agent)).outcome()).toBe("200");
  }
  for (let guess = 0; guess < 6; guess += 1) await proxied.page("wrong");
  const known: string[] = [];
  for (const agent of agents)
    known.push((await proxied.api(proxied.passwordOf(), agent)).outcome());
  expect(known).toEqual(["429 rate_limited", ...Array(8).fill("200")]);
});

test("the operator stays a known client when its version changes, and no other client", async () => {
  await using proxied = await Proxied.start();
  for (const agent of ["vaultsync/0.9.1", "deployer/1.0"])
    expect((await proxied.api(proxied.passwordOf(), agent)).outcome()).toBe("200");
  for (let guess = 0; guess < 6; guess += 1) await proxied.page("wrong");
  const outcomes: string[] = [];
  for (const agent of ["vaultsync/1.0.0-rc.1", "vaultsync", "vaultsyncer/1.0", "deployer/1.1"])
    outcomes.push((await proxied.api(proxied.passwordOf(), agent)).outcome());
  expect(outcomes).toEqual(["200", "200", "429 rate_limited", "429 rate_limited"]);
});

test("the user-agent of a client is known for 90 days, in its network", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock, trustedProxies: ["127.0.0.1"] });
  const logIn = async (
    address: string,
    password = vault.passwords.get(ANN) ?? "",
    agent = "deployer/1.0",
  ): Promise<string> => {
    const body = { email: ANN, password, scope: scopeString(), expiration_hours: 1 };
    const headers = { "user-agent": agent, "x-forwarded-for": address };
    return (await vault.post(operationPath.generate_access_token, body, headers)).outcome();
  };
  const [home, elsewhere] = ["192.0.2.1", "198.51.100.1"];
  const attack = async (): Promise<void> => {
    for (const address of [home, elsewhere])
      for (let guess = 0; guess < 6; guess += 1) await logIn(address, "wrong", "curl/8");
  };
  await logIn(home);
  clock.stepWall(90 * DAY - 1);
  await attack();
  expect([await logIn(elsewhere), await logIn(home)]).toEqual(["429 rate_limited", "200"]);
  clock.stepWall(90 * DAY);
  await attack();
  expect(await logIn(home)).toBe("429 rate_limited");
});
