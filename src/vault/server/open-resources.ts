import { systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/logger.ts";
import { closeAuditLog, openAuditLog } from "./audit/anchored-audit-log.ts";
import { forwardAudit, type AuditForwarder } from "./audit/audit-forwarder.ts";
import type { AuditLog } from "./audit/audit-log.ts";
import { DamageReports } from "./audit/damage-reports.ts";
import type { KeyRing } from "./crypto/key-ring.ts";
import type { EmailTransport } from "./mail/email-transport.ts";
import { openMail } from "./mail/open-mail.ts";
import type { VaultMetrics } from "./metrics.ts";
import { DiskSpace } from "./protection/disk-space.ts";
import { checkData } from "./store/check-data.ts";
import { openStore } from "./store/open-store.ts";
import { isPostgresUrl } from "./store/postgres/postgres-location.ts";
import { RowMacs } from "./store/row-macs.ts";
import { rightNames } from "./store/tables/rotation-tables.ts";
import type { StoreStart } from "./store/store-start.ts";
import type { Store } from "./store/store.ts";
import type { VaultServerOptions } from "./vault-server-options.ts";

/** The parts that a start creates before it opens anything. */
export interface StartParts {
  /** Closes in reverse order what was opened. */
  readonly running: AsyncDisposableStack;
  readonly keys: KeyRing;
  readonly metrics: VaultMetrics;
  /** Retries the steps that need the store. */
  readonly start: StoreStart;
}

/** The files, connections and listeners that a server opens before it serves. */
export interface Resources {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly metrics: VaultMetrics;
  readonly transport: EmailTransport;
  /** Directory of the `.eml` files; `undefined` with SMTP. */
  readonly mailDirectory: string | undefined;
  readonly space: DiskSpace | undefined;
  readonly audit: AuditLog | undefined;
  /** Sends a copy of the audit log once it is started; `undefined` without a target. */
  readonly forwarder: AuditForwarder | undefined;
  /** Stored password hashes, one for each cost in use. */
  readonly hashes: readonly string[];
}

/** Watches the disks that this process writes to, if `lowSpace` says so. */
async function watchSpace(
  options: VaultServerOptions,
  store: Store,
  metrics: VaultMetrics,
): Promise<DiskSpace | undefined> {
  const { lowSpace, data, auditLog, clock = systemClock, logger = silentLogger } = options;
  if (!lowSpace) return undefined;
  return DiskSpace.start({
    ...lowSpace,
    data: data === ":memory:" || isPostgresUrl(data) ? undefined : data,
    auditLog: auditLog?.file,
    reusableBytes: () => store.reusableBytes(),
    clock,
    logger,
    metrics,
  });
}

/** Opens the audit log and its forwarder, if the options say so. */
async function openAudit(
  options: VaultServerOptions,
  { running, start, keys, metrics }: StartParts,
  store: Store,
  space: DiskSpace | undefined,
): Promise<Pick<Resources, "audit" | "forwarder">> {
  const forwarder = forwardAudit(running, options, metrics);
  if (!options.auditLog) return { audit: undefined, forwarder };
  const auditLog = {
    ...options.auditLog,
    makeRoom: async () => (await space?.release()) ?? false,
    onChange: (writable: boolean) => metrics.auditLogUnavailable.set(writable ? 0 : 1),
    ...forwarder?.hook,
  };
  const audit = running.adopt(
    await start.run(() => openAuditLog(options, auditLog, { store, keys })),
    (log) => closeAuditLog(log, { store, keys }),
  );
  return { audit, forwarder };
}

/** Teams of one transaction. */
const TEAMS_PER_TRANSACTION = 200;

/** Makes new teams differ from the teams of an earlier release too. */
async function addTeamLooks(store: Store): Promise<void> {
  let count: number;
  do count = await store.write(({ teams }) => teams.addLooks(TEAMS_PER_TRANSACTION));
  while (count === TEAMS_PER_TRANSACTION);
}

/**
 * Opens the store, checks its data, and opens email, the watch of free space and the audit log.
 * @throws Error when a master key is missing or something cannot be opened
 */
export async function openResources(
  options: VaultServerOptions,
  parts: StartParts,
): Promise<Resources> {
  const { running, keys, metrics, start } = parts;
  const { logger = silentLogger } = options;
  // From the start, because an alert sees only what a series gains.
  for (const table of rightNames) metrics.damagedRights.inc({ table }, 0);
  const damage = new DamageReports(logger, (table) => metrics.damagedRights.inc({ table }));
  const macs = new RowMacs(keys, (row) => damage.report(row));
  const store = running.use(await start.run(() => openStore(options.data, macs)));
  if (store.migration) {
    const { from: fromSchema, to: toSchema } = store.migration;
    logger.info(
      { event: "data_migrated", fromSchema, toSchema },
      "migrated the data of an earlier release, older releases cannot open it any more",
    );
  }
  const checks = { allowMissing: options.allowMissingKeys, seal: options.sealRights, logger };
  await start.run(() => checkData(store, keys, checks));
  await start.run(() => addTeamLooks(store));
  await store.listen();
  const mail = running.use(await openMail(options.mail ?? {}, options.data, logger));
  const space = await watchSpace(options, store, metrics);
  if (space) running.use(space);
  const { audit, forwarder } = await openAudit(options, parts, store, space);
  damage.audit = audit;
  const hashes = await start.run(() => store.read(({ users }) => users.hashesByCost()));
  const { transport, directory: mailDirectory } = mail;
  return { store, keys, metrics, transport, mailDirectory, space, audit, forwarder, hashes };
}
