import type { VNode } from "preact";
import type { TeamRecord } from "../../../../protocol/responses.ts";
import { Form, formText } from "../../parts/form.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { useInvitation } from "../../parts/use-invitation.tsx";
import { shareSecrets, type Recipients } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { readRecipients } from "./read-recipients.ts";
import { addressesOf, readPermission, RecipientFields } from "./recipient-fields.tsx";

interface ShareFormProps {
  readonly name: string;
  readonly teams: readonly TeamRecord[];
  /** Users who have an account: they are not asked about. */
  readonly known: ReadonlySet<string>;
  readonly onShared: () => Promise<void>;
}

function toText({ to }: Recipients): string {
  if (typeof to === "string") return to;
  return to.length === 1 ? to.join("") : `${to.length} users`;
}

/** Shares a secret, or changes the permission of a recipient. */
export function ShareForm({ name, teams, known, onShared }: ShareFormProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const invitation = useInvitation("share", known);
  const work = async (form: HTMLFormElement): Promise<void> => {
    const recipients = readRecipients(formText(form, "usr_id_to"));
    const permission = readPermission(form);
    await invitation.send(
      (invite) => shareSecrets(client, [name], recipients, { permission, invite }),
      addressesOf(recipients, teams),
    );
    form.reset();
    toast(`Shared with ${toText(recipients)}.`);
    await onShared();
  };
  return (
    <>
      <Form action={action} submit="Share" icon="share" work={work}>
        <RecipientFields teams={teams} failure={action.failure} />
      </Form>
      {invitation.question}
    </>
  );
}
