import { randomUUID } from "node:crypto";
import type { Permission, ShareRecord } from "../../../protocol/responses.ts";
import type { Recipients } from "../../../protocol/schemas/recipients.ts";
import { type Caller, type Charge, writeWide } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { requireCreator } from "../access/permission.ts";
import { errors } from "../errors.ts";
import { forEachUniqueName, ownCandidates } from "../secrets/find-secret.ts";
import type { Recipient as GrantRecipient, SecretIdentity } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { memberTeam } from "../teams/teams.ts";
import { withinQuota } from "../protection/within-quota.ts";
import { withinUnaccepted } from "../protection/within-unaccepted.ts";
import type { AskedAddresses } from "../protection/asked-addresses.ts";
import { absentOf, requireActive } from "../accounts/require-active.ts";

/** Returns the state of a share; a share with a team is active when no member is absent. */
function stateOf(absent: readonly string[]): ShareRecord["state"] {
  return absent.length === 0 ? "active" : "invited";
}

export interface ShareRequest {
  readonly names: readonly string[];
  readonly to: Recipients;
  readonly permission: Permission;
  /** False rejects the request when a recipient would be invited. */
  readonly invite: boolean;
}

/** A user or a team that a secret is to be shared with. */
interface Recipient {
  readonly grantee: GrantRecipient;
  readonly name: string;
  /** Addresses that receive the share. */
  readonly users: readonly string[];
  /** Those that would be invited. */
  readonly absent: readonly string[];
}

/** @throws ServiceError `team_not_found` */
async function recipientsOf(
  transaction: Transaction,
  caller: Caller,
  to: Recipients,
  now: number,
): Promise<Recipient[]> {
  if (to.kind === "team") {
    const { groupId, id, creator, members } = await memberTeam(transaction, caller, to.groupId);
    if (to.creator !== undefined && to.creator !== creator) throw errors.teamNotFound();
    const absent = await absentOf(transaction, caller, members, now);
    return [
      {
        grantee: { kind: "team", groupId, teamId: id },
        name: groupId,
        users: members.filter((email) => email !== caller.email),
        absent,
      },
    ];
  }
  const emails = [...new Set(to.emails)];
  const absent = new Set(await absentOf(transaction, caller, emails, now));
  return emails.map((email) => ({
    grantee: { kind: "person", email },
    name: email,
    users: [email],
    absent: absent.has(email) ? [email] : [],
  }));
}

/** Interval between invitations of one sender to one recipient, in milliseconds. */
const PAIR_INTERVAL_MS = 7 * 86_400_000;
/** Period in which a sender invites a limited number of recipients, in milliseconds. */
const SENDER_PERIOD_MS = 3_600_000;

/**
 * Queues one email per user, no matter how many secrets are shared with them. Omits the email to a
 * user whom this sender has invited within a week, and emails beyond the number that a sender may
 * cause in an hour. The share itself is unaffected.
 */
async function invite(
  { outbox, loginFailures }: Transaction,
  from: string,
  emails: readonly string[],
  { now, perHour }: { readonly now: number; readonly perHour: number },
): Promise<void> {
  const sender = `invitations-by:${from}`;
  let left = perHour - (await loginFailures.since(sender, now)).count;
  for (const to of emails) {
    const pair = `invitation:${from} ${to}`;
    if (left <= 0 || (await loginFailures.since(pair, now)).count > 0) continue;
    left -= 1;
    await loginFailures.add(pair, now + PAIR_INTERVAL_MS);
    await loginFailures.add(sender, now + SENDER_PERIOD_MS);
    await outbox.insert({
      id: randomUUID(),
      kind: "invitation",
      to,
      from,
      attempts: 0,
      dueAt: now,
    });
  }
}

/**
 * Requires that a secret may have grants to all of these, before the work for each of them.
 * @throws ServiceError `quota_exceeded`
 */
async function requireFreeGrants(
  { limits: { quotas } }: VaultContext,
  { grants }: Transaction,
  { id }: SecretIdentity,
  grantees: readonly GrantRecipient[],
): Promise<void> {
  const [all, known] = await Promise.all([grants.countOf(id), grants.countAmong(id, grantees)]);
  const added = grantees.length - known;
  if (added > 0 && all + added > quotas.secret_grants)
    throw errors.quotaExceeded("secret_grants", quotas.secret_grants);
}

async function grantAll(
  context: VaultContext,
  transaction: Transaction,
  caller: Caller,
  request: ShareRequest,
  { asked, charge }: { readonly asked: AskedAddresses; readonly charge: Charge },
): Promise<{ shared: ShareRecord[]; invited: readonly string[] }> {
  const now = context.clock.now();
  const secrets = await forEachUniqueName(request.names, async (name) => {
    const { secret } = requireCreator(
      await ownCandidates(transaction, caller, name, now),
      caller.scope,
    );
    // The grant is sealed with the owner and the name of the request, not with those that the
    // database returned.
    return { id: secret.id, owner: caller.email, name };
  });
  const recipients = await recipientsOf(transaction, caller, request.to, now);
  const emails = recipients.flatMap(({ users }) => users);
  // The members of a team are not in the request.
  if (request.to.kind === "team") charge(emails.length);
  const invited = recipients.flatMap(({ absent }) => absent);
  if (!request.invite) {
    const { to } = request;
    const field =
      to.kind === "team"
        ? { path: "group_id_to", named: [] }
        : { path: "usr_id_to", named: to.emails };
    const users = { ...field, users: emails, absent: invited };
    await requireActive(transaction, caller, users, asked);
  }
  const { permission } = request;
  const shared: ShareRecord[] = [];
  const grantees = recipients.map(({ grantee }) => grantee);
  for (const secret of secrets) await requireFreeGrants(context, transaction, secret, grantees);
  await withinQuota(context, transaction, { owner: caller.email }, () =>
    withinUnaccepted(context, transaction, emails, async () => {
      for (const secret of secrets) {
        await transaction.grants.grant(secret, grantees, permission);
        for (const { name, absent } of recipients)
          shared.push({ key_name: secret.name, to: name, permission, state: stateOf(absent) });
      }
    }),
  );
  await invite(transaction, caller.email, invited, {
    now,
    perHour: context.limits.invitationsPerHour,
  });
  return { shared, invited };
}

/**
 * Grants the caller's secrets to users or one team: all names and recipients, or none. An existing
 * grant gets the new permission. Users without an account or a valid session are sent an email
 * asynchronously.
 * @throws ServiceError `secret_not_found`, `out_of_scope`, `forbidden`, `team_not_found`,
 * `invitation_required`, `quota_exceeded`
 */
export async function share(
  context: VaultContext,
  caller: Caller,
  request: ShareRequest,
  asked: AskedAddresses,
): Promise<ShareRecord[]> {
  const { shared, invited } = await writeWide(context, caller, (transaction, charge) =>
    grantAll(context, transaction, caller, request, { asked, charge }),
  );
  if (invited.length > 0) context.mailer.wake();
  return shared;
}
