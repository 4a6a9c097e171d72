import type { VNode } from "preact";
import { TextField } from "../../parts/field.tsx";
import { formText } from "../../parts/form.tsx";
import { shareSecret } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { BatchDialog, type BatchProps } from "./batch-dialog.tsx";
import { PermissionField, readPermission } from "./share-form.tsx";
import { readRecipients } from "./read-recipients.ts";

function notOwnText(count: number): string {
  return count === 1
    ? "1 selected secret has another owner and is not shared."
    : `${count} selected secrets have other owners and are not shared.`;
}

/**
 * Shares the selected secrets that are the user's own with the same recipients. The dialog says
 * that other secrets cannot be shared.
 */
export function ShareSelectedDialog({ secrets, ...props }: BatchProps): VNode {
  const client = useClient();
  const own = secrets.filter(({ owner }) => owner === client.email);
  const noun = own.length === 1 ? "secret" : "secrets";
  return (
    <BatchDialog
      {...props}
      secrets={own}
      title={`Share ${own.length} ${noun}`}
      confirm="Share"
      variant="primary"
      plan={({ shared }) => (shared ? "shared already" : "not shared")}
      outcome={() => "Shared"}
      work={({ key_name: name }, form) =>
        shareSecret(client, name, readRecipients(formText(form, "usr_id_to")), {
          permission: readPermission(form),
          invite: new FormData(form).has("invite"),
        })
      }
      done={`Shared ${own.length} ${noun}.`}
    >
      {own.length < secrets.length && <p class="note">{notOwnText(secrets.length - own.length)}</p>}
      <div class="field-grid wide-first">
        <TextField
          label="User or team"
          name="usr_id_to"
          required
          autocomplete="off"
          placeholder="name@example.com or team"
          hint="Several users: separate the addresses with commas."
        />
        <PermissionField />
      </div>
      <label class="check">
        <input type="checkbox" name="invite" />
        Invite recipients by email who have no account or are not logged in
      </label>
    </BatchDialog>
  );
}
