import { operationPath } from "../../../../src/protocol/operation-paths.ts";
import { accountEmail, type AttackCase, logInAttackers, attackerNames } from "../attack-case.ts";
import type { VaultClient } from "../../../../test/lab/vault/vault-client.ts";
import type { Shot } from "../attacks.ts";
import { admitted, prepared } from "../patient.ts";
import { shotLoop } from "../shot-loop.ts";

const name = "filled-quota";
const MIB = 1024 * 1024;

/**
 * Sizes of the values that fill a quota almost completely, and number of them: next to the other
 * cases the quota is larger.
 */
const SIZES = [MIB - 1, 64 * 1024, 4 * 1024];
const MOST = 16;

const valueOf = (bytes: number): object => ({
  key_name: "shared",
  key_value: "x".repeat(bytes),
  without_list: 1,
});

/** Stores values until one of each size is rejected. */
async function fill(attacker: VaultClient): Promise<void> {
  for (const size of SIZES)
    for (let value = 0; value < MOST; value += 1) {
      const { status } = await admitted(() => attacker.call("protect_link", valueOf(size)));
      if (status !== 200) break;
    }
}

function shotsOf({ email, token }: VaultClient): (() => Shot)[] {
  return SIZES.map((size) => {
    const body = JSON.stringify({ email, ...valueOf(size) });
    return () => ({ path: operationPath.protect_link, headers: { authorization: token }, body });
  });
}

/** Writers of one secret who fill the quota of its owner. */
export const filledQuota: AttackCase = {
  name,
  title: "writers of a shared secret who fill its owner's quota (32 MiB)",
  // The default would take minutes to fill.
  serverArgs: ["--quotas", `bytes=${32 * MIB}`],
  prepare: async (site) => {
    const attackers = await logInAttackers(site);
    return {
      arm: async () => {
        await Promise.all(attackers.map(fill));
      },
      run: async (round) => {
        const loop = (attacker: VaultClient, index: number): Promise<void> =>
          shotLoop(site.url, shotsOf(attacker), site.address(index), round);
        await Promise.all(attackers.map(loop));
      },
    };
  },
  probe: {
    name: "the owner's write of another secret",
    intervalMs: 200,
    open: async (site) => {
      const owner = await site.logIn("owner");
      const { email } = owner;
      for (const key_name of ["shared", "own"])
        await prepared(() => owner.call("protect", { key_name, key_value: "v" }));
      const usr_id_to = attackerNames.map((attacker) => accountEmail(name, attacker));
      await prepared(() =>
        owner.call("share", { key_name: "shared", usr_id_from: email, usr_id_to, permission: "W" }),
      );
      return async () =>
        (
          await owner.call("protect", { key_name: "own", key_value: "w".repeat(4 * 1024) })
        ).outcome();
    },
  },
};
