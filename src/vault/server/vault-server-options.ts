import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Redacted } from "../../lib/redacted.ts";
import type { AuditLogFile } from "./audit/anchored-audit-log.ts";
import type { ExpiredPolicy, ScopeAttributesPolicy, SignUpPolicy } from "./context.ts";
import type { KeyRing } from "./crypto/key-ring.ts";
import type { HttpServerOptions } from "./http-server.ts";
import type { IdentityOptions } from "./identities/identity-issuers.ts";
import type { Limits, PasswordCost } from "./limits.ts";
import type { MailOptions } from "./mail/open-mail.ts";
import type { LowSpace } from "./protection/disk-space.ts";

export interface VaultServerOptions extends HttpServerOptions {
  /** Address of a listener for metrics and health; none by default. */
  readonly metricsListen?: { readonly host: string; readonly port: number };
  /** Adds the metrics of the process, whose only server this is. */
  readonly processMetrics?: boolean;
  /** The data file, `":memory:"`, or the URL of a PostgreSQL database (`openStore`). */
  readonly data: string;
  /** A 32-byte key or all keys; optional with `dev`: that generates an ephemeral one. */
  readonly masterKey?: Redacted<Uint8Array> | KeyRing;
  /**
   * Starts although records need a master key that is missing; they are unreadable. The current key
   * is always required.
   */
  readonly allowMissingKeys?: boolean;
  /** Confirms the rights without MACs in the data of an earlier release (`checkData`). */
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
  /** Days for which deleted secrets and files can be restored; 0, the default, for none. */
  readonly trashDays?: number;
  /** Addresses that may sign up; by default those that a secret or a team is shared with. */
  readonly signUp?: SignUpPolicy;
  /** Issuers of workloads' tokens; none by default. */
  readonly identities?: IdentityOptions;
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
