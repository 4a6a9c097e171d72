import type { Clock } from "../lib/clock.ts";
import { TokenBuckets } from "./accounts/token-buckets.ts";
import { AuditBudget } from "./audit/audit-budget.ts";
import type { VaultContext } from "./context.ts";
import type { Limits } from "./limits.ts";

/** Request rate of an account in multiples of that of one token. */
const ACCOUNT_FACTOR = 4;
const SECONDS_PER_HOUR = 3600;

/** Creates the rate limits of requests, per token and per account. */
export function createRequestRate(clock: Clock, { requestsPerSecond, requestBurst }: Limits) {
  return {
    perToken: new TokenBuckets(clock, requestsPerSecond, requestBurst),
    perAccount: new TokenBuckets(clock, requestsPerSecond * ACCOUNT_FACTOR, requestBurst * ACCOUNT_FACTOR),
  };
}

/** Creates the share of each account of the audit log. */
export function createAuditBudget(
  clock: Clock,
  limits: Limits,
  requests: TokenBuckets,
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
