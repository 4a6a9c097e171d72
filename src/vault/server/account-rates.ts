import type { Clock } from "../../lib/clock.ts";
import { ACCOUNT_FACTOR, TokenBuckets } from "./accounts/token-buckets.ts";
import { AuditBudget } from "./audit/audit-budget.ts";
import type { VaultContext } from "./context.ts";
import type { Limits } from "./limits.ts";

const SECONDS_PER_HOUR = 3600;

/** Creates the rate limits of requests, per token, login and account. */
export function createRequestRate(
  clock: Clock,
  { requestsPerSecond, requestBurst }: Limits,
): VaultContext["requestRate"] {
  const buckets = (factor: number): TokenBuckets =>
    new TokenBuckets(clock, requestsPerSecond * factor, requestBurst * factor);
  return { perToken: buckets(1), perLogin: buckets(1), perAccount: buckets(ACCOUNT_FACTOR) };
}

/** Creates the share of each account of the audit log. */
export function createAuditBudget(
  clock: Clock,
  limits: Limits,
  requests: VaultContext["requestRate"]["perAccount"],
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
