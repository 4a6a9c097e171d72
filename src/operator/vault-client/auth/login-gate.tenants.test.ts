import { describe, expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { AuthError } from "../vault-error.ts";
import { LoginGate } from "./login-gate.ts";

const signal = new AbortController().signal;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A vault with one accepted password of one account. Several tenants log in to that account. */
class Vault {
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
    const vault = new Vault();
    await vault.guess("stranger/", 50);
    expect(vault.sent).toHaveLength(9);
    await expect(vault.logIn("shop/", "canary-right")).resolves.toBe("token");
  });

  test("says of a password that it does not send that too many others were rejected", async () => {
    const vault = new Vault();
    await vault.guess("stranger/", 9);
    expect(await failureOf(vault.logIn("stranger/", "canary-right"))).toMatchObject({
      code: "too_many_rejected",
      retryAfterMs: HOUR,
    });
    expect(vault.sent).not.toContain("canary-right");
  });

  test("never pauses a password that was accepted for the rejected ones of its own tenant", async () => {
    const vault = new Vault();
    await vault.logIn("shop/", "canary-right");
    await vault.guess("shop/", 9);
    await expect(vault.logIn("shop/", "canary-right")).resolves.toBe("token");
  });

  test("pauses a password that was accepted once it is rejected", async () => {
    const vault = new Vault();
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
    const vault = new Vault();
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
    const vault = new Vault();
    for (let tenant = 0; tenant < 20; tenant += 1) await vault.guess(`stranger-${tenant}/`, 9);
    // 3 tenants with 9, one with 6 up to the 33rd, and one each of 16.
    expect(vault.sent).toHaveLength(33 + 16);
    await expect(vault.logIn("shop/", "canary-right")).resolves.toBe("token");
  });

  test("sends a bounded number of rejected passwords within a day", async () => {
    const vault = new Vault();
    for (let minute = 0; minute < 24 * 60; minute += 1) {
      for (let tenant = 0; tenant < 5; tenant += 1) await vault.guess(`stranger-${tenant}/`, 3);
      await vault.clock.advance(MINUTE);
    }
    expect(vault.sent.length).toBeLessThan(33 + 5 * 28);
  });

  test("counts a few rejected passwords of one tenant, whose passwords are rejected for days", async () => {
    const vault = new Vault();
    for (let hour = 0; hour < 48; hour += 1) {
      await vault.guess("stranger/", 3);
      await vault.clock.advance(HOUR + 1);
    }
    expect(vault.sent.length).toBeGreaterThan(48);
    await failureOf(vault.logIn("shop/", "canary-old"));
    await expect(vault.logIn("shop/", "canary-right")).resolves.toBe("token");
  });

  test("forgets the rejected passwords of a tenant after an hour without one, whatever others do", async () => {
    const vault = new Vault();
    await vault.guess("shop/", 9);
    await vault.clock.advance(HOUR + 1);
    await vault.guess("stranger/", 9);
    await vault.clock.advance(HOUR + 1);
    const before = vault.sent.length;
    await vault.guess("shop/", 9);
    expect(vault.sent.length - before).toBe(9);
  });
});
