import type { VNode } from "preact";
import { TextField } from "../../parts/field.tsx";
import { Form } from "../../parts/form.tsx";
import { formText } from "../../parts/form-text.ts";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { unshareSecret } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { granteeOf } from "./grantee.ts";
import { ServiceFailure } from "../../service/failure.ts";

interface UnshareFormProps {
  readonly name: string;
  readonly teams: readonly string[];
  readonly onUnshared: (from: readonly string[]) => Promise<void>;
}

/** Takes a secret back from one person or team. */
export function UnshareForm({ name, teams, onUnshared }: UnshareFormProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const work = async (form: HTMLFormElement): Promise<void> => {
    const grantee = granteeOf(formText(form, "from"), teams);
    const taken = await unshareSecret(client, name, grantee);
    if (taken.length === 0) throw new ServiceFailure("not_shared", `It is not shared with ${grantee.to}.`);
    form.reset();
    toast(`Taken back from ${grantee.to}.`);
    await onUnshared(taken.map(({ from }) => from));
  };
  return (
    <Form action={action} submit="Stop sharing" look="plain" work={work}>
      <TextField
        label="Stop sharing with"
        name="from"
        required
        autocomplete="off"
        list="team-names"
        placeholder="Person or team"
      />
    </Form>
  );
}
