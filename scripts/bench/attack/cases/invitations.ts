import { setTimeout as sleep } from "node:timers/promises";
import {
  accountEmail,
  ATTACKERS,
  type AttackCase,
  type Round,
  logInAttackers,
} from "../attack-case.ts";
import { prepared } from "../patient.ts";
import type { VaultClient } from "../../../../test/lab/vault/vault-client.ts";

const name = "invitations";
const LOOPS = 8;
/** Addresses of a request: as many as its response can name. */
const ASKED = 20;
/** Strangers of whom one account may ask in an hour. */
const ASKED_PER_HOUR = 20;
const REVEALED = "addresses revealed";

interface Details {
  readonly error?: {
    readonly details?: readonly { readonly path: string; readonly reason: string }[];
  };
}

/**
 * Returns the number of addresses whose absence a response reveals: those that it names, or one of
 * some.
 */
function revealedBy(body: Details): number {
  return (body.error?.details ?? []).filter(({ reason }) => !reason.startsWith("too many")).length;
}

async function ask(account: VaultClient, round: Round, next: () => number): Promise<void> {
  const { email } = account;
  while (!round.signal.aborted) {
    const unknown = Array.from({ length: ASKED }, () => `unknown${next()}@example.com`);
    const usr_id_to = [...unknown, accountEmail(name, "owner")];
    const body = {
      key_name: "asked",
      usr_id_from: email,
      usr_id_to,
      permission: "R",
      invite: false,
    };
    const response = await account.call("share", body).catch(() => undefined);
    if (round.signal.aborted) return;
    round.count(response?.outcome() ?? "closed");
    if (response?.code() === "invitation_required")
      round.count(REVEALED, revealedBy(response.json()));
    else await sleep(100);
  }
}

/** A share without invitations: its response reveals who has an account. */
export const invitations: AttackCase = {
  name,
  title: "shares without invitations, which ask who has an account",
  prepare: async (site) => {
    await site.logIn("owner");
    const attackers = await logInAttackers(site);
    for (const attacker of attackers)
      await prepared(() => attacker.call("protect", { key_name: "asked", key_value: "v" }));
    let asked = 0;
    return {
      run: async (round) => {
        await Promise.all(
          Array.from({ length: LOOPS }, (_, loop) =>
            ask(attackers[loop % ATTACKERS]!, round, () => (asked += 1)),
          ),
        );
      },
    };
  },
  misses: ({ outcomes }) => {
    const revealed = outcomes[REVEALED] ?? 0;
    return revealed <= ATTACKERS * ASKED_PER_HOUR
      ? []
      : [`${revealed} absent addresses are revealed`];
  },
};
