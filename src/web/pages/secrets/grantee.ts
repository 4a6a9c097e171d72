import type { Grantee } from "../../service/secrets.ts";

/** Whom a text means: one of the person's teams, otherwise somebody by address where it looks like one, otherwise a team. */
export function granteeOf(text: string, teams: readonly string[]): Grantee {
  if (teams.includes(text)) return { kind: "team", to: text };
  const to = text.trim();
  return { kind: to.includes("@") ? "person" : "team", to };
}
