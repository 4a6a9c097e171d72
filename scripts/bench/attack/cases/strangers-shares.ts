import { setTimeout as sleep } from "node:timers/promises";
import { accountEmail, type AttackCase, type Round, logInAttackers } from "../attack-case.ts";
import { largeMetadata, storeLarge } from "../patient.ts";
import type { VaultClient } from "../../../../test/lab/vault/vault-client.ts";

/** Number of secrets of each attacker. Together they exceed what an operator reads. */
const SECRETS = 280;
const NAMES_PER_SHARE = 20;
const MAX_LIST_BYTES = 64 * 1024 * 1024;
const name = "strangers-shares";

/** Shares secrets with the owner, and changes their metadata repeatedly. */
async function annoy(account: VaultClient, names: readonly string[], round: Round): Promise<void> {
  const { email } = account;
  const to = accountEmail(name, "owner");
  for (let index = 0; !round.signal.aborted; index += NAMES_PER_SHARE) {
    const from = index % names.length;
    const key_name = names.slice(from, from + NAMES_PER_SHARE);
    const shares = [key_name, [names[from]]].map(
      (shared) => () =>
        account.call("share", {
          key_name: shared,
          usr_id_from: email,
          usr_id_to: [to],
          permission: "R",
        }),
    );
    const change = () =>
      account.call("update_key_metadata", {
        key_name: names[from],
        key_version: 1,
        metadata: { ...largeMetadata, at: index },
      });
    for (const send of [...shares, change]) {
      const outcome = await send().then(
        ({ status }) => String(status),
        () => "closed",
      );
      if (round.signal.aborted) return;
      round.count(outcome);
      await sleep(10);
    }
  }
}

/** Shares of strangers in the list of a user who follows it. */
export const strangersShares: AttackCase = {
  name,
  title: "1,120 shares of strangers, with 70 MB of metadata",
  prepare: async (site) => {
    const attackers = await logInAttackers(site);
    const names = await Promise.all(attackers.map((attacker) => storeLarge(attacker, SECRETS)));
    return {
      run: async (round) => {
        await Promise.all(
          attackers.map((attacker, index) => annoy(attacker, names[index]!, round)),
        );
      },
    };
  },
  probe: {
    name: "the recipient's list",
    intervalMs: 250,
    open: async (site) => {
      const owner = await site.logIn("owner");
      await owner.call("protect", { key_name: "own", key_value: "v" });
      return async () => {
        const response = await owner.call("list_no_dup");
        return response.bytes.length > MAX_LIST_BYTES
          ? "too long for an operator"
          : response.outcome();
      };
    },
  },
};
