import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { AuditLog } from "./audit/audit-log.ts";
import type { Gate } from "./accounts/hashing-limiter.ts";
import type { PasswordCost } from "./accounts/password.ts";
import type { TokenBuckets } from "./accounts/token-buckets.ts";
import type { KeyRing } from "./crypto/key-ring.ts";
import type { Limits } from "./limits.ts";
import type { Store } from "./store/store.ts";
import type { VaultMetrics } from "./metrics.ts";

/** What happens to a value whose `expiration_time` is over: it is served, or refused with `secret_expired`. */
export type ExpiredPolicy = "serve" | "deny";

/** What every route works with. */
export interface VaultContext {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: VaultMetrics;
  readonly limits: Limits;
  readonly expired: ExpiredPolicy;
  /** Through which passwords are hashed: it costs memory and a thread. */
  readonly hashing: Gate;
  /** Of passwords that are being set. */
  readonly passwordCost: PasswordCost;
  /** What the password of an unknown user is compared with. */
  readonly unmatchableHash: string;
  readonly requestRate: TokenBuckets;
  /** Where every operation leaves its lines; `undefined` when none is kept. */
  readonly audit: AuditLog | undefined;
  /** Where people reach the web application, without a slash at the end; not before the server listens. */
  readonly appUrl: () => string;
  /** Who puts a letter into the outbox wakes it once that is committed. */
  readonly mailer: { wake(): void };
}
