import type { VNode } from "preact";
import { TextField } from "../../parts/field.tsx";
import { Form } from "../../parts/form.tsx";
import { formText } from "../../parts/form-text.ts";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { shareSecret, type Grantee } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { PermissionField, readPermission } from "./permission-field.tsx";

interface ShareFormProps {
  readonly name: string;
  readonly teams: readonly string[];
  readonly onShared: () => Promise<void>;
}

/** Parses a recipient: one of the user's teams, an email address, or the name of another team. */
function granteeOf(text: string, teams: readonly string[]): Grantee {
  if (teams.includes(text)) return { kind: "team", to: text };
  const to = text.trim();
  return { kind: to.includes("@") ? "person" : "team", to };
}

/** Shares a secret, or changes the permission of a recipient. */
export function ShareForm({ name, teams, onShared }: ShareFormProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const work = async (form: HTMLFormElement): Promise<void> => {
    const grantee = granteeOf(formText(form, "usr_id_to"), teams);
    await shareSecret(client, name, grantee, readPermission(form));
    form.reset();
    toast(`Shared with ${grantee.to}.`);
    await onShared();
  };
  return (
    <Form action={action} submit="Share" icon="share" work={work}>
      <div class="field-grid wide-first">
        <TextField
          label="User or team"
          name="usr_id_to"
          required
          autocomplete="off"
          list="team-names"
          placeholder="name@example.com or team"
          failure={action.failure}
        />
        <PermissionField />
      </div>
      <p class="hint">Users without an account are invited by email and get access when they sign up.</p>
    </Form>
  );
}
