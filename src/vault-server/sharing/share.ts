import type { Permission, ShareRecord } from "../../protocol/answers.ts";
import type { Recipients } from "../../protocol/requests.ts";
import type { Caller } from "../auth/authenticate.ts";
import { REFRESH_IDLE_MS } from "../auth/tokens.ts";
import type { VaultContext } from "../context.ts";
import { requireCreator } from "../rules/permission.ts";
import { candidates } from "../secrets/find-secret.ts";
import { forEachName } from "../secrets/for-each-name.ts";
import type { Grantee, Transaction } from "../store/store.ts";
import { memberTeam } from "../teams/teams.ts";
import type { Invitation } from "./invitations.ts";

export interface ShareRequest {
  readonly names: readonly string[];
  readonly to: Recipients;
  readonly permission: Permission;
}

interface Recipient {
  readonly grantee: Grantee;
  readonly name: string;
  readonly invitations: readonly Invitation[];
}

async function invitation(
  { tokens, users }: Transaction,
  from: string,
  to: string,
  now: number,
): Promise<Invitation | undefined> {
  if (await tokens.hasLive(to, now - REFRESH_IDLE_MS, now)) return undefined;
  return { to, from, reason: (await users.find(to)) ? "log-in" : "sign-up" };
}

async function invitationsFor(
  transaction: Transaction,
  from: string,
  people: readonly string[],
  now: number,
): Promise<Invitation[]> {
  const invitations: Invitation[] = [];
  for (const to of people) {
    const missing = await invitation(transaction, from, to, now);
    if (missing) invitations.push(missing);
  }
  return invitations;
}

/** @throws ServiceError `team_not_found`, `forbidden` when the caller is no member */
async function recipientsOf(transaction: Transaction, caller: Caller, to: Recipients, now: number): Promise<Recipient[]> {
  if (to.kind === "team") {
    const { groupId, members } = await memberTeam(transaction, caller, to.groupId);
    const invitations = await invitationsFor(transaction, caller.email, members, now);
    return [{ grantee: { kind: "team", groupId }, name: groupId, invitations }];
  }
  const recipients: Recipient[] = [];
  for (const email of new Set(to.emails)) {
    const invitations = await invitationsFor(transaction, caller.email, [email], now);
    recipients.push({ grantee: { kind: "person", email }, name: email, invitations });
  }
  return recipients;
}

async function grantAll(
  transaction: Transaction,
  caller: Caller,
  request: ShareRequest,
  now: number,
): Promise<{ shared: ShareRecord[]; invitations: readonly Invitation[] }> {
  const secrets = await forEachName(request.names, async (name) =>
    requireCreator(await candidates(transaction, caller, name, now), caller.scope),
  );
  const recipients = await recipientsOf(transaction, caller, request.to, now);
  const { permission } = request;
  const shared: ShareRecord[] = [];
  for (const { secret } of secrets) {
    for (const { grantee, name, invitations } of recipients) {
      await transaction.grants.grant(secret.id, grantee, permission);
      shared.push({ key_name: secret.name, to: name, permission, state: invitations.length === 0 ? "active" : "invited" });
    }
  }
  return { shared, invitations: recipients.flatMap((recipient) => recipient.invitations) };
}

/**
 * Grants the caller's secrets to people or one team, all or nothing over names × recipients; a grant that exists gets the new
 * permission. Who has no account or no live session is invited; their grants wait. Source: the interface, "share".
 * @throws ServiceError `secret_not_found`, `out_of_scope`, `forbidden`, `team_not_found`
 */
export async function share(context: VaultContext, caller: Caller, request: ShareRequest): Promise<ShareRecord[]> {
  const { store, clock, invitations: port, logger } = context;
  const { shared, invitations } = await store.write((transaction) => grantAll(transaction, caller, request, clock.now()));
  if (invitations.length > 0) {
    try {
      await port.invite(invitations);
    } catch (error) {
      logger.error({ operation: "share", error }, "invitations could not be sent");
    }
  }
  return shared;
}
