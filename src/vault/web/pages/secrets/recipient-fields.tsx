import type { VNode } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import type { Permission, TeamRecord } from "../../../../protocol/responses.ts";
import { ChoiceField, TextField } from "../../parts/field.tsx";
import { formText } from "../../parts/form.tsx";
import { permissionWords } from "../../parts/value-text.tsx";
import type { RequestError } from "../../service/request-error.ts";
import { acceptedTeams, acceptTeam } from "./accepted-teams.ts";
import { useClient } from "../../session/client-context.ts";
import type { Recipients } from "../../service/secrets.ts";

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
  readonly failure: RequestError | undefined;
}

/** Returns the user's own teams, then those that other users have made. */
function ownFirst(teams: readonly TeamRecord[], email: string): readonly TeamRecord[] {
  const own = teams.filter(({ creator }) => creator === email);
  return [...own, ...teams.filter(({ creator }) => creator !== email)];
}

/** Users or a team, and their permission. Shows the members of a team: they will have access. */
export function RecipientFields({ teams, failure }: RecipientFieldsProps): VNode {
  const { email } = useClient();
  const names = useId();
  const [typed, setTyped] = useState("");
  const team = teams.find(({ group_id }) => group_id === typed.trim());
  // From when the form opened: a box that was checked stays.
  const accepted = useMemo(() => acceptedTeams(email, teams), [email, teams]);
  const offered = ownFirst(teams, email).filter(({ group_id: name }) => accepted.has(name));
  return (
    <>
      <div class="field-grid wide-first">
        <TextField
          label="User or team"
          name="usr_id_to"
          required
          autocomplete="off"
          list={names}
          placeholder="Address or team"
          failure={failure}
          onInput={setTyped}
        />
        <PermissionField />
      </div>
      {team && (
        <p class="hint break">
          Members of {team.group_id}, a team of {team.creator === email ? "yours" : team.creator}:{" "}
          {team.members.join(", ")}
        </p>
      )}
      {team && !accepted.has(team.group_id) && (
        <label key={team.group_id} class="check">
          <input
            type="checkbox"
            required
            onChange={(event) => acceptTeam(email, team, event.currentTarget.checked)}
          />
          <span class="break">
            I know this team. {team.creator} can add members, who then have access, too.
          </span>
        </label>
      )}
      <p class="hint">
        Several users: separate the addresses with commas. Before a user is invited, you are asked.
      </p>
      <datalist id={names}>
        {offered.map(({ group_id: name, creator }) => (
          <option
            key={name}
            value={name}
            label={creator === email ? undefined : `${name} (of ${creator})`}
          />
        ))}
      </datalist>
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
