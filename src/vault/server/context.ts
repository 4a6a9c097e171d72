import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { EmailDelivery, SignUpMode } from "../../protocol/schemas/session.ts";
import type { Scope } from "../../protocol/scope.ts";
import type { AuditBudget } from "./audit/audit-budget.ts";
import type { AuditLog } from "./audit/audit-log.ts";
import type { KeyRing } from "./crypto/key-ring.ts";
import type { Limits } from "./limits.ts";
import type { DiskSpace } from "./protection/disk-space.ts";
import type { AccessToken, ConsumerUse, Identity } from "./store/records.ts";
import type { Store } from "./store/store.ts";
import type { DelayedRejections } from "./protection/delayed-rejections.ts";
import type { UnauthenticatedRequests } from "./protection/unauthenticated-requests.ts";
import type { WaitingLists } from "./protection/waiting-lists.ts";
import type { HashingLimiter } from "./protection/hashing-limiter.ts";
import type { ListResponses, OpenLists } from "./protection/open-lists.ts";
import type { OpenTransfers } from "./protection/open-transfers.ts";
import type { RequestTurns } from "./protection/request-turns.ts";
import type { RequestRate } from "./protection/token-buckets.ts";
import type { VaultMetrics } from "./metrics.ts";

/**
 * Policy for a value whose `expiration_time` has passed: serve it, or deny it with
 * `secret_expired`.
 */
export type ExpiredPolicy = "serve" | "deny";

/**
 * Users who may change the metadata that scopes match, and `expiration_time`: those with W
 * permission, or the creator only.
 */
export type ScopeAttributesPolicy = "writer" | "creator";

/** Addresses that may sign up by themselves; the operator of the server can add any user. */
export interface SignUpPolicy {
  /** Anyone, users whom a secret or a team is shared with, or none. */
  readonly mode: SignUpMode;
  /**
   * Domains of these addresses, in lower case; all without any. Subdomains count as other domains.
   */
  readonly domains?: readonly string[];
}

/** Result of verifying a password. */
export interface Verified {
  readonly matches: boolean;
  /** Hash of the password with the current cost, when the stored one is outdated. */
  readonly renewed: string | undefined;
}

/** Choices of the operator of a server. */
export interface Policies {
  readonly expired: ExpiredPolicy;
  readonly scopeAttributesBy: ScopeAttributesPolicy;
  /** Maximum lifetime of an access token in hours; `undefined` without one. */
  readonly maxTokenHours: number | undefined;
  /** Number of versions of a secret that are kept; `undefined` for all. */
  readonly keepVersions: number | undefined;
  /** Days for which deleted secrets and files can be restored; 0 for none. */
  readonly trashDays: number;
  readonly signUp: SignUpPolicy;
}

/** The parts that keep one client from taking the server from all others. */
interface Protection {
  readonly requestRate: RequestRate;
  /** Each account gets the same share of a busy event loop. */
  readonly turns: RequestTurns;
  /** Limits concurrent password hashing: each hash takes memory and a thread. */
  readonly hashing: HashingLimiter;
  /** Failed requests without valid credentials. */
  readonly unauthenticated: UnauthenticatedRequests;
  /** Responses to those who keep sending rejected requests. */
  readonly rejections: DelayedRejections;
  /** Documents that need no credentials, sent to those who request many. */
  readonly pages: DelayedRejections;
  /** The part of the audit log that each account may fill. */
  readonly auditBudget: AuditBudget;
  /** Free disk space; `undefined` when it is not watched. */
  readonly space: DiskSpace | undefined;
  /** Lists that wait for a change. */
  readonly waiting: WaitingLists;
  /** Lists that clients read. */
  readonly openLists: OpenLists;
  /** Responses that send a list in memory. */
  readonly listResponses: ListResponses;
  /** Uploads in progress. @throws ServiceError `quota_exceeded` */
  readonly uploads: OpenTransfers;
  /** Downloads in progress. @throws ServiceError `rate_limited` */
  readonly downloads: OpenTransfers;
}

/**
 * The parts that routes, sweeper and mailer share. Each uses a few; tests start whole servers, so
 * none is replaced alone.
 */
export interface VaultContext extends Policies, Protection {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: VaultMetrics;
  readonly limits: Limits;
  /** Hashes and verifies passwords; verifying takes as long without a stored hash. */
  readonly passwords: {
    hash(password: string): Promise<string>;
    verify(stored: string | undefined, password: string): Promise<Verified>;
  };
  /** Uses of access tokens that the sweeper records. */
  readonly tokenUses: {
    note(token: Pick<AccessToken, "digest" | "usedAt">, now: number): void;
    record(store: Store): Promise<void>;
  };
  /** Reads of values by resources, until the sweeper records them. */
  readonly consumerUses: {
    note(use: ConsumerUse): void;
    record(store: Pick<Store, "write">): Promise<void>;
  };
  /** Parsed scopes of tokens. @throws InvalidScopeError */
  readonly scopes: { parse(text: string): Scope };
  /** Verifies tokens of workloads; `undefined` when the server trusts no issuer. */
  readonly identities:
    | { verify(token: string): Promise<Pick<Identity, "issuer" | "subject"> | undefined> }
    | undefined;
  /** Audit log of all operations; `undefined` when the server keeps none. */
  readonly audit: AuditLog | undefined;
  /**
   * Origin of the web application as users reach it, without a trailing slash; set once the server
   * listens.
   */
  readonly appUrl: () => string;
  readonly emailDelivery: EmailDelivery;
  /** Wake it after committing an email to the outbox. */
  readonly mailer: {
    wake(): void;
    /** Removes files of emails whose links have expired. */
    removeOld(now: number): Promise<void>;
  };
}
