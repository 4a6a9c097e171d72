import type { VNode } from "preact";
import { useCallback, useState } from "preact/hooks";
import { Empty } from "../../parts/notes.tsx";
import { Icon } from "../../parts/icon.tsx";
import { LoadedView, useLoaded } from "../../parts/loaded-view.tsx";
import { PageHeading } from "../../parts/page-heading.tsx";
import { listTeams } from "../../service/teams.ts";
import { useClient } from "../../session/client-context.ts";
import { NewTeamDialog } from "./new-team-dialog.tsx";
import { TeamCard } from "./team-card.tsx";

export function TeamsPage(): VNode {
  const client = useClient();
  const [creating, setCreating] = useState(false);
  const list = useLoaded(useCallback(() => listTeams(client), [client]));
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
                <TeamCard key={team.group_id} team={team} onChange={list.reload} />
              ))}
            </ul>
          )
        }
      </LoadedView>
      {creating && <NewTeamDialog onCreated={list.reload} onClose={() => setCreating(false)} />}
    </>
  );
}
