import { describe, expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { AuthError, TransientError } from "../vault-error.ts";
import { type AccountLogins, LoginGate } from "./login-gate.ts";

const signal = new AbortController().signal;
const MINUTE = 60_000;
const URL = "https://vault.example.com";

/** A vault with one accepted password, and a count of the logins that it rejected. */
class Vault {
  readonly clock = new VirtualClock();
  readonly gate = new LoginGate(this.clock);
  password = "canary-new";
  rejected = 0;
  accepted = 0;

  account(email = "ops@example.com", url = URL): AccountLogins {
    return this.gate.account(url, email, "shop/");
  }

  /** Logs in as one of many connections of the account. */
  logIn(password: string, account = this.account()): Promise<string> {
    return account.run(account.digest(new Redacted(password)), signal, () => {
      if (password === this.password) this.accepted += 1;
      else this.rejected += 1;
      return password === this.password
        ? Promise.resolve("token")
        : Promise.reject(new AuthError("generate_access_token", "credentials"));
    });
  }
}

/** Logs in with every connection, and returns the outcomes. */
const all = (vault: Vault, passwords: readonly string[]): Promise<PromiseSettledResult<string>[]> =>
  Promise.allSettled(passwords.map((password) => vault.logIn(password, vault.account())));

const twenty = (password: string): string[] => Array.from({ length: 20 }, () => password);

describe("LoginGate after a rejected login", () => {
  test("20 connections of one account send one login per step of 1, 5, 15 and 60 minutes", async () => {
    const vault = new Vault();
    const counts: number[] = [];
    for (const minutes of [1, 5, 15, 60, 60]) {
      await all(vault, twenty("canary-old"));
      await vault.clock.advance(minutes * MINUTE - 1);
      await all(vault, twenty("canary-old"));
      counts.push(vault.rejected);
      await vault.clock.advance(1);
    }
    expect(counts).toEqual([1, 2, 3, 4, 5]);
  });

  test("an account is the same for every spelling of its email and path of its vault", async () => {
    const vault = new Vault();
    await failureOf(vault.logIn("canary-old", vault.account("Ops@Example.com", `${URL}/a`)));
    await failureOf(vault.logIn("canary-old", vault.account("ops@example.com", `${URL}:443/b`)));
    expect(vault.rejected).toBe(1);
  });

  test("other accounts and other vaults are not paused", async () => {
    const vault = new Vault();
    await failureOf(vault.logIn("canary-old"));
    await failureOf(vault.logIn("canary-old", vault.account("dba@example.com")));
    await failureOf(
      vault.logIn("canary-old", vault.account("ops@example.com", "https://other.example.com")),
    );
    expect(vault.rejected).toBe(3);
  });

  test("another password is tried immediately, and its success does not free the rejected one", async () => {
    const vault = new Vault();
    await failureOf(vault.logIn("canary-old"));
    await expect(vault.logIn("canary-new")).resolves.toBe("token");
    await all(vault, [...twenty("canary-old"), "canary-new"]);
    expect(vault.accepted).toBe(2);
    expect(vault.rejected).toBe(1);
  });

  test("more than eight rejected passwords of a tenant pause its other ones", async () => {
    const vault = new Vault();
    await all(
      vault,
      Array.from({ length: 50 }, (_, index) => `canary-${index}`),
    );
    expect(vault.rejected).toBe(9);
    expect(await failureOf(vault.logIn("canary-new"))).toMatchObject({
      kind: "auth",
      retryAfterMs: 60 * MINUTE,
    });
  });

  test("an hour without a rejection starts again with a minute", async () => {
    const vault = new Vault();
    await failureOf(vault.logIn("canary-old"));
    await vault.clock.advance(61 * MINUTE + 1);
    expect(await failureOf(vault.logIn("canary-old"))).toMatchObject({ retryAfterMs: MINUTE });
  });

  test("an hour without a rejection frees every rejected password", async () => {
    const vault = new Vault();
    const account = vault.account();
    await failureOf(vault.logIn("canary-old"));
    await vault.clock.advance(62 * MINUTE);
    await failureOf(vault.logIn("canary-older"));
    expect(account.paused(account.digest(new Redacted("canary-older")))).toMatchObject({
      retryAfterMs: MINUTE,
    });
    expect(account.paused(account.digest(new Redacted("canary-old")))).toBeUndefined();
  });

  test("a success ends the sequence when no other password was rejected", async () => {
    const vault = new Vault();
    await failureOf(vault.logIn("canary-old"));
    await vault.clock.advance(MINUTE);
    vault.password = "canary-old";
    await vault.logIn("canary-old");
    vault.password = "canary-new";
    expect(await failureOf(vault.logIn("canary-old"))).toMatchObject({ retryAfterMs: MINUTE });
  });

  test("only an AuthError counts", async () => {
    const vault = new Vault();
    const account = vault.account();
    const unreachable = new TransientError("generate_access_token", "unreachable");
    const digest = account.digest(new Redacted("canary-new"));
    expect(await failureOf(account.run(digest, signal, () => Promise.reject(unreachable)))).toBe(
      unreachable,
    );
    await expect(vault.logIn("canary-new")).resolves.toBe("token");
  });

  test("the pause is measured with the monotonic clock, and its end shown on the wall clock", async () => {
    const vault = new Vault();
    const until = vault.clock.now() + MINUTE;
    await failureOf(vault.logIn("canary-old"));
    const account = vault.account();
    const digest = account.digest(new Redacted("canary-old"));
    expect(account.pausedUntil(digest)).toBe(until);
    expect(account.pausedUntil(account.digest(new Redacted("canary-new")))).toBeUndefined();
    vault.clock.stepWall(10 * MINUTE);
    await vault.clock.advance(MINUTE - 1);
    expect(account.pausedUntil(digest)).toBe(until);
    await vault.clock.advance(1);
    expect(account.pausedUntil(digest)).toBeUndefined();
  });
});

describe("AccountLogins.restore", () => {
  test.each([
    [30_000, 30_000, 5],
    [4 * MINUTE, 4 * MINUTE, 15],
    [14 * MINUTE, 14 * MINUTE, 60],
    [59 * MINUTE, 59 * MINUTE, 60],
    [24 * 60 * MINUTE, 60 * MINUTE, 60],
  ])(
    "continues a pause of %d ms for %d ms, and then waits %d minutes",
    async (left, expected, next) => {
      const vault = new Vault();
      const account = vault.account();
      account.restore(account.digest(new Redacted("canary-old")), vault.clock.now() + left);
      expect(await failureOf(vault.logIn("canary-old"))).toMatchObject({ retryAfterMs: expected });
      await expect(vault.logIn("canary-new")).resolves.toBe("token");
      await vault.clock.advance(expected);
      expect(await failureOf(vault.logIn("canary-old"))).toMatchObject({
        retryAfterMs: next * MINUTE,
      });
      expect(vault.rejected).toBe(1);
    },
  );

  test("ignores a pause that is over, and never shortens one", async () => {
    const vault = new Vault();
    const account = vault.account();
    const digest = account.digest(new Redacted("canary-old"));
    account.restore(digest, vault.clock.now());
    account.restore(digest, vault.clock.now() - MINUTE);
    expect(account.paused(digest)).toBeUndefined();
    account.restore(digest, vault.clock.now() + 10 * MINUTE);
    account.restore(digest, vault.clock.now() + MINUTE);
    const rejection = {
      operation: "generate_access_token",
      code: "credentials",
      retryAfterMs: 10 * MINUTE,
    };
    expect(account.paused(digest)).toMatchObject(rejection);
  });

  test("a pause that is over counts as no rejection, and a longer one replaces a shorter", async () => {
    const vault = new Vault();
    const account = vault.account();
    account.restore(account.digest(new Redacted("canary-old")), vault.clock.now() - MINUTE);
    expect(await failureOf(vault.logIn("canary-old"))).toMatchObject({ retryAfterMs: MINUTE });
    const digest = account.digest(new Redacted("canary-older"));
    account.restore(digest, vault.clock.now() + 10 * MINUTE);
    expect(account.paused(digest)).toMatchObject({ retryAfterMs: 10 * MINUTE });
  });
});

describe("LoginGate limits simultaneous logins", () => {
  test("to one per account and four per vault", async () => {
    const vault = new Vault();
    const running = new Map<string, number>();
    const most = new Map<string, number>();
    const enter = (name: string, by: number): void => {
      running.set(name, (running.get(name) ?? 0) + by);
      most.set(name, Math.max(most.get(name) ?? 0, running.get(name) ?? 0));
    };
    const logIn = (email: string): Promise<void> => {
      const account = vault.account(email);
      return account.run(account.digest(new Redacted("canary")), signal, async () => {
        enter(email, 1);
        enter("vault", 1);
        await vault.clock.sleep(1_000);
        enter(email, -1);
        enter("vault", -1);
      });
    };
    const logins = Array.from({ length: 60 }, (_, index) =>
      logIn(`user-${index % 12}@example.com`),
    );
    await vault.clock.advance(15_000);
    await Promise.all(logins);
    expect(most.get("vault")).toBe(4);
    most.delete("vault");
    expect([...new Set(most.values())]).toEqual([1]);
  });

  test("an aborted wait leaves the queue", async () => {
    const vault = new Vault();
    const account = vault.account();
    const digest = account.digest(new Redacted("canary"));
    const first = account.run(digest, signal, () => vault.clock.sleep(1_000));
    const abort = new AbortController();
    const second = failureOf(account.run(digest, abort.signal, () => Promise.resolve()));
    abort.abort(new Error("closed"));
    expect(await second).toMatchObject({ message: "closed" });
    await vault.clock.advance(1_000);
    await first;
    await expect(account.run(digest, signal, () => Promise.resolve("third"))).resolves.toBe(
      "third",
    );
  });
});

test("a digest identifies credentials within one process only", () => {
  const digest = (vault: Vault, text: string): string => vault.account().digest(new Redacted(text));
  const vault = new Vault();
  expect(digest(vault, "canary")).toBe(digest(vault, "canary"));
  expect(digest(vault, "canary")).not.toBe(digest(vault, "canary-2"));
  expect(digest(vault, "canary")).not.toBe(digest(new Vault(), "canary"));
});

const HOUR = 60 * MINUTE;

/** A vault with one accepted password of one account. Several tenants log in to that account. */
class SharedVault {
  readonly clock = new VirtualClock();
  readonly gate = new LoginGate(this.clock);
  password = "canary-right";
  /** Passwords in the order in which they were sent. */
  readonly sent: string[] = [];

  logIn(tenant: string, password: string): Promise<string> {
    const account = this.gate.account("https://vault.example.com", "ops@example.com", tenant);
    return account.run(account.digest(new Redacted(password)), signal, () => {
      this.sent.push(password);
      if (password === this.password) return Promise.resolve("token");
      return Promise.reject(new AuthError("generate_access_token", "credentials"));
    });
  }

  /** Sends wrong passwords, each another one. */
  async guess(tenant: string, count: number): Promise<void> {
    const passwords = Array.from(
      { length: count },
      (_, index) => `canary-${tenant}-${this.sent.length + index}`,
    );
    await Promise.allSettled(passwords.map((password) => this.logIn(tenant, password)));
  }
}

describe("LoginGate with several tenants of one account", () => {
  test("sends at most nine rejected passwords of one tenant, and the right one of another", async () => {
    const vault = new SharedVault();
    await vault.guess("stranger/", 50);
    expect(vault.sent).toHaveLength(9);
    await expect(vault.logIn("shop/", "canary-right")).resolves.toBe("token");
  });

  test("says of a password that it does not send that too many others were rejected", async () => {
    const vault = new SharedVault();
    await vault.guess("stranger/", 9);
    expect(await failureOf(vault.logIn("stranger/", "canary-right"))).toMatchObject({
      code: "too_many_rejected",
      retryAfterMs: HOUR,
    });
    expect(vault.sent).not.toContain("canary-right");
  });

  test("never pauses a password that was accepted for the rejected ones of its own tenant", async () => {
    const vault = new SharedVault();
    await vault.logIn("shop/", "canary-right");
    await vault.guess("shop/", 9);
    await expect(vault.logIn("shop/", "canary-right")).resolves.toBe("token");
  });

  test("pauses a password that was accepted once it is rejected", async () => {
    const vault = new SharedVault();
    await vault.logIn("shop/", "canary-right");
    vault.password = "canary-changed";
    await failureOf(vault.logIn("shop/", "canary-right"));
    expect(await failureOf(vault.logIn("shop/", "canary-right"))).toMatchObject({
      code: "credentials",
      retryAfterMs: MINUTE,
    });
    await vault.guess("shop/", 8);
    expect(await failureOf(vault.logIn("shop/", "canary-changed"))).toMatchObject({
      code: "too_many_rejected",
    });
    expect(vault.sent.filter((password) => password === "canary-right")).toHaveLength(2);
  });

  test("sends one login per step for an outdated password that 20 tenants store", async () => {
    const vault = new SharedVault();
    const everyone = (): Promise<unknown> =>
      Promise.allSettled(
        Array.from({ length: 20 }, (_, index) => vault.logIn(`tenant-${index}/`, "canary-old")),
      );
    const counts: number[] = [];
    for (const minutes of [1, 5, 15, 60, 60]) {
      await everyone();
      await vault.clock.advance(minutes * MINUTE - 1);
      await everyone();
      counts.push(vault.sent.length);
      await vault.clock.advance(1);
    }
    expect(counts).toEqual([1, 2, 3, 4, 5]);
  });

  test("bounds the rejected passwords of many tenants together, and sends the first one of each", async () => {
    const vault = new SharedVault();
    for (let tenant = 0; tenant < 20; tenant += 1) await vault.guess(`stranger-${tenant}/`, 9);
    // 3 tenants with 9, one with 6 up to the 33rd, and one each of 16.
    expect(vault.sent).toHaveLength(33 + 16);
    await expect(vault.logIn("shop/", "canary-right")).resolves.toBe("token");
  });

  test("sends a bounded number of rejected passwords within a day", async () => {
    const vault = new SharedVault();
    for (let minute = 0; minute < 24 * 60; minute += 1) {
      for (let tenant = 0; tenant < 5; tenant += 1) await vault.guess(`stranger-${tenant}/`, 3);
      await vault.clock.advance(MINUTE);
    }
    expect(vault.sent.length).toBeLessThan(33 + 5 * 28);
  });

  test("counts a few rejected passwords of one tenant, whose passwords are rejected for days", async () => {
    const vault = new SharedVault();
    for (let hour = 0; hour < 48; hour += 1) {
      await vault.guess("stranger/", 3);
      await vault.clock.advance(HOUR + 1);
    }
    expect(vault.sent.length).toBeGreaterThan(48);
    await failureOf(vault.logIn("shop/", "canary-old"));
    await expect(vault.logIn("shop/", "canary-right")).resolves.toBe("token");
  });

  test("forgets the rejected passwords of a tenant after an hour without one, whatever others do", async () => {
    const vault = new SharedVault();
    await vault.guess("shop/", 9);
    await vault.clock.advance(HOUR + 1);
    await vault.guess("stranger/", 9);
    await vault.clock.advance(HOUR + 1);
    const before = vault.sent.length;
    await vault.guess("shop/", 9);
    expect(vault.sent.length - before).toBe(9);
  });
});
