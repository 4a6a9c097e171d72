import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { TeamRecord } from "../../../../protocol/responses.ts";
import { TextField } from "../../parts/field.tsx";
import { Icon } from "../../parts/icon.tsx";
import { useClient } from "../../session/client-context.ts";

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
export function MemberList({ team, onRemove }: MemberListProps): VNode {
  const { email: me } = useClient();
  const [search, setSearch] = useState("");
  const { creator, members, group_id: name } = team;
  const first = [...new Set([me, creator])];
  const all = [...first, ...members.filter((email) => !first.includes(email))];
  const shown = all.filter((email) => email.includes(search.trim().toLowerCase()));
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
