import type { VNode } from "preact";
import type { Permission, ShareRecord } from "../../../protocol/answers.ts";
import { ChoiceField, TextField } from "../../parts/field.tsx";
import { Form } from "../../parts/form.tsx";
import { formText } from "../../parts/form-text.ts";
import { permissionWords } from "../../parts/permission-badge.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { shareSecret } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { granteeOf } from "./grantee.ts";

interface ShareFormProps {
  readonly name: string;
  readonly teams: readonly string[];
  readonly onShared: (grants: readonly ShareRecord[]) => Promise<void>;
}

const permissions: readonly Permission[] = ["R", "W", "RW"];

/** Shares a secret, or changes what somebody may do with it. */
export function ShareForm({ name, teams, onShared }: ShareFormProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const work = async (form: HTMLFormElement): Promise<void> => {
    const grantee = granteeOf(formText(form, "usr_id_to"), teams);
    const permission = permissions.find((candidate) => candidate === formText(form, "permission")) ?? "R";
    const grants = await shareSecret(client, name, grantee, permission);
    form.reset();
    toast(`Shared with ${grantee.to}.`);
    await onShared(grants);
  };
  return (
    <Form action={action} submit="Share" icon="share" work={work}>
      <div class="field-grid wide-first">
        <TextField
          label="Person or team"
          name="usr_id_to"
          required
          autocomplete="off"
          list="team-names"
          placeholder="name@example.com or team"
          failure={action.failure}
        />
        <ChoiceField label="May" name="permission">
          {permissions.map((permission) => (
            <option key={permission} value={permission}>
              {permissionWords(permission)}
            </option>
          ))}
        </ChoiceField>
      </div>
      <p class="hint">Somebody without an account is invited by mail, and has the secret as soon as they have signed up.</p>
    </Form>
  );
}
