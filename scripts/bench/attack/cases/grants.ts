import { operationPath } from "../../../../src/protocol/operation-paths.ts";
import type { AttackCase } from "../attack-case.ts";
import { admitted, prepared } from "../patient.ts";
import { shotLoop } from "../shot-loop.ts";

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
