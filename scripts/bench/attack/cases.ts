import type { AttackCase } from "./attack-case.ts";
import { attacks } from "./attacks.ts";
import { filledQuota } from "./cases/filled-quota.ts";
import { grants } from "./cases/grants.ts";
import { invitations } from "./cases/invitations.ts";
import { largeDeletes } from "./cases/large-deletes.ts";
import { logins } from "./cases/logins.ts";
import { narrowTokensCase } from "./cases/narrow-tokens.ts";
import { pages } from "./cases/pages.ts";
import { refusedDeletes } from "./cases/refused-deletes.ts";
import { strangersShares } from "./cases/strangers-shares.ts";
import { unreadDownloads } from "./cases/unread-downloads.ts";
import { unreadLists } from "./cases/unread-lists.ts";
import { wokenLists } from "./cases/woken-lists.ts";
import { reviewCase } from "./review-cases.ts";

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
