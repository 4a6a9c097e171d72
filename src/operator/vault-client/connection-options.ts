import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Random } from "../../lib/random.ts";
import type { Scope } from "../../protocol/scope.ts";
import type { CredentialSource } from "./auth/credentials.ts";
import type { AccountLogins } from "./auth/login-gate.ts";
import type { EntryKind, Health, LoginPause, SnapshotChange } from "./connection.ts";
import type { ListGate } from "./http/list-gate.ts";
import type { ResponseMemory } from "./http/response-memory.ts";
import type { VaultTransport } from "./http/vault-transport.ts";
import type { VaultObserver } from "./observer.ts";
import type { ValueCache } from "./values/value-cache.ts";

export interface ConnectionOptions {
  /** Way to the vault. The connection owns it. */
  readonly transport: VaultTransport;
  readonly email: string;
  readonly credentials: CredentialSource;
  /** Logins of the account, shared by all its connections. */
  readonly logins: AccountLogins;
  /** Pause after rejected logins that an earlier process published. */
  readonly loginPause?: LoginPause | undefined;
  /** Scope requested at login. */
  readonly scope: Scope;
  /** Limits the requested scope to the referenced names. */
  readonly onlyReferenced?: boolean | undefined;
  /** Token lifetime requested at login in ms, rounded up to whole hours. */
  readonly tokenLifetimeMs: number;
  /** Time from one list to the next in ms. */
  readonly refreshIntervalMs: number;
  /**
   * `Auto`: lets the vault hold a list until it changes, if it can; `Interval`: only lists once per
   * interval.
   */
  readonly follow: "Auto" | "Interval";
  /**
   * Time in ms for a whole request, from connecting to the last byte. A download of n MiB may take
   * n seconds longer.
   */
  readonly timeoutMs: number;
  /** Sustained request rate; Infinity: as many as the vault takes. Bursts may be twice as large. */
  readonly requestsPerSecond: number;
  /**
   * Name of the cluster with which the consumer of each value that is read is reported to the
   * vault; `undefined`: none is reported.
   */
  readonly reportAs?: string | undefined;
  /** May be shared by many connections; each sees only its own entries. */
  readonly valueCache: ValueCache;
  /** Shared by all connections of the process. */
  readonly listGate: ListGate;
  /** Shared by all connections of the process; also says how long a list may be. */
  readonly listMemory: ResponseMemory;
  /** Shared by all connections of the process, for all responses but lists. */
  readonly valueMemory: ResponseMemory;
  /**
   * The one who waits when the connection causes much work: the connections of one tenant delay
   * each other only.
   */
  readonly tenant: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly observer?: VaultObserver | undefined;
  /**
   * Called after the first list, and after each list that differs from the previous one in a
   * referenced name or covers another one. The new snapshot is already available. Must not throw.
   */
  readonly onChange: (change: SnapshotChange) => void;
  /** Called after every list of a kind, after `onChange`. Must not throw. */
  readonly onListed: (kind: EntryKind) => void;
  /** Called when the token or the pause of the login may have changed. Must not throw. */
  readonly onTokenChange: () => void;
  /** Called when the health state or the kind of failure changes. Must not throw. */
  readonly onHealth: (health: Health) => void;
}
