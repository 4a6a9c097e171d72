import { systemClock, type Clock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/logger.ts";
import { systemRandom } from "../../lib/random.ts";
import { RequestTurns } from "./protection/request-turns.ts";
import { HashingLimiter } from "./protection/hashing-limiter.ts";
import { PasswordHasher } from "./accounts/password-hasher.ts";
import { ScopeCache } from "./accounts/scope-cache.ts";
import { ACCOUNT_FACTOR, TokenBuckets, type RequestRate } from "./protection/token-buckets.ts";
import { TokenUses } from "./accounts/tokens.ts";
import { AuditBudget } from "./audit/audit-budget.ts";
import { ConsumerUses } from "./consumers/consumer-uses.ts";
import type { Policies, VaultContext } from "./context.ts";
import { errors } from "./errors.ts";
import { IdentityIssuers } from "./identities/identity-issuers.ts";
import {
  defaultLimits,
  defaultPasswordCost,
  devLimits,
  type AccountLimits,
  type LoginLimits,
  type NetworkLimits,
} from "./limits.ts";
import { mailDomain, type SenderIdentity } from "./mail/compose-email.ts";
import { Mailer } from "./mail/mailer.ts";
import type { Resources } from "./open-resources.ts";
import { ListResponses, OpenLists } from "./protection/open-lists.ts";
import { OpenTransfers } from "./protection/open-transfers.ts";
import { DelayedRejections } from "./protection/delayed-rejections.ts";
import { UnauthenticatedRequests } from "./protection/unauthenticated-requests.ts";
import type { VaultServerOptions } from "./vault-server-options.ts";
import { WaitingLists } from "./protection/waiting-lists.ts";

/** Maximum number of concurrent password hashings; each takes 19 MiB and a thread. */
const CONCURRENT_HASHINGS = 2;

const SECONDS_PER_HOUR = 3600;

/** Creates the rate limits of requests, per token, login and account. */
function createRequestRate(
  clock: Clock,
  { requestsPerSecond, requestBurst }: AccountLimits,
): RequestRate {
  const buckets = (factor: number): TokenBuckets =>
    new TokenBuckets(clock, requestsPerSecond * factor, requestBurst * factor);
  return { perToken: buckets(1), perLogin: buckets(1), perAccount: buckets(ACCOUNT_FACTOR) };
}

/** Creates the share of each account of the audit log. */
function createAuditBudget(
  clock: Clock,
  limits: AccountLimits,
  requests: RequestRate["perAccount"],
  { audit, space }: Pick<VaultContext, "audit" | "space">,
): AuditBudget {
  const { auditBytesPerHour: bytes, lowSpaceRequestsPerSecond, lowSpaceBurst } = limits;
  return new AuditBudget({
    bytes: new TokenBuckets(clock, bytes / SECONDS_PER_HOUR, bytes),
    lowSpace: new TokenBuckets(clock, lowSpaceRequestsPerSecond, lowSpaceBurst),
    isLow: () => space?.isLow ?? false,
    requests,
    log: audit,
  });
}

/** Creates the delays of responses beyond a rate for each party. */
function createDelays(
  clock: Clock,
  limits: NetworkLimits,
  perSecond: number,
  burst: number,
): DelayedRejections {
  return new DelayedRejections({
    clock,
    rate: new TokenBuckets(clock, perSecond, burst),
    delayMs: limits.rejectionDelayMs,
    perParty: limits.delayedRejectionsPerParty,
    total: limits.delayedRejections,
  });
}

function createHashingLimiter(limits: LoginLimits): HashingLimiter {
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

function policiesOf(options: VaultServerOptions): Policies {
  return {
    expired: options.expired ?? "serve",
    scopeAttributesBy: options.scopeAttributesBy ?? "writer",
    maxTokenHours: options.maxTokenHours,
    keepVersions: options.keepVersions,
    trashDays: options.trashDays ?? 0,
    signUp: options.signUp ?? { mode: "invited" },
  };
}

/** Creates what the routes, the sweeper and the mailer share. */
export function createContext(
  options: VaultServerOptions,
  opened: Resources,
  appUrl: () => string,
): VaultContext & { readonly mailer: Mailer } {
  const { store, keys, transport, audit, space, metrics } = opened;
  const limits = { ...(options.dev ? devLimits : defaultLimits), ...options.limits };
  const clock = options.clock ?? systemClock;
  const logger = options.logger ?? silentLogger;
  const policies = policiesOf(options);
  const senderIdentity = (): SenderIdentity => ({
    appUrl: appUrl(),
    from: options.mail?.from ?? `vaultsync@${mailDomain(appUrl())}`,
    signUp: policies.signUp,
  });
  const requestRate = createRequestRate(clock, limits);
  return {
    store,
    keys,
    clock,
    limits,
    logger,
    metrics,
    ...policies,
    emailDelivery: opened.mailDirectory === undefined ? "smtp" : "files",
    hashing: createHashingLimiter(limits),
    passwords: new PasswordHasher({
      cost: options.passwordCost ?? defaultPasswordCost,
      stored: opened.hashes,
      onHash: ({ memoryKib }) => metrics.passwordHashes.inc({ memory_kib: String(memoryKib) }),
    }),
    scopes: new ScopeCache(),
    identities: options.identities && new IdentityIssuers(options.identities, clock, logger),
    tokenUses: new TokenUses(),
    consumerUses: new ConsumerUses(clock),
    unauthenticated: new UnauthenticatedRequests({
      clock,
      logger,
      rate: new TokenBuckets(
        clock,
        limits.unauthenticatedFailuresPerSecond,
        limits.unauthenticatedBurst,
      ),
      lines: new TokenBuckets(
        clock,
        limits.unauthenticatedLinesPerSecond,
        limits.unauthenticatedLinesBurst,
      ),
      audit,
    }),
    rejections: createDelays(clock, limits, limits.rejectionsPerSecond, limits.rejectionBurst),
    pages: createDelays(clock, limits, limits.pagesPerSecond, limits.pageBurst),
    waiting: new WaitingLists({ store, clock, limits, metrics }),
    requestRate,
    turns: new RequestTurns(clock),
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
