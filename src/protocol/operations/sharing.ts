import { z } from "zod";
import { defineOperation, type RequestLimits } from "../define-operation.ts";
import { canonicalEmail } from "../email-address.ts";
import { shareRecord, unshareRecord, listedShare, blockedSenders } from "../responses.ts";
import { sample } from "../sample-values.ts";
import {
  bothKindsOfRecipient,
  recipientsRequest,
  hasOneKindOfRecipient,
  recipientsOf,
} from "../schemas/recipients.ts";
import {
  callerEmail,
  secretRequest,
  owner,
  sendersRequest,
  callerRequest,
  userEmail,
} from "../schemas/request-fields.ts";

/**
 * Parses the recipients into `to`. Neither list is longer than the number of shares, because
 * neither is empty.
 */
function shareRequest({ nameCharacters, sharesPerRequest }: RequestLimits) {
  return recipientsRequest({ nameCharacters, entriesPerRequest: sharesPerRequest })
    .extend({
      usr_id_from: callerEmail,
      permission: z
        .enum(["R", "W", "RW"])
        .meta({ description: "R reads and lists, W changes value and metadata, RW both." }),
      group_creator: userEmail.optional().meta({
        description:
          "The creator that the caller knows of the team; another one returns `team_not_found`, and nothing is shared.",
      }),
      invite: z.boolean().optional().meta({
        description:
          "False shares nothing and returns `invitation_required` when a recipient would be invited, or may be among too many strangers.",
      }),
    })
    .refine(hasOneKindOfRecipient, bothKindsOfRecipient)
    .transform((body, context) => {
      const to = recipientsOf(body);
      const reject = (path: string, message: string): never => {
        context.addIssue({ code: "custom", path: [path], message });
        return z.NEVER;
      };
      if (!to) return reject("usr_id_to", "send usr_id_to or group_id_to");
      if (to.kind === "users") {
        if (to.emails.includes(canonicalEmail(body.email)))
          return reject("usr_id_to", "names the sharing user");
        if (body.key_name.length * to.emails.length > sharesPerRequest)
          return reject("key_name", `at most ${sharesPerRequest} shares in one request`);
      }
      return { ...body, to };
    })
    .meta({ oneOf: [{ required: ["usr_id_to"] }, { required: ["group_id_to"] }] });
}

const shared = { email: "$request.body#/email", key_name: "$response.body#/shared/0/key_name" };

export const share = defineOperation({
  name: "share",
  path: "/v1/user/secret/share",
  tag: "Shared secrets",
  summary: "Share secrets with users or a team",
  description:
    "Send either usr_id_to, without the caller, or group_id_to, a team the caller is a member of. Creates all shares or none, at most 200; " +
    "sharing again replaces the permission. Invited recipients get an email. Only the creator may do it.",
  authentication: "access-token",
  request: shareRequest,
  response: z.object({ shared: z.array(shareRecord) }),
  addsData: true,
  errors: [
    "secret_not_found",
    "team_not_found",
    "invitation_required",
    "out_of_scope",
    "forbidden",
    "quota_exceeded",
  ],
  audit: {
    intent: "authenticated",
    fields: ["key_name", "usr_id_from", "usr_id_to", "group_id_to", "permission"],
  },
  example: {
    request: {
      email: sample.email,
      key_name: [sample.secret.key_name],
      permission: "R",
      usr_id_from: sample.email,
      usr_id_to: [sample.otherEmail],
    },
    response: {
      shared: [
        {
          key_name: sample.secret.key_name,
          to: sample.otherEmail,
          permission: "R",
          state: "active",
        },
      ],
    },
  },
  links: [
    { operation: "expose_link", description: "Read the value.", request: shared },
    {
      operation: "protect_link",
      description: "Create the next version.",
      request: { ...shared, key_value: "a next value", without_list: 1 },
    },
    { operation: "version_list_for_link", description: "List all versions.", request: shared },
    { operation: "share_list", description: "List the recipients.", request: shared },
    { operation: "unshare", description: "Revoke the shares.", request: shared },
  ],
});

export const unshare = defineOperation({
  name: "unshare",
  path: "/v1/user/secret/unshare",
  tag: "Shared secrets",
  summary: "Revoke shares",
  description:
    "Revokes the shares of the named recipients, or of all when none is named. The list is empty when there was nothing to revoke. " +
    "Without any share left the secret is unshared. Only the creator may do it.",
  authentication: "access-token",
  request: (limits) =>
    recipientsRequest(limits)
      .extend({ usr_id_from: callerEmail.optional() })
      .refine(hasOneKindOfRecipient, bothKindsOfRecipient)
      .transform((body) => ({ ...body, to: recipientsOf(body) }))
      .meta({ not: { required: ["usr_id_to", "group_id_to"] } }),
  response: z.object({ unshared: z.array(unshareRecord) }),
  errors: ["secret_not_found", "out_of_scope", "forbidden"],
  audit: {
    intent: "authenticated",
    fields: ["key_name", "usr_id_from", "usr_id_to", "group_id_to"],
  },
  example: {
    request: { ...sample.secret, usr_id_to: sample.otherEmail },
    response: { unshared: [{ key_name: sample.secret.key_name, from: sample.otherEmail }] },
  },
});

export const shareList = defineOperation({
  name: "share_list",
  path: "/v1/user/secret/share_list",
  tag: "Shared secrets",
  summary: "List a secret's recipients",
  description:
    "Returns users, then teams, each by code point; empty for a secret that is not shared. A dismissed share is not listed. Only " +
    "the creator may do it.",
  authentication: "access-token",
  request: secretRequest,
  response: z.object({ key_name: z.string(), shares: z.array(listedShare) }),
  compressible: true,
  errors: ["secret_not_found", "out_of_scope", "forbidden"],
  audit: { intent: "never", fields: ["key_name"] },
  example: {
    request: sample.secret,
    response: {
      key_name: sample.secret.key_name,
      shares: [
        { to: sample.otherEmail, kind: "person", permission: "R", state: "active" },
        { to: sample.team.group_id, kind: "team", permission: "RW", state: "invited" },
      ],
    },
  },
});

export const deleteSharedKeyLink = defineOperation({
  name: "delete_shared_key_link",
  path: "/v1/user/secret/delete_shared_key_link",
  tag: "Shared secrets",
  summary: "Dismiss a received secret",
  description:
    "Removes it from the caller's list only, until it is shared with the caller or their team again.",
  authentication: "access-token",
  request: (limits) => secretRequest(limits).extend({ owner }),
  response: z.object({ removed: z.object({ key_name: z.string(), owner: z.string() }) }),
  errors: ["secret_not_found", "ambiguous_name", "out_of_scope"],
  audit: { intent: "authenticated", fields: ["key_name", "owner"] },
  example: {
    request: sample.link,
    response: { removed: { key_name: sample.link.key_name, owner: sample.link.owner } },
  },
});

export const blockSender = defineOperation({
  name: "block_sender",
  path: "/v1/user/block_sender",
  tag: "Shared secrets",
  summary: "Block senders",
  description:
    "Secrets that these users share with the caller or the caller's teams are neither listed nor found, their teams are hidden, and no email " +
    "announces their shares. They cannot notice it. Returns all blocked senders. Requires a token of unlimited scope. Users cannot block themselves: `forbidden`.",
  authentication: "access-token",
  request: sendersRequest,
  response: blockedSenders,
  errors: ["out_of_scope", "forbidden", "quota_exceeded"],
  audit: { intent: "authenticated", fields: ["usr_id_from"] },
  example: {
    request: { email: sample.email, usr_id_from: sample.otherEmail },
    response: { blocked: [sample.otherEmail] },
  },
});

export const unblockSender = defineOperation({
  name: "unblock_sender",
  path: "/v1/user/unblock_sender",
  tag: "Shared secrets",
  summary: "Unblock senders",
  description:
    "What these users share with the caller is visible again. Returns the senders that remain blocked. Requires a token of unlimited scope.",
  authentication: "access-token",
  request: sendersRequest,
  response: blockedSenders,
  errors: ["out_of_scope"],
  audit: { intent: "authenticated", fields: ["usr_id_from"] },
  example: {
    request: { email: sample.email, usr_id_from: sample.otherEmail },
    response: { blocked: [] },
  },
});

export const blockedSendersOperation = defineOperation({
  name: "blocked_senders",
  path: "/v1/user/blocked_senders",
  tag: "Shared secrets",
  summary: "List the blocked senders",
  description:
    "Returns the senders that the caller has blocked. Requires a token of unlimited scope.",
  authentication: "access-token",
  request: callerRequest,
  response: blockedSenders,
  errors: ["out_of_scope"],
  audit: { intent: "never", fields: [] },
  example: { request: { email: sample.email }, response: { blocked: [sample.otherEmail] } },
});
