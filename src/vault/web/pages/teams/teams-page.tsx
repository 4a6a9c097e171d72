import type { VNode } from "preact";
import { Dialog } from "../../parts/dialog.tsx";
import { AreaField, TextField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { useInvitation } from "../../parts/use-invitation.tsx";
import { createTeam, listTeams } from "../../service/teams.ts";
import { useClient } from "../../session/client-context.ts";
import { emailList } from "../../text/email-list.ts";
import { useCallback, useState } from "preact/hooks";
import { Empty } from "../../parts/notes.tsx";
import { Icon } from "../../parts/icon.tsx";
import { LoadedView, useLoaded } from "../../parts/loaded-view.tsx";
import { useReturn } from "../../parts/scroll-position.ts";
import { PageHeading } from "../../parts/page-heading.tsx";
import { useKnownUsers } from "../secrets/use-known-users.ts";
import { TeamCard } from "./team-card.tsx";

function NewTeamDialog({
  known,
  onCreated,
  onClose,
}: {
  readonly known: ReadonlySet<string>;
  readonly onCreated: () => Promise<void>;
  readonly onClose: () => void;
}): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const invitation = useInvitation("add", known);
  const work = async (form: HTMLFormElement): Promise<void> => {
    // One spelling of each name: the vault rejects others because they would look the same.
    const name = formText(form, "group_id").normalize("NFKC").replaceAll(/\s+/gu, " ").trim();
    const members = emailList(formText(form, "members"));
    await invitation.send((invite) => createTeam(client, name, members, invite), members);
    toast(`Created team ${name}.`);
    await onCreated();
    onClose();
  };
  return (
    <>
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
      {invitation.question}
    </>
  );
}

export function TeamsPage(): VNode {
  const client = useClient();
  const [creating, setCreating] = useState(false);
  const list = useLoaded(useCallback(() => listTeams(client), [client]));
  const { reload } = list;
  useReturn(useCallback(() => void reload(), [reload]));
  const known = useKnownUsers(list.loaded.kind === "ready" ? list.loaded.value : []);
  return (
    <>
      <PageHeading title="Teams">
        <button class="button primary" type="button" onClick={() => setCreating(true)}>
          <Icon name="plus" />
          New team
        </button>
      </PageHeading>
      <LoadedView of={list} what="your teams">
        {(teams) =>
          teams.length === 0 ? (
            <Empty icon="team" title="No teams yet">
              <p>
                Share a secret with a team: new members get access, and members who leave lose it.
              </p>
            </Empty>
          ) : (
            <ul class="cards">
              {teams.map((team) => (
                <TeamCard key={team.group_id} team={team} known={known} onChange={reload} />
              ))}
            </ul>
          )
        }
      </LoadedView>
      {creating && (
        <NewTeamDialog known={known} onCreated={reload} onClose={() => setCreating(false)} />
      )}
    </>
  );
}
