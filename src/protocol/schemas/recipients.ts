import { z } from "zod";
import type { RequestLimits } from "../define-operation.ts";
import { nameSchema } from "../names.ts";
import { receivingTeam } from "../team-name.ts";
import { callerEmail, userEmail, oneOrMore } from "./request-fields.ts";

/** Recipients of a share: users by canonical address, or one team. */
export type Recipients =
  | { readonly kind: "users"; readonly emails: readonly string[] }
  | {
      readonly kind: "team";
      readonly groupId: string;
      /** Creator that the team has to have, if the request names one. */
      readonly creator?: string | undefined;
    };

interface NamedRecipients {
  readonly usr_id_to?: readonly string[] | undefined;
  readonly group_id_to?: string | undefined;
  readonly group_creator?: string | undefined;
}

/** Body fields that `share` and `unshare` have in common. */
export function recipientsRequest({
  nameCharacters,
  entriesPerRequest,
}: Pick<RequestLimits, "nameCharacters" | "entriesPerRequest">) {
  const name = nameSchema(nameCharacters);
  return z.object({
    email: callerEmail,
    key_name: oneOrMore(name, entriesPerRequest),
    usr_id_to: oneOrMore(userEmail, entriesPerRequest)
      .meta({ description: "Addresses of users." })
      .optional(),
    group_id_to: receivingTeam(nameCharacters).optional(),
  });
}

/** Returns the named recipients, or `undefined` when the request names none. */
export function recipientsOf({
  usr_id_to: emails,
  group_id_to: groupId,
  group_creator: creator,
}: NamedRecipients): Recipients | undefined {
  if (groupId !== undefined) return { kind: "team", groupId, creator };
  return emails && { kind: "users", emails };
}

/** Reports whether the request names users or a team, not both. */
export function hasOneKindOfRecipient({
  usr_id_to: users,
  group_id_to: team,
}: NamedRecipients): boolean {
  return users === undefined || team === undefined;
}

export const bothKindsOfRecipient = {
  path: ["group_id_to"],
  message: "send usr_id_to or group_id_to, not both",
};
