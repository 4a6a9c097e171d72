import { randomUUID } from "node:crypto";
import type { Clock } from "../../../lib/clock.ts";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import { endOldLogins } from "../accounts/tokens.ts";
import type { AdminAction, Identity } from "../store/records.ts";
import type { Store, Transaction } from "../store/store.ts";
import { parseScope } from "../../../protocol/scope.ts";

async function record(
  { adminActions }: Transaction,
  action: AdminAction["action"],
  { email, issuer, subject }: Identity,
  now: number,
): Promise<void> {
  await adminActions.insert({
    id: randomUUID(),
    at: now,
    action,
    email,
    identity: `${issuer} ${subject}`,
  });
}

/**
 * Changes that the operator of a vault makes to the identities of workloads; each is one
 * transaction, and leaves a line in the audit log.
 */
export class IdentityManager {
  readonly #store: Store;
  readonly #clock: Pick<Clock, "now">;

  constructor(store: Store, clock: Pick<Clock, "now">) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Lets an identity log in to an account, or changes what it may reach; its former tokens end.
   * @throws Error when there is no such user, or the scope is invalid
   */
  async add({ email: address, ...rest }: Identity): Promise<Identity> {
    parseScope(rest.scope);
    const identity = { ...rest, email: canonicalEmail(address) };
    const { issuer, subject, email } = identity;
    const now = this.#clock.now();
    await this.#store.write(async (transaction) => {
      const { users, identities } = transaction;
      if (!(await users.find(email)))
        throw new Error("no user has this email: list them with `vaultsync vault user list`");
      const before = (await identities.list()).find(
        (one) => one.issuer === issuer && one.subject === subject,
      );
      if (before) await endOldLogins(transaction, before, 0);
      await identities.put(identity, now);
      await record(transaction, "add-identity", identity, now);
    });
    return identity;
  }

  async list(): Promise<Identity[]> {
    return this.#store.read(({ identities }) => identities.list());
  }

  /**
   * Rejects further logins of an identity, and ends its tokens. @throws Error when there is none
   */
  async remove({ issuer, subject }: Pick<Identity, "issuer" | "subject">): Promise<Identity> {
    const now = this.#clock.now();
    return this.#store.write(async (transaction) => {
      const identity = (await transaction.identities.list()).find(
        (one) => one.issuer === issuer && one.subject === subject,
      );
      if (!identity)
        throw new Error("no such identity: list them with `vaultsync vault identity list`");
      await transaction.identities.remove(issuer, subject);
      await endOldLogins(transaction, identity, 0);
      await record(transaction, "remove-identity", identity, now);
      return identity;
    });
  }
}
