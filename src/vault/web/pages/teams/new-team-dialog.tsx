import type { VNode } from "preact";
import { Dialog } from "../../parts/dialog.tsx";
import { AreaField, TextField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { createTeam } from "../../service/teams.ts";
import { useClient } from "../../session/client-context.ts";
import { emailList } from "../../text/email-list.ts";

export function NewTeamDialog({
  onCreated,
  onClose,
}: {
  readonly onCreated: () => Promise<void>;
  readonly onClose: () => void;
}): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const work = async (form: HTMLFormElement): Promise<void> => {
    // One spelling of each name: the vault rejects others because they would look the same.
    const name = formText(form, "group_id").normalize("NFKC").replaceAll(/\s+/gu, " ").trim();
    await createTeam(client, name, emailList(formText(form, "members")));
    toast(`Created team ${name}.`);
    await onCreated();
    onClose();
  };
  return (
    <Dialog title="New team" onClose={onClose}>
      <Form action={action} submit="Create team" icon="team" work={work} onCancel={onClose}>
        <TextField
          label="Name"
          name="group_id"
          required
          maxLength={256}
          autocomplete="off"
          hint="Visible to its members. Not an address: an @ always means a user."
          failure={action.failure}
        />
        <AreaField
          label="Members"
          name="members"
          rows={3}
          hint="Email addresses, separated by commas or new lines. You are always a member."
          failure={action.failure}
        />
      </Form>
    </Dialog>
  );
}
