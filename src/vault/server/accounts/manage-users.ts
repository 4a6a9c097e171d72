import { randomUUID } from "node:crypto";
import type { Clock } from "../../../lib/clock.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import { defaultPasswordCost } from "../limits.ts";
import type { AdminAction } from "../store/records.ts";
import type { Store, Transaction } from "../store/store.ts";
import { hashPassword } from "./password-hasher.ts";
import { passwordProblem } from "./password-rules.ts";
import { replacePassword } from "./change-password.ts";
import { hasMuch, removeBelongings } from "./remove-belongings.ts";
import { insertUser, newCredentials } from "./users.ts";

/** Queues a line of the audit log for the server to write. */
async function record(
  { adminActions }: Transaction,
  action: AdminAction["action"],
  email: string,
  now: number,
): Promise<void> {
  await adminActions.insert({ id: randomUUID(), at: now, action, email });
}

/** @throws Error */
async function requireUser({ users }: Transaction, email: string): Promise<void> {
  if (!(await users.find(email)))
    throw new Error("no user has this email: list them with `vaultsync vault user list`");
}

/** Requires that a user can change what is handed over. @throws Error */
async function requireEnabled({ users }: Transaction, email: string): Promise<void> {
  if ((await users.find(email))?.disabled === true)
    throw new Error(`${email} is disabled: choose another user, or enable this one first`);
}

/** @throws Error */
async function checkPassword(password: Redacted<string>, email: string): Promise<void> {
  const problem = await passwordProblem(password.reveal(), email);
  if (problem !== undefined) throw new Error(`invalid password: it ${problem}`);
}

/** Numbers of what a deletion removes with an account. */
export interface Belongings {
  readonly secrets: number;
  readonly files: number;
  readonly teams: number;
}

type UserStore = Pick<Store, "read" | "write" | "scrub">;

/**
 * Changes that the operator of a vault makes to its users; each is one transaction, except the
 * deletion of a user who has much, and leaves a line in the audit log.
 */
export class UserManager {
  readonly #store: UserStore;
  readonly #clock: Clock;

  constructor(store: UserStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** @throws Error when the email is invalid or taken, or the password is not good enough */
  async add(email: string, password: Redacted<string>): Promise<string> {
    await checkPassword(password, canonicalEmail(email));
    const credentials = await newCredentials(email, password, defaultPasswordCost);
    const now = this.#clock.now();
    await this.#store.write(async (transaction) => {
      await insertUser(transaction, credentials, now);
      await record(transaction, "add", credentials.email, now);
    });
    return credentials.email;
  }

  /** Ends all sessions and tokens. @throws Error when there is no such user */
  async revokeTokens(email: string): Promise<string> {
    return this.#change("revoke-tokens", email, async ({ tokens, sessions }, user) => {
      await tokens.removeOf(user);
      await sessions.removeOf(user);
    });
  }

  /**
   * Sets a password, ends all sessions and tokens. @throws Error when there is no such user or the
   * password is not good enough
   */
  async setPassword(email: string, password: Redacted<string>): Promise<string> {
    await checkPassword(password, canonicalEmail(email));
    const passwordHash = await hashPassword(password.reveal(), defaultPasswordCost);
    return this.#change("set-password", email, (transaction, user, now) =>
      replacePassword(transaction, { email: user, passwordHash }, now),
    );
  }

  /**
   * Ends all sessions and tokens, and rejects logins and links of emails until `enable`. The user
   * keeps secrets, files, teams and shares.
   * @throws Error when there is no such user
   */
  async disable(email: string): Promise<string> {
    return this.#change(
      "disable",
      email,
      async ({ users, tokens, sessions, emailProofs }, user) => {
        await users.setDisabled(user, true);
        await tokens.removeOf(user);
        await sessions.removeOf(user);
        await emailProofs.removeOf(user);
      },
    );
  }

  /**
   * Undoes `disable`; ended sessions and tokens stay ended. @throws Error when there is no such
   * user
   */
  async enable(email: string): Promise<string> {
    return this.#change("enable", email, ({ users }, user) => users.setDisabled(user, false));
  }

  /**
   * Makes another user the creator of all teams that a user created; the former creator stays a
   * member. Returns the number of teams.
   * @throws Error when there is no such user, the new creator is disabled, or the two are the same
   */
  async handOverTeams(email: string, to: string): Promise<number> {
    const heir = canonicalEmail(to);
    let count = 0;
    await this.#change("hand-over-teams", email, async (transaction, user, now) => {
      if (heir === user) throw new Error("expected two different users");
      await requireUser(transaction, heir);
      await requireEnabled(transaction, heir);
      const teams = await transaction.teams.createdBy(user);
      for (const groupId of teams) {
        const team = await transaction.teams.find(groupId);
        if (!team)
          throw new Error(
            `the row of the team ${JSON.stringify(groupId)} was not written by a vault server: delete the team`,
          );
        await transaction.teams.setCreator(team, heir);
      }
      await record(transaction, "receive-teams", heir, now);
      count = teams.length;
    });
    return count;
  }

  /** Returns what a deletion would remove. @throws Error when there is no such user */
  async belongings(email: string): Promise<Belongings> {
    const user = canonicalEmail(email);
    return this.#store.read(async (transaction) => {
      await requireUser(transaction, user);
      return transaction.users.belongings(user);
    });
  }

  /**
   * Removes a user with all secrets, files, shares and teams, and overwrites their bytes. All is
   * removed, or nothing; but a user who has much is disabled first, and then removed in several
   * transactions: one that deletes many rows takes a time that is quadratic in their number, and
   * other writes wait for it.
   * @throws Error when there is no such user
   */
  async delete(email: string): Promise<string> {
    const owner = canonicalEmail(email);
    if (await this.#store.read((transaction) => hasMuch(transaction, owner))) {
      await this.disable(owner);
      await removeBelongings(this.#store, this.#clock, owner);
    }
    const deleted = await this.#change("delete", email, async (transaction, user) => {
      const { tokens, sessions, teams, secrets, files, grants, users } = transaction;
      await tokens.removeOf(user);
      await sessions.removeOf(user);
      for (const groupId of await teams.createdBy(user)) await teams.remove(groupId);
      await secrets.removeOf(user);
      await files.removeOf(user);
      await grants.removeOf(user);
      await users.remove(user);
    });
    await this.#store.scrub();
    return deleted;
  }

  /** Returns the canonical email. */
  #change(
    action: AdminAction["action"],
    email: string,
    work: (transaction: Transaction, email: string, now: number) => Promise<void>,
  ): Promise<string> {
    const user = canonicalEmail(email);
    const now = this.#clock.now();
    return this.#store.write(async (transaction) => {
      await requireUser(transaction, user);
      await work(transaction, user, now);
      await record(transaction, action, user, now);
      return user;
    });
  }
}
