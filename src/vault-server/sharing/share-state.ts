import type { ShareRecord } from "../../protocol/responses.ts";
import type { Caller } from "../accounts/authenticate.ts";
import { REFRESH_IDLE_MS } from "../accounts/tokens.ts";
import type { Transaction } from "../store/store.ts";

/** Of those a secret is shared with, but the caller who shares it: whom nothing shows it, who have no account or no live session. */
export async function absentOf(
  { tokens }: Transaction,
  caller: Caller,
  people: readonly string[],
  now: number,
): Promise<string[]> {
  const absent: string[] = [];
  for (const email of people) {
    if (email !== caller.email && !(await tokens.hasLive(email, now - REFRESH_IDLE_MS, now))) absent.push(email);
  }
  return absent;
}

/** Source: the interface, "share"; for teams the vault contract, "Sharing, teams, people". */
export function stateOf(absent: readonly string[]): ShareRecord["state"] {
  return absent.length === 0 ? "active" : "invited";
}
