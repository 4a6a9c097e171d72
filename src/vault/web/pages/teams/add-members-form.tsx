import type { VNode } from "preact";
import { TextField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { addMembers } from "../../service/teams.ts";
import { useClient } from "../../session/client-context.ts";
import { emailList } from "../../text/email-list.ts";

interface AddMembersFormProps {
  readonly team: string;
  readonly onChange: () => Promise<void>;
}

/** Adds members to an own team. */
export function AddMembersForm({ team, onChange }: AddMembersFormProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const work = async (form: HTMLFormElement): Promise<void> => {
    const members = emailList(formText(form, "members"));
    await addMembers(client, team, members);
    form.reset();
    toast(members.length === 1 ? `Added ${members.join("")}.` : `Added ${members.length} members.`);
    await onChange();
  };
  return (
    <Form action={action} submit="Add" icon="plus" variant="plain" work={work}>
      <TextField
        label="Add members"
        name="members"
        required
        autocomplete="off"
        placeholder="name@example.com, …"
        failure={action.failure}
      />
    </Form>
  );
}
