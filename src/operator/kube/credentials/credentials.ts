import type { Clock } from "../../../lib/clock.ts";
import type { Redacted } from "../../../lib/redacted.ts";

/** TLS as `node:tls` takes it. What is absent is the system's. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
}

/** With what to speak to the API server at this moment. */
export interface Access {
  /** Authorization and, where configured, impersonation. */
  readonly headers: Redacted<Readonly<Record<string, string>>>;
  readonly tls: Redacted<TlsMaterial>;
}

/** Where access comes from: a kubeconfig or the pod's own ServiceAccount. */
export interface AccessSource {
  /** The origin of the API server, and a path where it is served under one. */
  readonly server: URL;
  /** The namespace of the pod or of the kubeconfig's context, where one is named. */
  readonly namespace: string | undefined;
  /** Reads files and runs plugins as needed. `fresh` forgets everything known, because the server refused it. */
  load(fresh: boolean): Promise<Access>;
}

/** A rotated token or CA is noticed after so long. client-go reads a token once a minute; the kubelet rotates long before expiry. */
const READ_AGAIN_MS = 10_000;

/** The access of one source, kept for a short while and shared by all calls. */
export class Credentials {
  readonly #source: AccessSource;
  readonly #clock: Clock;
  #current: { readonly access: Promise<Access>; readonly until: number } | undefined;
  #refused = false;

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

  /** What to use now. Rejects with the source's error, and tries again at the next call. */
  access(): Promise<Access> {
    const now = this.#clock.monotonic();
    if (this.#current && now < this.#current.until) return this.#current.access;
    const access = this.#source.load(this.#refused);
    this.#refused = false;
    const current = { access, until: now + READ_AGAIN_MS };
    this.#current = current;
    access.catch(() => {
      if (this.#current === current) this.#current = undefined;
    });
    return access;
  }

  /** The server did not accept `refused`: the next call loads anew, unless another call already has. */
  async refuse(refused: Access): Promise<void> {
    const current = this.#current;
    const same = current === undefined || (await current.access.catch(() => refused)) === refused;
    if (!same || this.#current !== current) return;
    this.#current = undefined;
    this.#refused = true;
  }
}
