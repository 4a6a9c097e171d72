import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Permission, TeamRecord } from "../../../../protocol/responses.ts";
import { TextField, ChoiceField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { RequestError } from "../../service/request-error.ts";
import { shareSecret, type Recipients } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { InviteDialog } from "./invite-dialog.tsx";
import { readRecipients } from "./read-recipients.ts";
import { permissionWords } from "../../parts/value-text.tsx";

const permissions: readonly Permission[] = ["R", "W", "RW"];

/** Select of a recipient's permission; `readPermission` reads it. */
export function PermissionField({ initial = "R" }: { readonly initial?: Permission }): VNode {
  return (
    <ChoiceField label="Permission" name="permission">
      {permissions.map((permission) => (
        <option key={permission} value={permission} selected={permission === initial}>
          {permissionWords(permission)}
        </option>
      ))}
    </ChoiceField>
  );
}

export function readPermission(form: HTMLFormElement): Permission {
  return permissions.find((candidate) => candidate === formText(form, "permission")) ?? "R";
}

interface ShareFormProps {
  readonly name: string;
  readonly teams: readonly TeamRecord[];
  /** Addresses that the user has met in this vault: they are not asked about again. */
  readonly known: ReadonlySet<string>;
  readonly onShared: () => Promise<void>;
}

interface Question {
  readonly form: HTMLFormElement;
  readonly recipients: Recipients;
  readonly permission: Permission;
  readonly absent: readonly string[];
}

function toText({ to }: Recipients): string {
  if (typeof to === "string") return to;
  return to.length === 1 ? to.join("") : `${to.length} users`;
}

/**
 * Returns the addresses that `invitation_required` names by their place in the request, or all when
 * it does not tell which.
 */
function absentOf({ details }: RequestError, { kind, to }: Recipients): string[] {
  if (kind === "team") return [];
  if (details.some(({ path }) => path === "usr_id_to")) return [...to];
  return to.filter((_, index) => details.some(({ path }) => path === `usr_id_to.${index}`));
}

/** Members of the team in the field: the user sees who will have access. */
function TeamMembers({ team }: { readonly team: TeamRecord | undefined }): VNode | null {
  if (!team) return null;
  return (
    <p class="hint break">
      Members of {team.group_id}: {team.members.join(", ")}
    </p>
  );
}

/**
 * Shares a secret, or changes the permission of a recipient. Asks before it invites an address that
 * the user has not met.
 */
export function ShareForm({ name, teams, known, onShared }: ShareFormProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const [typed, setTyped] = useState("");
  const [question, setQuestion] = useState<Question | undefined>(undefined);
  const share = async (
    form: HTMLFormElement,
    recipients: Recipients,
    permission: Permission,
    invite: boolean,
  ): Promise<void> => {
    await shareSecret(client, name, recipients, { permission, invite });
    form.reset();
    setTyped("");
    toast(`Shared with ${toText(recipients)}.`);
    await onShared();
  };
  const work = async (form: HTMLFormElement): Promise<void> => {
    const recipients = readRecipients(formText(form, "usr_id_to"));
    const permission = readPermission(form);
    const strangers =
      recipients.kind === "people" ? recipients.to.filter((email) => !known.has(email)) : [];
    try {
      await share(form, recipients, permission, strangers.length === 0);
    } catch (error) {
      if (!(error instanceof RequestError) || error.code !== "invitation_required") throw error;
      const absent = absentOf(error, recipients).filter((email) => strangers.includes(email));
      if (absent.length === 0) await share(form, recipients, permission, true);
      else setQuestion({ form, recipients, permission, absent });
    }
  };
  return (
    <>
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
            onInput={setTyped}
          />
          <PermissionField />
        </div>
        <TeamMembers team={teams.find(({ group_id }) => group_id === typed.trim())} />
        <p class="hint">
          Several users: separate the addresses with commas. Before a user is invited by email, you
          are asked.
        </p>
      </Form>
      {question && (
        <InviteDialog
          absent={question.absent}
          work={() => share(question.form, question.recipients, question.permission, true)}
          onClose={() => setQuestion(undefined)}
        />
      )}
    </>
  );
}
