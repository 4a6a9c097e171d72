import { useMemo, useCallback } from "preact/hooks";
import type { ListedShare, TeamRecord } from "../../../../protocol/responses.ts";
import { useClient } from "../../session/client-context.ts";
import { useSecrets } from "./secrets-context.ts";
import { useLoaded } from "../../parts/loaded-view.tsx";
import { useReturn } from "../../parts/scroll-position.ts";
import { toRequestError } from "../../service/request-error.ts";
import { listTeams } from "../../service/teams.ts";

const noShares: readonly ListedShare[] = [];

/**
 * Returns users who have an account for certain: the owners of received secrets, the creators of
 * teams, and recipients who are logged in. An address that was only typed once is not among them.
 */
export function useKnownUsers(
  teams: readonly TeamRecord[],
  shares: readonly ListedShare[] = noShares,
): ReadonlySet<string> {
  const { email } = useClient();
  const { loaded } = useSecrets().list;
  return useMemo(() => {
    const recipients = shares.filter(({ kind, state }) => kind !== "team" && state === "active");
    const owners = loaded.kind === "ready" ? loaded.value.map(({ owner }) => owner) : [];
    return new Set([
      email,
      ...owners,
      ...teams.map(({ creator }) => creator),
      ...recipients.map(({ to }) => to),
    ]);
  }, [email, shares, teams, loaded]);
}

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
