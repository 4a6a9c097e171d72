import type { Timer } from "../lib/clock.ts";
import { storeAnchor } from "./audit/anchored-audit-log.ts";
import { REFRESH_IDLE_MS } from "./accounts/tokens.ts";
import type { VaultContext } from "./context.ts";

const INTERVAL_MS = 10_000;
/** Age in ms of unfinished uploads to delete; longer than any upload may take. */
const STAGED_MAX_AGE_MS = 3_600_000;

/**
 * Deletes what is no longer served: secrets past their delete_time, expired tokens and sessions, old failed logins, unfinished
 * uploads (docs/design/vault-contract.md#removal-and-expiry).
 */
async function sweep({ store, clock, limits, metrics, requestRate, strangers, audit }: VaultContext): Promise<void> {
  const now = clock.now();
  const due = await store.write(async ({ secrets, tokens, sessions, emailProofs, loginFailures, files }) => {
    await tokens.removeExpired(now - REFRESH_IDLE_MS, now);
    await sessions.removeExpired(now);
    await emailProofs.removeExpired(now);
    await loginFailures.removeBefore(now - limits.loginWindowMs);
    await files.discardStagedBefore(now - STAGED_MAX_AGE_MS);
    return secrets.removeDue(now);
  });
  requestRate.perToken.prune();
  requestRate.perAccount.prune();
  strangers.prune();
  if (audit) await storeAnchor(store, audit);
  metrics.removed.inc(due);
  await store.scrub();
}

/** Sweeps immediately and then every ten seconds, until disposed; a failed sweep is logged and retried. */
export function startSweeper(context: VaultContext): AsyncDisposable {
  let stopped = false;
  let timer: Timer | undefined;
  let running: Promise<void> = Promise.resolve();
  const run = async (): Promise<void> => {
    try {
      await sweep(context);
    } catch (error) {
      context.logger.error({ error }, "sweep failed");
    }
    if (!stopped) timer = context.clock.timer(INTERVAL_MS, next);
  };
  const next = (): void => {
    running = run();
  };
  next();
  return {
    async [Symbol.asyncDispose]() {
      stopped = true;
      timer?.[Symbol.dispose]();
      await running;
    },
  };
}
