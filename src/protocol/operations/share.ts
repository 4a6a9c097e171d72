import { z } from "zod";
import { defineOperation, type RequestLimits } from "../define-operation.ts";
import { canonicalEmail } from "../email-address.ts";
import { shareRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import {
  bothKindsOfRecipient,
  recipientsRequest,
  hasOneKindOfRecipient,
  recipientsOf,
} from "../schemas/recipients.ts";
import { callerEmail } from "../schemas/request-fields.ts";

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
