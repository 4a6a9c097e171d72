import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { systemClock, type Clock } from "../lib/clock.ts";
import { codeOf } from "../lib/error-code.ts";
import { silentLogger, type Logger } from "../lib/logger.ts";
import { systemRandom } from "../lib/random.ts";
import type { Redacted } from "../lib/redacted.ts";
import { serveEndpoints } from "../telemetry/endpoints.ts";
import { closeAuditLog, openAuditLog } from "./audit/anchored-audit-log.ts";
import type { AuditLog } from "./audit/audit-log.ts";
import { createHttpServer, type HttpServerOptions } from "./http-server.ts";
import { HashingLimiter } from "./accounts/hashing-limiter.ts";
import { errors } from "./errors.ts";
import { unmatchableHash } from "./accounts/password.ts";
import { defaultPasswordCost, type PasswordCost } from "./limits.ts";
import { ScopeCache } from "./accounts/scope-cache.ts";
import { TokenBuckets } from "./accounts/token-buckets.ts";
import type { ExpiredPolicy, ScopeAttributesPolicy, VaultContext } from "./context.ts";
import { KeyRing } from "./crypto/key-ring.ts";
import { generateMasterKey } from "./crypto/master-key.ts";
import { defaultLimits, devLimits, type Limits } from "./limits.ts";
import { checkMasterKey } from "./store/current-key.ts";
import { mailDomain, type SenderIdentity } from "./mail/compose-email.ts";
import type { EmailTransport } from "./mail/email-transport.ts";
import { Mailer } from "./mail/mailer.ts";
import { openMail, type MailOptions } from "./mail/open-mail.ts";
import { openStore } from "./store/open-store.ts";
import type { Store } from "./store/store.ts";
import { startSweeper } from "./sweeper.ts";
import { addGeneratedUser, type NewUser } from "./accounts/users.ts";
import { Strangers } from "./strangers/strangers.ts";
import { WaitingLists } from "./waiting/waiting-lists.ts";
import { VaultMetrics } from "./metrics.ts";

export interface VaultServerOptions extends HttpServerOptions {
  /** Port 0 selects a free port. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Address of a listener for metrics and health; none by default. */
  readonly metricsListen?: { readonly host: string; readonly port: number };
  /** The data file, `":memory:"`, or the URL of a PostgreSQL database (`openStore`). */
  readonly data: string;
  /** A 32-byte key or all keys; optional with `dev`, which generates an ephemeral one. */
  readonly masterKey?: Redacted<Uint8Array> | KeyRing;
  /** Starts an ephemeral server: these users get generated passwords, and rate limits are ten times as high. */
  readonly dev?: { readonly users: readonly string[] };
  readonly expired?: ExpiredPolicy;
  /** Users with W permission by default. */
  readonly scopeAttributesBy?: ScopeAttributesPolicy;
  /** Maximum lifetime of an access token; none by default. */
  readonly maxTokenHours?: number;
  /** Public URL of the web application; defaults to the address the server listens on. */
  readonly appUrl?: string;
  readonly limits?: Partial<Limits>;
  /** Email options; emails are written as `.eml` files by default. */
  readonly mail?: MailOptions;
  /** Cost of new password hashes; lower than the default in tests only. */
  readonly passwordCost?: PasswordCost;
  /** Audit log of all operations; none by default. */
  readonly auditLog?: { readonly file: string; readonly maxBytes?: number };
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

/** Request rate of an account in multiples of that of one token. */
const ACCOUNT_FACTOR = 4;
/** Maximum number of concurrent password hashings; each takes 19 MiB and a thread. */
const CONCURRENT_HASHINGS = 2;

/** Resources opened on start. */
interface Opened {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly transport: EmailTransport;
  readonly appUrl: () => string;
  readonly audit: AuditLog | undefined;
}

function createContext(options: VaultServerOptions, opened: Opened): VaultContext & { readonly mailer: Mailer } {
  const { store, keys, transport, appUrl, audit } = opened;
  const limits = { ...(options.dev ? devLimits : defaultLimits), ...options.limits };
  const clock = options.clock ?? systemClock;
  const passwordCost = options.passwordCost ?? defaultPasswordCost;
  const logger = options.logger ?? silentLogger;
  const metrics = new VaultMetrics();
  const senderIdentity = (): SenderIdentity => ({
    appUrl: appUrl(),
    from: options.mail?.from ?? `vaultsync@${mailDomain(appUrl())}`,
  });
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
    hashing: new HashingLimiter(
      {
        concurrency: CONCURRENT_HASHINGS,
        waiting: limits.loginQueue,
        waitingPerNetwork: limits.loginQueuePerNetwork,
        waitingPerAccount: limits.loginQueuePerAccount,
      },
      () => errors.tooManyLogins(1000),
    ),
    passwordCost,
    unmatchableHash: unmatchableHash(passwordCost),
    scopes: new ScopeCache(),
    strangers: new Strangers({
      clock,
      logger,
      rate: new TokenBuckets(clock, limits.strangerFailuresPerSecond, limits.strangerBurst),
      audit,
    }),
    waiting: new WaitingLists({ store, clock, limits, metrics }),
    requestRate: {
      perToken: new TokenBuckets(clock, limits.requestsPerSecond, limits.requestBurst),
      perAccount: new TokenBuckets(clock, limits.requestsPerSecond * ACCOUNT_FACTOR, limits.requestBurst * ACCOUNT_FACTOR),
    },
    appUrl,
    audit,
    mailer: new Mailer({ store, clock, random: systemRandom, logger, metrics, transport, senderIdentity }),
  };
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
  { metrics, audit }: VaultContext,
  listen: { readonly host: string; readonly port: number },
): Promise<string> {
  const isReady = (): boolean => audit?.writable ?? true;
  const endpoints = await serveEndpoints({ listen, metrics: metrics.registry, isReady }).catch((error: unknown) => {
    if (codeOf(error) !== "EADDRINUSE") throw error;
    const address = `${hostOf(listen)}:${listen.port}`;
    throw new Error(`the address for metrics, ${address}, is in use (EADDRINUSE): choose another with --metrics-listen, or none`);
  });
  const { port } = running.use(endpoints);
  return `http://${hostOf(listen)}:${port}`;
}

/**
 * Starts a vault server in this process.
 * @throws Error when the master key is missing or does not fit the data, the data cannot be opened, or the address is in use
 */
export async function startVaultServer(options: VaultServerOptions): Promise<VaultServer> {
  const key = options.masterKey ?? (options.dev && generateMasterKey());
  if (!key) throw new Error("missing master key");
  const keys = key instanceof KeyRing ? key : KeyRing.of(key);
  await using started = new AsyncDisposableStack();
  const store = started.use(await openStore(options.data));
  await checkMasterKey(store, keys);
  await store.listen();
  let appUrl = options.appUrl === undefined ? "" : new URL(options.appUrl).origin;
  const mail = started.use(await openMail(options.mail ?? {}, options.data, options.logger ?? silentLogger));
  const audit =
    options.auditLog && started.adopt(await openAuditLog(options, options.auditLog, store), (log) => closeAuditLog(log, store));
  const context = createContext(options, { store, keys, transport: mail.transport, appUrl: () => appUrl, audit });
  const users: NewUser[] = [];
  for (const email of options.dev?.users ?? []) {
    users.push(await addGeneratedUser(store, email, context.clock.now(), options.passwordCost));
  }
  started.use(context.strangers);
  started.use(startSweeper(context));
  const app = started.adopt(await createHttpServer(context, options), (built) => built.close());
  await app.listen(options.listen);
  const url = urlOf(app, options);
  // Normalized like the `origin` header of browsers: lower case, without the default port.
  appUrl ||= new URL(url).origin;
  started.use(context.mailer).start();
  const metricsUrl = options.metricsListen && (await serveMetrics(started, context, options.metricsListen));
  context.logger.info({ event: "listening", url, metricsUrl, mailDir: mail.directory }, "vault server listening");
  const running = started.move();
  return { url, metricsUrl, users, mailDirectory: mail.directory, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
