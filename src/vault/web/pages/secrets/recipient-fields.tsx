import type { VNode } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { Permission, TeamRecord } from "../../../../protocol/responses.ts";
import { ChipsField, type Mark, type Suggestion } from "../../parts/chips-field.tsx";
import { ChoiceField } from "../../parts/field.tsx";
import { formText } from "../../parts/form.tsx";
import { permissionWords } from "../../parts/value-text.tsx";
import type { RequestError } from "../../service/request-error.ts";
import { useClient } from "../../session/client-context.ts";
import type { Recipients } from "../../service/secrets.ts";
import { acceptedTeams, acceptTeam } from "./kept-digests.ts";

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

interface RecipientFieldsProps {
  readonly teams: readonly TeamRecord[];
  /** Users who have an account for certain. */
  readonly known: ReadonlySet<string>;
  readonly failure: RequestError | undefined;
}

/** Maximum number of suggestions: other users decide how many members a team has. */
const MAX_SUGGESTIONS = 200;

/** Returns the user's own teams, then those that others have made, then users. */
function suggestionsOf(
  teams: readonly TeamRecord[],
  known: ReadonlySet<string>,
  email: string,
): readonly Suggestion[] {
  const own = teams.filter(({ creator }) => creator === email);
  const offered = [...own, ...teams.filter(({ creator }) => creator !== email)];
  const users = new Set([...known, ...offered.flatMap(({ members }) => members)]);
  users.delete(email);
  return [
    ...offered.map(({ group_id: value, creator }) => ({
      value,
      label: creator === email ? undefined : `${value} (of ${creator})`,
    })),
    ...Array.from(users, (value) => ({ value })),
  ].slice(0, MAX_SUGGESTIONS);
}

/** Returns the mark of users who may have no account, for a field of users. */
export function userMark(known: ReadonlySet<string>): (entry: string) => Mark | undefined {
  return (entry) => (known.has(entry) ? undefined : { text: "No account?", warn: true });
}

/** Returns whether a team is the user's, or accepted when the form opened: a checked box stays. */
function useAccepted(teams: readonly TeamRecord[]): (team: TeamRecord) => boolean {
  const { email } = useClient();
  const [accepted, setAccepted] = useState<ReadonlySet<TeamRecord>>(new Set());
  useEffect(() => void acceptedTeams(email, teams).then(setAccepted), [email, teams]);
  return useCallback((team) => team.creator === email || accepted.has(team), [email, accepted]);
}

/** Users or a team, and their permission. Shows the members of a team: they will have access. */
export function RecipientFields({ teams, known, failure }: RecipientFieldsProps): VNode {
  const { email } = useClient();
  const [typed, setTyped] = useState("");
  const team = teams.find(({ group_id }) => group_id === typed.trim());
  const isAccepted = useAccepted(teams);
  const suggestions = useMemo(
    () => suggestionsOf(teams.filter(isAccepted), known, email),
    [teams, isAccepted, known, email],
  );
  const ofUser = userMark(known);
  const markOf = (entry: string): Mark | undefined => {
    if (entry.includes("@")) return ofUser(entry);
    const isTeam = teams.some(({ group_id }) => group_id === entry);
    return { text: isTeam ? "Team" : "No team", warn: !isTeam };
  };
  return (
    <>
      <div class="field-grid wide-first">
        <ChipsField
          label="User or team"
          name="usr_id_to"
          placeholder="Address or team"
          failure={failure}
          suggestions={suggestions}
          markOf={markOf}
          onText={setTyped}
        />
        <PermissionField />
      </div>
      {team && (
        <p class="hint break">
          Members of {team.group_id}, a team of {team.creator === email ? "yours" : team.creator}:{" "}
          {team.members.join(", ")}
        </p>
      )}
      {team && !isAccepted(team) && (
        <label key={`${team.creator} ${team.group_id}`} class="check">
          <input
            type="checkbox"
            required
            onChange={(event) => void acceptTeam(email, team, event.currentTarget.checked)}
          />
          <span class="break">
            I know this team. {team.creator} can add members, who then have access, too.
          </span>
        </label>
      )}
      <p class="hint">
        Several users: Enter or a comma adds one. <em>No account?</em> marks addresses that are not
        known to have one. Before a user is invited, you are asked.
      </p>
    </>
  );
}

/** Returns the addresses that get access, for a team the addresses of its members. */
export function addressesOf(
  { kind, to }: Recipients,
  teams: readonly TeamRecord[],
): readonly string[] {
  if (kind === "people") return to;
  return teams.find(({ group_id }) => group_id === to)?.members ?? [to];
}
