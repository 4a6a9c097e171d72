import type { Clock } from "../../../lib/clock.ts";
import type { Redacted } from "../../../lib/redacted.ts";

/** TLS options of `node:tls`. Absent options have the system's defaults. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
}

/** Headers and TLS options for requests to the API server, valid for a short time. */
export interface Access {
  /** Authorization and, where configured, impersonation. */
  readonly headers: Redacted<Readonly<Record<string, string>>>;
  readonly tls: Redacted<TlsMaterial>;
}

/** A source of access: a kubeconfig or the pod's own ServiceAccount. */
export interface AccessSource {
  /** The origin of the API server, and its path if it has one. */
  readonly server: URL;
  /** The namespace of the pod or of the kubeconfig's context, if any. */
  readonly namespace: string | undefined;
  /**
   * Reads files and runs plugins as needed. `fresh` discards all cached state, because the server
   * rejected it.
   */
  load(fresh: boolean): Promise<Access>;
}

/**
 * Time after which a rotated token or CA is read. client-go reads a token once a minute; the
 * kubelet rotates it long before it expires.
 */
const CACHE_MS = 10_000;

/** Caches the access of one source for a short time and shares it among all requests. */
export class Credentials {
  readonly #source: AccessSource;
  readonly #clock: Clock;
  #current: { readonly access: Promise<Access>; readonly until: number } | undefined;
  #rejected = false;

  constructor(source: AccessSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  get server(): URL {
    return this.#source.server;
  }

  get namespace(): string | undefined {
    return this.#source.namespace;
  }

  /**
   * Returns the current access. Rejects with the source's error, and loads again on the next call.
   */
  access(): Promise<Access> {
    const now = this.#clock.monotonic();
    if (this.#current && now < this.#current.until) return this.#current.access;
    const access = this.#source.load(this.#rejected);
    this.#rejected = false;
    const current = { access, until: now + CACHE_MS };
    this.#current = current;
    access.catch(() => {
      if (this.#current === current) this.#current = undefined;
    });
    return access;
  }

  /**
   * Reports that the server rejected this access. The next call loads the access again, unless
   * another call already has.
   */
  async reject(rejected: Access): Promise<void> {
    const current = this.#current;
    const same = current === undefined || (await current.access.catch(() => rejected)) === rejected;
    if (!same || this.#current !== current) return;
    this.#current = undefined;
    this.#rejected = true;
  }
}
