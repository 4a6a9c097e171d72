import { useCallback } from "preact/hooks";
import type { TeamRecord } from "../../../../protocol/responses.ts";
import { useLoaded } from "../../parts/loaded-view.tsx";
import { useReturn } from "../../parts/use-return.ts";
import { toRequestError } from "../../service/request-error.ts";
import { listTeams } from "../../service/teams.ts";
import { useClient } from "../../session/client-context.ts";

const none: readonly TeamRecord[] = [];

interface Teams {
  /** The user's teams, none until they are loaded. */
  readonly teams: readonly TeamRecord[];
  /** Fetches the teams again after an error that says that they have changed. */
  readonly follow: (error: unknown) => Promise<void>;
}

/** Fetches the user's teams, on opening and on return to the tab. */
export function useTeams(): Teams {
  const client = useClient();
  const { loaded, reload } = useLoaded(useCallback(() => listTeams(client), [client]));
  useReturn(useCallback(() => void reload(), [reload]));
  const follow = useCallback(
    async (error: unknown) => {
      if (toRequestError(error).code === "team_not_found") await reload();
    },
    [reload],
  );
  return { teams: loaded.kind === "ready" ? loaded.value : none, follow };
}
