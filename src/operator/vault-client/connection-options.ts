import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Random } from "../../lib/random.ts";
import type { Scope } from "../../protocol/scope.ts";
import type { Health, SnapshotChange } from "./connection.ts";
import type { CredentialSource } from "./auth/credential-source.ts";
import type { VaultObserver } from "./observer.ts";
import type { ValueCache } from "./values/value-cache.ts";

export interface ConnectionOptions {
  /** Base address, without `/v1`; a path before it is kept. */
  readonly url: string;
  readonly email: string;
  readonly credentials: CredentialSource;
  readonly scope: Scope;
  /** What a log-in asks for; the vault counts in hours, so it is rounded up to whole ones. */
  readonly tokenLifetimeMs: number;
  /** From one list to the next. */
  readonly refreshIntervalMs: number;
  /** For one whole call, from connecting to the last byte; a download of n MiB may take n seconds longer. */
  readonly timeoutMs: number;
  /** Bursts may be twice that. */
  readonly requestsPerSecond: number;
  /** PEM bundle, trusted instead of the public authorities. */
  readonly ca?: string | undefined;
  /** Allows `http:` addresses and vaults on the loopback interface, which are for development. */
  readonly allowHttp: boolean;
  /** When given, only these hosts: exact names or addresses, or `*.example.com`. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** May be shared by many connections; each sees only its own. */
  readonly valueCache: ValueCache;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly observer?: VaultObserver | undefined;
  /**
   * After the first list, and each that differs from the one before: by names, or by whether files are listed at all. The snapshot is in
   * place by then. Must not throw.
   */
  readonly onChange: (change: SnapshotChange) => void;
  /** When the state, or the kind of failure, is another than before. Must not throw. */
  readonly onHealth: (health: Health) => void;
}
