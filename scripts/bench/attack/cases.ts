import { setTimeout as sleep } from "node:timers/promises";
import { ATTACKERS, type AttackCase, attackerNames } from "./attack-case.ts";
import { type Attack as ReviewAttack, attacks } from "./attacks.ts";
import { shotLoop } from "./shot-loop.ts";
import { VaultClient } from "../../../test/lab/vault/vault-client.ts";
import { filledQuota } from "./cases/filled-quota.ts";
import { grants, strangersShares } from "./cases/shares.ts";
import { invitations } from "./cases/invitations.ts";
import { largeDeletes, refusedDeletes } from "./cases/deletes.ts";
import { logins } from "./cases/logins.ts";
import { narrowTokensCase } from "./cases/narrow-tokens.ts";
import { pages } from "./cases/pages.ts";
import { unreadDownloads, unreadLists } from "./cases/unread-responses.ts";
import { wokenLists } from "./cases/woken-lists.ts";

/** Findings that need no account. */
const OF_STRANGERS = [1, 2, 3];
/** Interval that keeps the preparation of an account below its rate. */
const PREPARATION_MS = 200;

/**
 * Returns an attack of a finding in docs/design/security.md as a case, `finding-1`, for example.
 */
function reviewCase({ finding, name: title, loops, prepare }: ReviewAttack): AttackCase {
  return {
    name: `finding-${finding}`,
    title,
    prepare: async (site) => {
      const prepared: {
        readonly address: string;
        readonly shots: Awaited<ReturnType<typeof prepare>>;
      }[] = [];
      for (let loop = 0; loop < loops; loop += 1) {
        const isStranger = OF_STRANGERS.includes(finding);
        const name = attackerNames[loop % ATTACKERS]!;
        const account = isStranger
          ? new VaultClient(site.url, "stranger@example.com")
          : await site.logIn(name);
        prepared.push({ address: site.address(loop), shots: await prepare(account, loop) });
        if (!isStranger) await sleep(PREPARATION_MS);
      }
      return {
        run: async (round) => {
          await Promise.all(
            prepared.map(({ address, shots }) => shotLoop(site.url, shots, address, round)),
          );
        },
      };
    },
  };
}

/** All attacks, in the order in which they are measured. */
export const cases: readonly AttackCase[] = [
  ...attacks.map(reviewCase),
  refusedDeletes,
  unreadLists,
  wokenLists,
  strangersShares,
  largeDeletes,
  logins,
  filledQuota,
  grants,
  unreadDownloads,
  invitations,
  narrowTokensCase,
  pages,
];
