import { useMemo } from "preact/hooks";
import type { ListedShare, TeamRecord } from "../../../../protocol/responses.ts";
import { useClient } from "../../session/client-context.ts";
import { useSecrets } from "./secrets-context.ts";

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
