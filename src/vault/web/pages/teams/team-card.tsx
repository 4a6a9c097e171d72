import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { TeamRecord } from "../../../../protocol/responses.ts";
import { ChipsField } from "../../parts/chips-field.tsx";
import { TextField } from "../../parts/field.tsx";
import { Icon } from "../../parts/icon.tsx";
import { useClient } from "../../session/client-context.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { deleteTeam, leaveTeam, removeMember, addMembers } from "../../service/teams.ts";
import type { VaultClient } from "../../service/vault-client.ts";
import { Form, formText } from "../../parts/form.tsx";
import { useAction } from "../../parts/use-action.ts";
import { useInvitation } from "../../parts/use-invitation.tsx";
import { userMark } from "../secrets/recipient-fields.tsx";
import { emailList } from "../../text/email-list.ts";
import { folded, searchFor } from "../../text/search.ts";

/** Number of members from which a search field helps. */
const SEARCHABLE = 8;

interface MemberListProps {
  readonly team: TeamRecord;
  /** Missing for users who cannot change the team. */
  readonly onRemove: ((email: string) => void) | undefined;
}

/**
 * The members of a team, in a list of limited height. The user is the first one, then the creator.
 */
function MemberList({ team, onRemove }: MemberListProps): VNode {
  const { email: me } = useClient();
  const [search, setSearch] = useState("");
  const { creator, members, group_id: name } = team;
  const first = [...new Set([me, creator])];
  const all = [...first, ...members.filter((email) => !first.includes(email))];
  const isFound = searchFor(search);
  const shown = all.filter((email) => isFound([folded(email)]));
  return (
    <>
      {members.length > SEARCHABLE && (
        <TextField
          label="Find a member"
          name="search"
          autocomplete="off"
          spellcheck={false}
          onInput={setSearch}
        />
      )}
      {shown.length === 0 && <p class="quiet">No member matches.</p>}
      <ul class="members scrolling" aria-label={`Members of ${name}`} tabIndex={0}>
        {shown.map((email) => (
          <li key={email}>
            <bdi class="break">{email === me ? `${email} (you)` : email}</bdi>
            {email === creator && <span class="badge">Creator</span>}
            {onRemove && email !== creator && (
              <button
                class="button icon-button"
                type="button"
                aria-label={`Remove ${email}`}
                title={`Remove ${email}`}
                onClick={() => onRemove(email)}
              >
                <Icon name="trash" />
              </button>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

interface TeamCardProps {
  readonly team: TeamRecord;
  /** Users who have an account: they are not asked about. */
  readonly known: ReadonlySet<string>;
  readonly onChange: () => Promise<void>;
}

/** The deletion that awaits confirmation. */
type Deletion =
  | { readonly kind: "team" }
  | { readonly kind: "own" }
  | { readonly kind: "member"; readonly email: string };

interface Removal {
  readonly title: string;
  readonly confirm: string;
  readonly subject: string;
  readonly effect: string;
  readonly done: string;
  readonly remove: () => Promise<void>;
}

/** Returns the words and the request of a deletion. */
function removal(client: VaultClient, name: string, deletion: Deletion): Removal {
  switch (deletion.kind) {
    case "team":
      return {
        title: "Delete team?",
        confirm: "Delete team",
        subject: name,
        effect: "is deleted. Its members lose access to everything shared with it.",
        done: `Deleted team ${name}.`,
        remove: () => deleteTeam(client, name),
      };
    case "own":
      return {
        title: "Leave team?",
        confirm: "Leave team",
        subject: "You",
        effect: `lose access to everything shared with ${name}.`,
        done: `Left team ${name}.`,
        remove: () => leaveTeam(client, name),
      };
    case "member":
      return {
        title: "Remove member?",
        confirm: "Remove",
        subject: deletion.email,
        effect: `loses access to everything shared with ${name}.`,
        done: `Removed ${deletion.email}.`,
        remove: () => removeMember(client, name, deletion.email),
      };
  }
}

function RemovalDialog({
  team,
  onChange,
  deletion,
  onClose,
}: Omit<TeamCardProps, "known"> & {
  readonly deletion: Deletion;
  readonly onClose: () => void;
}): VNode {
  const client = useClient();
  const toast = useToast();
  const { title, confirm, subject, effect, done, remove } = removal(
    client,
    team.group_id,
    deletion,
  );
  const work = async (): Promise<void> => {
    await remove();
    toast(done);
    await onChange();
  };
  return (
    <ConfirmDialog title={title} confirm={confirm} work={work} onClose={onClose}>
      <p>
        <strong class="break">{subject}</strong> {effect}
      </p>
    </ConfirmDialog>
  );
}

interface AddMembersFormProps {
  readonly team: TeamRecord;
  readonly known: ReadonlySet<string>;
  readonly onChange: () => Promise<void>;
}

/** Adds members to an own team. */
function AddMembersForm({ team, known, onChange }: AddMembersFormProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const invitation = useInvitation("add", known);
  const [round, setRound] = useState(0);
  const suggestions = Array.from(known, (value) => ({ value })).filter(
    ({ value }) => !team.members.includes(value),
  );
  const work = async (form: HTMLFormElement): Promise<void> => {
    const members = emailList(formText(form, "members"));
    await invitation.send((invite) => addMembers(client, team.group_id, members, invite), members);
    setRound(round + 1);
    toast(members.length === 1 ? `Added ${members.join("")}.` : `Added ${members.length} members.`);
    await onChange();
  };
  return (
    <>
      <Form action={action} submit="Add" icon="plus" variant="plain" work={work}>
        <ChipsField
          key={round}
          label="Add members"
          name="members"
          placeholder="name@example.com, …"
          failure={action.failure}
          suggestions={suggestions}
          markOf={userMark(known)}
        />
      </Form>
      {invitation.question}
    </>
  );
}

/** One team; its creator can change it. */
export function TeamCard({ team, known, onChange }: TeamCardProps): VNode {
  const client = useClient();
  const [deletion, setDeletion] = useState<Deletion | undefined>(undefined);
  const { creator, members, group_id: name } = team;
  const own = creator === client.email;
  return (
    <li class="card">
      <div class="card-head">
        <h2 class="break">
          <bdi>{name}</bdi>
        </h2>
        {own && (
          <button
            class="button icon-button"
            type="button"
            aria-label={`Delete team ${name}`}
            title={`Delete team ${name}`}
            onClick={() => setDeletion({ kind: "team" })}
          >
            <Icon name="trash" />
          </button>
        )}
        {!own && (
          <button
            class="button"
            type="button"
            aria-label={`Leave team ${name}`}
            onClick={() => setDeletion({ kind: "own" })}
          >
            <Icon name="out" />
            Leave
          </button>
        )}
      </div>
      <p class="quiet break">
        {members.length === 1 ? "1 member" : `${members.length} members`}.{" "}
        {own ? "You created this team and decide who is in it." : `${creator} added you.`}
      </p>
      {own && <AddMembersForm team={team} known={known} onChange={onChange} />}
      <MemberList
        team={team}
        onRemove={own ? (email) => setDeletion({ kind: "member", email }) : undefined}
      />
      {deletion && (
        <RemovalDialog
          team={team}
          onChange={onChange}
          deletion={deletion}
          onClose={() => setDeletion(undefined)}
        />
      )}
    </li>
  );
}
