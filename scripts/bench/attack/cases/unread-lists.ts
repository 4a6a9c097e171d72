import { ATTACKERS, type AttackCase, logInAttackers } from "../attack-case.ts";
import { storeLarge } from "../patient.ts";
import { holdUnread, missesOfUnread } from "../unread-connections.ts";

const LISTS = 500;
/** Secrets of a list of 6 MB. */
const SECRETS = 100;
/** Two pieces of a list, at 32 KiB in ten seconds, and the time until a list gets its place. */
const CLOSED_WITHIN_MS = 60_000;

/** Lists that take memory while no client reads them. */
export const unreadLists: AttackCase = {
  name: "unread-lists",
  title: "500 unread lists of 6 MB",
  prepare: async (site) => {
    const accounts = await logInAttackers(site);
    await Promise.all(accounts.map((account) => storeLarge(account, SECRETS)));
    const { url } = site;
    return {
      run: async (round) => {
        const hold = (list: number): Promise<void> => {
          const [account, address] = [accounts[list % ATTACKERS]!, site.address(list % 100)];
          return holdUnread(
            { url, account, operation: "list_no_dup", address, closedWithinMs: CLOSED_WITHIN_MS },
            round,
          );
        };
        await Promise.all(Array.from({ length: LISTS }, (_, list) => hold(list)));
      },
    };
  },
  misses: ({ outcomes }) => missesOfUnread(outcomes),
};
