import type { Timer } from "../../lib/clock.ts";
import { storeAnchor } from "./audit/anchored-audit-log.ts";
import { REFRESH_IDLE_MS } from "./accounts/tokens.ts";
import type { VaultContext } from "./context.ts";
import { Removal } from "./protection/removal.ts";
import {
  BATCH_SIZE,
  CHUNKS_PER_BATCH,
  endTrash,
  removeDue,
  TRASH_PER_BATCH,
} from "./protection/long-removal.ts";
import { longWork } from "./long-work.ts";
import { background, type Store, type Transaction } from "./store/store.ts";
import type { ExpiredToken } from "./store/tables/account-tables.ts";
import type { AuditLog } from "./audit/audit-log.ts";

const INTERVAL_MS = 10_000;
/** Age in ms of unfinished uploads to delete; longer than any upload may take. */
const STAGED_MAX_AGE_MS = 3_600_000;

const HOUR_MS = 3_600_000;
/** Age in ms of the last read of a consumer to forget. */
const CONSUMER_MAX_AGE_MS = 90 * 24 * HOUR_MS;

/** State between two sweeps. */
interface Progress {
  token: ExpiredToken | undefined;
  hourly: number;
  /** Number of closed segments of the audit log when old ones were removed. */
  rotations: number;
}

/**
 * Runs a step in transactions until it returns false. While requests are served, it rests after
 * each transaction as long as that took.
 */
async function repeat(
  { store }: VaultContext,
  step: (transaction: Transaction) => Promise<boolean>,
): Promise<void> {
  while (await longWork.background(() => store.write(step, background)));
}

/**
 * Removes some of the largest entries of the trash on a disk that is low on space: the next sweep
 * continues while it still is.
 */
async function makeRoom({ store, space, logger }: VaultContext): Promise<void> {
  if (space?.isLow !== true) return;
  const ended = await store.write(async (transaction) => {
    const largest = await transaction.trash.largest(TRASH_PER_BATCH);
    const removal = new Removal();
    for (const entry of largest) await removal.remove(transaction, entry);
    return largest;
  }, background);
  if (ended.length === 0) return;
  const bytes = ended.reduce((sum, entry) => sum + entry.bytes, 0);
  const fields = { event: "trash_ended_early", entries: ended.length, bytes };
  logger.warn(fields, "low disk space, removed the largest entries of the trash");
}

async function sweepSecretsAndFiles(context: VaultContext, now: number): Promise<void> {
  const staleBefore = now - STAGED_MAX_AGE_MS;
  await repeat(context, (transaction) => endTrash(transaction, now));
  await makeRoom(context);
  await repeat(context, async (transaction) => {
    const { removed, more } = await removeDue(transaction, now);
    context.metrics.removed.inc(removed);
    return more;
  });
  await repeat(context, ({ files }) => files.discardStale(staleBefore, CHUNKS_PER_BATCH));
}

async function sweepAccounts(
  context: VaultContext,
  progress: Progress,
  now: number,
): Promise<void> {
  const usedBefore = now - REFRESH_IDLE_MS;
  const failedBefore = now - context.limits.loginWindowMs;
  await repeat(
    context,
    async ({ tokens }) => (await tokens.removeUnused(usedBefore, BATCH_SIZE)) >= BATCH_SIZE,
  );
  await repeat(
    context,
    async ({ sessions }) => (await sessions.removeExpired(now, BATCH_SIZE)) >= BATCH_SIZE,
  );
  await repeat(
    context,
    async ({ emailProofs }) => (await emailProofs.removeExpired(now, BATCH_SIZE)) >= BATCH_SIZE,
  );
  await repeat(
    context,
    async ({ loginFailures }) =>
      (await loginFailures.removeBefore(failedBefore, BATCH_SIZE)) >= BATCH_SIZE,
  );
  const readBefore = now - CONSUMER_MAX_AGE_MS;
  await repeat(
    context,
    async ({ consumers }) => (await consumers.removeBefore(readBefore, BATCH_SIZE)) >= BATCH_SIZE,
  );
  progress.token = await context.store.write(({ tokens }) =>
    tokens.removeOrphans(now, progress.token, BATCH_SIZE),
  );
}

/**
 * Removes old files: emails whose links have expired, and segments of the audit log beyond its
 * retention.
 */
async function sweepFiles(
  { mailer, audit }: VaultContext,
  progress: Progress,
  now: number,
): Promise<void> {
  const isHourly = now - progress.hourly >= HOUR_MS;
  const { rotations = 0 } = audit ?? {};
  if (isHourly || rotations !== progress.rotations) await audit?.removeOld();
  progress.rotations = rotations;
  if (!isHourly) return;
  progress.hourly = now;
  await mailer.removeOld(now);
}

/**
 * Deletes what is no longer served: secrets past their delete_time, expired tokens and sessions,
 * old failed logins, bytes of unfinished uploads and deleted files
 * (docs/design/vault-contract.md#removal-and-expiry).
 */
async function sweep(context: VaultContext, progress: Progress): Promise<void> {
  const { store, clock, metrics, requestRate, unauthenticated, rejections, pages, audit } = context;
  const now = clock.now();
  await context.tokenUses.record(store);
  await recordConsumers(context);
  await sweepSecretsAndFiles(context, now);
  await sweepAccounts(context, progress, now);
  requestRate.perToken.prune();
  requestRate.perLogin.prune();
  requestRate.perAccount.prune();
  unauthenticated.prune();
  rejections.prune();
  pages.prune();
  await context.auditBudget.summarize();
  await logAdminActions(store, audit);
  await sweepFiles(context, progress, now);
  if (audit) await storeAnchor(store, context.keys, audit);
  const { secrets, versions, bytes } = await store.read(({ usage }) => usage.total());
  metrics.secrets.set(secrets);
  metrics.versions.set(versions);
  metrics.storedBytes.set(bytes);
  await store.scrub();
}

/** A failure delays nothing else: the uses are recorded with the next sweep. */
async function recordConsumers({ consumerUses, store, logger }: VaultContext): Promise<void> {
  await consumerUses
    .record(store)
    .catch((error: unknown) => logger.warn({ error }, "recording the consumers failed"));
}

/**
 * Sweeps immediately and then every ten seconds, until disposed; a failed sweep is logged and
 * retried.
 */
export function startSweeper(context: VaultContext): AsyncDisposable {
  let stopped = false;
  let timer: Timer | undefined;
  let running: Promise<void> = Promise.resolve();
  const progress: Progress = { token: undefined, hourly: -Infinity, rotations: 0 };
  const run = async (): Promise<void> => {
    try {
      await sweep(context, progress);
    } catch (error) {
      context.logger.error({ error }, "sweep failed");
      await context.space?.release();
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
      await recordConsumers(context);
    },
  };
}

/**
 * Writes the changes that commands of the operator made to users into the audit log, at least once
 * each; without an audit log they are dropped. A command cannot write them itself, because a log
 * has one writer.
 */
async function logAdminActions(store: Store, audit: AuditLog | undefined): Promise<void> {
  for (const { id, at, action, email, identity = "" } of await store.read(({ adminActions }) =>
    adminActions.list(),
  )) {
    await audit?.append({
      event: "admin",
      id,
      action,
      user: email,
      ...(identity !== "" && { identity }),
      at: new Date(at).toISOString(),
    });
    await store.write(({ adminActions }) => adminActions.remove(id));
  }
}
