import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { systemClock, type Clock } from "../../lib/clock.ts";
import { listenFailure } from "../../lib/listen-failure.ts";
import { silentLogger, type Logger } from "../../lib/logger.ts";
import { systemRandom } from "../../lib/random.ts";
import type { Redacted } from "../../lib/redacted.ts";
import { type Readiness, serveEndpoints } from "../../telemetry/endpoints.ts";
import { closeAuditLog, openAuditLog, type AuditLogFile } from "./audit/anchored-audit-log.ts";
import { createAuditBudget, createRequestRate } from "./account-rates.ts";
import { forwardAudit } from "./audit/audit-forwarder.ts";
import type { AuditLog } from "./audit/audit-log.ts";
import { DamageReports } from "./audit/damage-reports.ts";
import { createHttpServer, type HttpServerOptions } from "./http-server.ts";
import { HashingLimiter } from "./accounts/hashing-limiter.ts";
import { errors } from "./errors.ts";
import { PasswordHasher } from "./accounts/password-hasher.ts";
import { defaultPasswordCost, type PasswordCost } from "./limits.ts";
import { ScopeCache } from "./accounts/scope-cache.ts";
import { TokenUses } from "./accounts/token-uses.ts";
import { TokenBuckets } from "./accounts/token-buckets.ts";
import type {
  ExpiredPolicy,
  ScopeAttributesPolicy,
  VaultContext,
  SignUpPolicy,
} from "./context.ts";
import { KeyRing } from "./crypto/key-ring.ts";
import { generateMasterKey } from "./crypto/master-key.ts";
import { defaultLimits, devLimits, type Limits } from "./limits.ts";
import { checkData } from "./store/check-data.ts";
import { RowMacs } from "./store/row-macs.ts";
import { mailDomain, type SenderIdentity } from "./mail/compose-email.ts";
import type { EmailTransport } from "./mail/email-transport.ts";
import { Mailer } from "./mail/mailer.ts";
import { openMail, type MailOptions } from "./mail/open-mail.ts";
import { isPostgresUrl } from "./store/postgres/postgres-location.ts";
import { openStore } from "./store/open-store.ts";
import type { Store } from "./store/store.ts";
import { StoreStart } from "./store/store-start.ts";
import { DiskSpace, type LowSpace } from "./space/disk-space.ts";
import { startSweeper } from "./sweeper.ts";
import { addGeneratedUser, type NewUser } from "./accounts/users.ts";
import { ListResponses } from "./quotas/list-responses.ts";
import { OpenLists } from "./quotas/open-lists.ts";
import { OpenTransfers } from "./quotas/open-transfers.ts";
import { HeldRejections } from "./strangers/held-rejections.ts";
import { Strangers } from "./strangers/strangers.ts";
import { WaitingLists } from "./waiting/waiting-lists.ts";
import { VaultMetrics } from "./metrics.ts";

export interface VaultServerOptions extends HttpServerOptions {
  /** Address of a listener for metrics and health; none by default. */
  readonly metricsListen?: { readonly host: string; readonly port: number };
  /** Adds the metrics of the process, whose only server this is. */
  readonly processMetrics?: boolean;
  /** The data file, `":memory:"`, or the URL of a PostgreSQL database (`openStore`). */
  readonly data: string;
  /** A 32-byte key or all keys; optional with `dev`, which generates an ephemeral one. */
  readonly masterKey?: Redacted<Uint8Array> | KeyRing;
  /**
   * Starts although records need a master key that is missing; they are unreadable. The current key
   * is always required.
   */
  readonly allowMissingKeys?: boolean;
  /** Confirms the rights of data of an earlier release, which have no MACs (`checkData`). */
  readonly sealRights?: string;
  /**
   * Starts an ephemeral server: these users get generated passwords, and rate limits are ten times
   * as high.
   */
  readonly dev?: { readonly users: readonly string[] };
  readonly expired?: ExpiredPolicy;
  /** Users with W permission by default. */
  readonly scopeAttributesBy?: ScopeAttributesPolicy;
  /** Maximum lifetime of an access token; none by default. */
  readonly maxTokenHours?: number;
  /** Number of versions of a secret that are kept, at least 1; all by default. */
  readonly keepVersions?: number;
  /** Addresses that may sign up; by default those that a secret or a team is shared with. */
  readonly signUp?: SignUpPolicy;
  readonly limits?: Partial<Limits>;
  /** Email options; emails are written as `.eml` files by default. */
  readonly mail?: MailOptions;
  /** Cost of new password hashes; lower than the default in tests only. */
  readonly passwordCost?: PasswordCost;
  /** Audit log of all operations; none by default. */
  readonly auditLog?: AuditLogFile;
  /** Free disk space below which requests that add data are rejected; not watched by default. */
  readonly lowSpace?: LowSpace;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** A running server. Disposing it completes the requests in flight, then stops. */
export interface VaultServer extends AsyncDisposable {
  /** Base URL, without a trailing slash. */
  readonly url: string;
  /** Base URL of the listener for metrics. */
  readonly metricsUrl: string | undefined;
  /** Users created because of `dev`. */
  readonly users: readonly NewUser[];
  /** Directory of the `.eml` files; `undefined` with SMTP. */
  readonly mailDirectory: string | undefined;
}

/** Maximum number of concurrent password hashings; each takes 19 MiB and a thread. */
const CONCURRENT_HASHINGS = 2;

/** Resources opened on start. */
interface Opened {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly transport: EmailTransport;
  readonly appUrl: () => string;
  readonly audit: AuditLog | undefined;
  readonly space: DiskSpace | undefined;
  readonly metrics: VaultMetrics;
  /** Stored password hashes, one for each cost in use. */
  readonly hashes: readonly string[];
}

function createRejections(clock: Clock, limits: Limits): HeldRejections {
  return new HeldRejections({
    clock,
    rate: new TokenBuckets(clock, limits.rejectionsPerSecond, limits.rejectionBurst),
    holdMs: limits.rejectionHoldMs,
    perParty: limits.heldRejectionsPerParty,
    total: limits.heldRejections,
  });
}

function createHashingLimiter(limits: Limits): HashingLimiter {
  const { loginQueue, loginQueueUnknown, loginQueuePerNetwork, loginQueuePerAccount } = limits;
  const queue = {
    concurrency: CONCURRENT_HASHINGS,
    waiting: loginQueue,
    waitingUnknown: loginQueueUnknown,
    waitingPerNetwork: loginQueuePerNetwork,
    waitingPerAccount: loginQueuePerAccount,
  };
  return new HashingLimiter(queue, () => errors.tooManyLogins(1000));
}

function createContext(
  options: VaultServerOptions,
  opened: Opened,
): VaultContext & { readonly mailer: Mailer } {
  const { store, keys, transport, appUrl, audit, space, metrics } = opened;
  const limits = { ...(options.dev ? devLimits : defaultLimits), ...options.limits };
  const clock = options.clock ?? systemClock;
  const logger = options.logger ?? silentLogger;
  const signUp = options.signUp ?? { mode: "invited" };
  const senderIdentity = (): SenderIdentity => ({
    appUrl: appUrl(),
    from: options.mail?.from ?? `vaultsync@${mailDomain(appUrl())}`,
    signUp,
  });
  const requestRate = createRequestRate(clock, limits);
  return {
    store,
    keys,
    clock,
    limits,
    logger,
    metrics,
    expired: options.expired ?? "serve",
    scopeAttributesBy: options.scopeAttributesBy ?? "writer",
    maxTokenHours: options.maxTokenHours,
    keepVersions: options.keepVersions,
    signUp,
    hashing: createHashingLimiter(limits),
    passwords: new PasswordHasher({
      cost: options.passwordCost ?? defaultPasswordCost,
      stored: opened.hashes,
      onHash: ({ memoryKib }) => metrics.passwordHashes.inc({ memory_kib: String(memoryKib) }),
    }),
    scopes: new ScopeCache(),
    tokenUses: new TokenUses(),
    strangers: new Strangers({
      clock,
      logger,
      rate: new TokenBuckets(clock, limits.strangerFailuresPerSecond, limits.strangerBurst),
      lines: new TokenBuckets(clock, limits.strangerLinesPerSecond, limits.strangerLinesBurst),
      audit,
    }),
    rejections: createRejections(clock, limits),
    waiting: new WaitingLists({ store, clock, limits, metrics }),
    requestRate,
    auditBudget: createAuditBudget(clock, limits, requestRate.perAccount, opened),
    openLists: new OpenLists({ clock, limits, metrics }),
    listResponses: new ListResponses({ clock, limits }),
    uploads: new OpenTransfers(limits.quotas.uploads, () =>
      errors.quotaExceeded("uploads", limits.quotas.uploads),
    ),
    downloads: new OpenTransfers(limits.downloadsPerAccount, () => errors.tooManyDownloads()),
    appUrl,
    audit,
    space,
    mailer: new Mailer({
      store,
      clock,
      random: systemRandom,
      logger,
      metrics,
      transport,
      senderIdentity,
    }),
  };
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

function isAddressInfo(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}

function hostOf({ host }: { readonly host: string }): string {
  return host.includes(":") ? `[${host}]` : host;
}

function urlOf(app: FastifyInstance, options: VaultServerOptions): string {
  const address = app.server.address();
  if (!isAddressInfo(address)) throw new Error("the server is not listening on a port");
  return `${options.tls ? "https" : "http"}://${hostOf(options.listen)}:${address.port}`;
}

/** Serves metrics on an address of their own, because they need no token. Returns its URL. */
async function serveMetrics(
  running: AsyncDisposableStack,
  { metricsListen: listen, allowedHosts }: VaultServerOptions,
  metrics: VaultMetrics,
  readiness: () => Readiness,
): Promise<string | undefined> {
  if (listen === undefined) return undefined;
  const options = {
    listen,
    ...(allowedHosts && { allowedHosts }),
    metrics: metrics.registry,
    readiness,
  };
  const endpoints = await serveEndpoints(options).catch((error: unknown) => {
    throw listenFailure(error, listen, "--metrics-listen");
  });
  const { port } = running.use(endpoints);
  return `http://${hostOf(listen)}:${port}`;
}

/**
 * Starts a vault server in this process. Waits for a PostgreSQL database that cannot be reached
 * yet, until the signal is aborted.
 * @throws Error when a master key is missing, the data cannot be opened, or the address is in use
 */
export async function startVaultServer(
  options: VaultServerOptions,
  signal?: AbortSignal,
): Promise<VaultServer> {
  const key = options.masterKey ?? (options.dev && generateMasterKey());
  if (!key) throw new Error("missing master key");
  const keys = key instanceof KeyRing ? key : KeyRing.of(key);
  await using started = new AsyncDisposableStack();
  const { logger = silentLogger } = options;
  const metrics = new VaultMetrics();
  if (options.processMetrics === true) metrics.registry.addProcessMetrics();
  const start = new StoreStart({ waits: isPostgresUrl(options.data), logger, signal });
  let serving: VaultContext | undefined;
  const metricsUrl = await serveMetrics(started, options, metrics, () =>
    serving
      ? { ready: serving.audit?.writable ?? true }
      : { ready: false, problem: start.problem ?? "starting" },
  );
  const damage = new DamageReports(logger, (table) => metrics.damagedRights.inc({ table }));
  const store = started.use(
    await start.run(() => openStore(options.data, new RowMacs(keys, (row) => damage.report(row)))),
  );
  await start.run(() =>
    checkData(store, keys, {
      allowMissing: options.allowMissingKeys,
      seal: options.sealRights,
      logger,
    }),
  );
  await store.listen();
  let appUrl = options.appUrl === undefined ? "" : new URL(options.appUrl).origin;
  const mail = started.use(await openMail(options.mail ?? {}, options.data, logger));
  const watched = await watchSpace(options, store, metrics);
  const space = watched && started.use(watched);
  const makeRoom = async (): Promise<boolean> => (await space?.release()) ?? false;
  const onChange = (writable: boolean): void => metrics.auditLogUnavailable.set(writable ? 0 : 1);
  const forwarder = forwardAudit(started, options, metrics);
  const auditLog = options.auditLog && {
    ...options.auditLog,
    makeRoom,
    onChange,
    ...forwarder?.hook,
  };
  const audit =
    auditLog &&
    started.adopt(await start.run(() => openAuditLog(options, auditLog, { store, keys })), (log) =>
      closeAuditLog(log, { store, keys }),
    );
  damage.audit = audit;
  const hashes = await start.run(() => store.read(({ users: known }) => known.hashesByCost()));
  const context = createContext(options, {
    store,
    keys,
    transport: mail.transport,
    appUrl: () => appUrl,
    audit,
    space,
    metrics,
    hashes,
  });
  const users: NewUser[] = [];
  for (const email of options.dev?.users ?? []) {
    users.push(
      await addGeneratedUser(
        store,
        email,
        context.clock.now(),
        options.passwordCost ?? defaultPasswordCost,
      ),
    );
  }
  started.use(context.strangers);
  started.use(context.auditBudget);
  started.use(startSweeper(context));
  const app = started.adopt(await createHttpServer(context, options), (built) => built.close());
  await app.listen(options.listen).catch((error: unknown) => {
    throw listenFailure(error, options.listen, "--listen");
  });
  const url = urlOf(app, options);
  // Normalized like the `origin` header of browsers: lower case, without the default port.
  appUrl ||= new URL(url).origin;
  started.use(context.mailer).start();
  forwarder?.start();
  serving = context;
  context.logger.info(
    { event: "listening", url, metricsUrl, mailDir: mail.directory },
    "vault server listening",
  );
  const running = started.move();
  return {
    url,
    metricsUrl,
    users,
    mailDirectory: mail.directory,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
