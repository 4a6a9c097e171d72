import { setTimeout as sleep } from "node:timers/promises";
import { accountEmail, type AttackCase, type Round, logInAttackers } from "../attack-case.ts";
import { largeMetadata, storeLarge, admitted, prepared } from "../patient.ts";
import type { VaultClient } from "../../../../test/lab/vault/vault-client.ts";
import { operationPath } from "../../../../src/protocol/operation-paths.ts";
import { shotLoop } from "../shot-loop.ts";

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

const LOGINS = 4;
const PER_REQUEST = 200;
/** Requests of one login; a quota ends them earlier. */
const REQUESTS = 10;
/** Maximum number of shares of one secret by default. */
const MOST = 1_000;
const STORED = "recipients";

const recipients = (first: number): string[] =>
  Array.from({ length: PER_REQUEST }, (_, n) => `r${first + n}@example.com`);

/**
 * A secret that is shared with as many users as the server permits, and then changed repeatedly.
 */
export const grants: AttackCase = {
  name: "grants",
  title: "changes of a secret with up to 8,000 recipients",
  prepare: async (site) => {
    const logins = await Promise.all(Array.from({ length: LOGINS }, () => site.logIn("attacker0")));
    const { email } = logins[0]!;
    const key_name = "wide";
    await prepared(() => logins[0]!.call("protect", { key_name, key_value: "v" }));
    let stored = 0;
    const share = (usr_id_to: string[]): object => ({
      email,
      key_name,
      usr_id_from: email,
      usr_id_to,
      permission: "R",
    });
    await Promise.all(
      logins.map(async (account, login) => {
        for (let request = 0; request < REQUESTS; request += 1) {
          const usr_id_to = recipients((login * REQUESTS + request) * PER_REQUEST);
          const { status } = await admitted(() => account.call("share", share(usr_id_to)));
          if (status !== 200) return;
          stored += PER_REQUEST;
        }
      }),
    );
    let next = 1e6;
    return {
      run: async (round) => {
        const loop = async ({ token }: (typeof logins)[number], index: number): Promise<void> => {
          const headers = { authorization: token };
          const change = {
            path: operationPath.protect_link,
            headers,
            body: JSON.stringify({ email, key_name, key_value: "w", without_list: 1 }),
          };
          const grant = () => ({
            path: operationPath.share,
            headers,
            body: JSON.stringify(share(recipients((next += PER_REQUEST)))),
          });
          await shotLoop(site.url, [() => change, () => change, grant], site.address(index), round);
        };
        await Promise.all([
          ...logins.map(loop),
          round.measured.then(() => round.count(STORED, round.isLast ? stored : 0)),
        ]);
      },
    };
  },
  misses: ({ outcomes }) =>
    (outcomes[STORED] ?? 0) <= MOST ? [] : [`a secret has more than ${MOST} recipients`],
};
