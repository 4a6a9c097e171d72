import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Scope } from "../protocol/scope.ts";
import type { AuditLog } from "./audit/audit-log.ts";
import type { KeyRing } from "./crypto/key-ring.ts";
import type { Limits, PasswordCost } from "./limits.ts";
import type { Store } from "./store/store.ts";
import type { Strangers } from "./strangers/strangers.ts";
import type { WaitingLists } from "./waiting/waiting-lists.ts";
import type { VaultMetrics } from "./metrics.ts";

/** Policy for a value whose `expiration_time` has passed: serve it, or deny it with `secret_expired`. */
export type ExpiredPolicy = "serve" | "deny";

/** Users who may change the metadata that scopes match, and `expiration_time`: those with W permission, or the creator only. */
export type ScopeAttributesPolicy = "writer" | "creator";

interface RateLimit {
  /** Returns 0, or the seconds until the next request is allowed. */
  take(key: string): number;
  prune(): void;
}

/** The parts that routes, sweeper and mailer share. Each uses a few; tests start whole servers, so none is replaced alone. */
export interface VaultContext {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: VaultMetrics;
  readonly limits: Limits;
  readonly expired: ExpiredPolicy;
  readonly scopeAttributesBy: ScopeAttributesPolicy;
  /** Maximum lifetime of an access token in hours; `undefined` without one. */
  readonly maxTokenHours: number | undefined;
  /** Limits concurrent password hashing, which costs memory and a thread. */
  readonly hashing: {
    run<T>(party: { readonly account: string; readonly network: string }, job: () => Promise<T>): Promise<T>;
  };
  /** Cost of new password hashes. */
  readonly passwordCost: PasswordCost;
  /** Hash that the password of an unknown user is compared with. */
  readonly unmatchableHash: string;
  /** Rate limits per access token or session, by its digest, and per account, by its email. */
  readonly requestRate: { readonly perToken: RateLimit; readonly perAccount: RateLimit };
  /** Failed requests without valid credentials. */
  readonly strangers: Strangers;
  /** Parsed scopes of tokens. @throws InvalidScopeError */
  readonly scopes: { parse(text: string): Scope };
  /** Audit log of all operations; `undefined` when the server keeps none. */
  readonly audit: AuditLog | undefined;
  /** Origin of the web application as users reach it, without a trailing slash; set once the server listens. */
  readonly appUrl: () => string;
  /** Lists that wait for a change. */
  readonly waiting: WaitingLists;
  /** Wake it after committing an email to the outbox. */
  readonly mailer: { wake(): void };
}
