import { randomUUID } from "node:crypto";
import type { Permission, ShareRecord } from "../../protocol/responses.ts";
import type { Recipients } from "../../protocol/schemas/recipients.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { requireCreator } from "../access/permission.ts";
import { candidates } from "../secrets/find-secret.ts";
import { forEachUniqueName } from "../secrets/for-each-unique-name.ts";
import type { Grantee } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { memberTeam } from "../teams/teams.ts";
import { absentOf, stateOf } from "./share-state.ts";

export interface ShareRequest {
  readonly names: readonly string[];
  readonly to: Recipients;
  readonly permission: Permission;
}

interface Recipient {
  readonly grantee: Grantee;
  readonly name: string;
  readonly absent: readonly string[];
}

/** @throws ServiceError `team_not_found` */
async function recipientsOf(transaction: Transaction, caller: Caller, to: Recipients, now: number): Promise<Recipient[]> {
  if (to.kind === "team") {
    const { groupId, members } = await memberTeam(transaction, caller, to.groupId);
    return [{ grantee: { kind: "team", groupId }, name: groupId, absent: await absentOf(transaction, caller, members, now) }];
  }
  const recipients: Recipient[] = [];
  for (const email of new Set(to.emails)) {
    recipients.push({
      grantee: { kind: "person", email },
      name: email,
      absent: await absentOf(transaction, caller, [email], now),
    });
  }
  return recipients;
}

/** Queues one email per user, no matter how many secrets are shared with them. */
async function invite({ outbox }: Transaction, from: string, emails: readonly string[], now: number): Promise<void> {
  for (const to of emails) {
    await outbox.insert({ id: randomUUID(), kind: "invitation", to, from, attempts: 0, dueAt: now });
  }
}

async function grantAll(
  transaction: Transaction,
  caller: Caller,
  request: ShareRequest,
  now: number,
): Promise<{ shared: ShareRecord[]; invited: readonly string[] }> {
  const secrets = await forEachUniqueName(request.names, async (name) =>
    requireCreator(await candidates(transaction, caller, name, now), caller.scope),
  );
  const recipients = await recipientsOf(transaction, caller, request.to, now);
  const { permission } = request;
  const shared: ShareRecord[] = [];
  for (const { secret } of secrets) {
    const grantees = recipients.map(({ grantee }) => grantee);
    await transaction.grants.grant(secret.id, grantees, permission);
    for (const { name, absent } of recipients)
      shared.push({ key_name: secret.name, to: name, permission, state: stateOf(absent) });
  }
  const invited = recipients.flatMap(({ absent }) => absent);
  await invite(transaction, caller.email, invited, now);
  return { shared, invited };
}

/**
 * Grants the caller's secrets to users or one team: all names and recipients, or none. An existing grant gets the new permission.
 * Users without an account or a valid session are sent an email asynchronously.
 * @throws ServiceError `secret_not_found`, `out_of_scope`, `forbidden`, `team_not_found`
 */
export async function share(
  { store, clock, mailer }: VaultContext,
  caller: Caller,
  request: ShareRequest,
): Promise<ShareRecord[]> {
  const { shared, invited } = await store.write((transaction) => grantAll(transaction, caller, request, clock.now()));
  if (invited.length > 0) mailer.wake();
  return shared;
}
