import { operationPath } from "../../../src/protocol/operation-paths.ts";
import { accountEmail, ATTACKERS, type AccountName, type AttackCase } from "../attack-case.ts";
import type { VaultClient } from "../../../test/support/vault/vault-client.ts";
import type { Shot } from "../attacks.ts";
import { admitted, prepared } from "../patient.ts";
import { shotLoop } from "../shot-loop.ts";

const name = "filled-quota";
const MIB = 1024 * 1024;

/** Sends a write until it is rejected. */
async function fill(attacker: VaultClient, { path, body }: Shot): Promise<void> {
  for (let status = 200; status === 200;)
    ({ status } = await admitted(() => attacker.post(path, JSON.parse(String(body)) as object)));
}

/** Writers of one secret who fill the quota of its owner. */
export const filledQuota: AttackCase = {
  name,
  title: "writers of a shared secret who fill its owner's quota (32 MiB)",
  // The default would take minutes to fill.
  serverArgs: ["--quotas", `bytes=${32 * MIB}`],
  prepare: async (site) => {
    const accounts = Array.from({ length: ATTACKERS }, (_, index) => `attacker${index}` as AccountName);
    const attackers = await Promise.all(accounts.map((account) => site.logIn(account)));
    const shots = attackers.map(({ email, token }): Shot => {
      const body = JSON.stringify({ email, key_name: "shared", key_value: "x".repeat(MIB - 1), without_list: 1 });
      return { path: operationPath.protect_link, headers: { authorization: token }, body };
    });
    return {
      arm: async () => {
        await Promise.all(attackers.map((attacker, index) => fill(attacker, shots[index]!)));
      },
      run: async (round) => {
        await Promise.all(shots.map((shot, index) => shotLoop(site.url, [() => shot], site.address(index), round)));
      },
    };
  },
  probe: {
    name: "the owner's write of another secret",
    intervalMs: 200,
    open: async (site) => {
      const owner = await site.logIn("owner");
      const { email } = owner;
      for (const key_name of ["shared", "own"]) await prepared(() => owner.call("protect", { key_name, key_value: "v" }));
      const usr_id_to = Array.from({ length: ATTACKERS }, (_, index) => accountEmail(name, `attacker${index}` as AccountName));
      await prepared(() => owner.call("share", { key_name: "shared", usr_id_from: email, usr_id_to, permission: "W" }));
      return async () => (await owner.call("protect", { key_name: "own", key_value: "w" })).outcome();
    },
  },
};
