import type { VNode } from "preact";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { deleteSecret, leaveSecret } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { BatchDialog, type BatchProps } from "./batch-dialog.tsx";

/**
 * Deletes the selected secrets that are the user's own, and removes the received ones from the
 * list.
 */
export function DeleteSelectedDialog(props: BatchProps): VNode {
  const client = useClient();
  const { length } = props.secrets;
  const isOwn = ({ owner }: SecretRecord): boolean => owner === client.email;
  const noun = length === 1 ? "secret" : "secrets";
  return (
    <BatchDialog
      {...props}
      title={`Delete ${length} ${noun}?`}
      confirm="Delete"
      variant="danger"
      plan={(secret) =>
        isOwn(secret) ? "all versions, for everyone" : `of ${secret.owner}: removed from your list`
      }
      outcome={(secret) => (isOwn(secret) ? "Deleted" : "Removed from your list")}
      work={(secret) =>
        isOwn(secret) ? deleteSecret(client, secret.key_name) : leaveSecret(client, secret)
      }
      done={`Deleted ${length} ${noun}.`}
    >
      <p>This cannot be undone.</p>
    </BatchDialog>
  );
}
