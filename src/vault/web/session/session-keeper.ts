import type { Session } from "../service/responses.ts";
import type { RequestError } from "../service/request-error.ts";
import { VaultClient } from "../service/vault-client.ts";

/** State of the login. `unknown` means that the vault could not be asked. */
export type SessionState =
  | { readonly kind: "checking" }
  | { readonly kind: "unknown"; readonly failure: RequestError }
  | { readonly kind: "none"; readonly notice?: string }
  /** `paused` while the pages stay and their requests wait for a new login. */
  | { readonly kind: "open"; readonly client: VaultClient; readonly paused?: Pause };

/** Reason for a new login: the session has ended, or the pages were not used. */
export type Pause = "ended" | "locked";

/** Keeps the client of the open pages, and their requests while these wait for a new login. */
export class SessionKeeper {
  readonly #show: (state: SessionState) => void;
  #client: VaultClient | undefined;
  #waiting: PromiseWithResolvers<boolean> | undefined;

  constructor(show: (state: SessionState) => void) {
    this.#show = show;
  }

  /**
   * Reports whether a session of another tab replaces the login page, or lets the open pages
   * continue.
   */
  accepts({ email }: Session): boolean {
    return (
      this.#client === undefined || (this.#waiting !== undefined && this.#client.email === email)
    );
  }

  /** Continues the pages of the same user; otherwise opens new ones. */
  adopt(session: Session): void {
    if (this.#client?.email !== session.email) {
      this.#open(session);
      return;
    }
    this.#client.adopt(session);
    this.#resume(true);
    this.#show({ kind: "open", client: this.#client });
  }

  /** Keeps the pages, and their requests from now on, until the same user logs in. */
  pause(reason: Pause): void {
    if (!this.#client || this.#waiting) return;
    this.#waiting = Promise.withResolvers<boolean>();
    this.#show({ kind: "open", client: this.#client, paused: reason });
  }

  /** Closes the pages; their waiting requests fail. */
  close(state: SessionState): void {
    this.#client = undefined;
    this.#resume(false);
    this.#show(state);
  }

  #open(session: Session): void {
    const client: VaultClient = new VaultClient(session, () => this.#newLogin(client));
    this.close({ kind: "open", client });
    this.#client = client;
  }

  /** Asks for a login and resolves to whether the same user logged in. */
  async #newLogin(client: VaultClient): Promise<boolean> {
    if (this.#client !== client) return false;
    this.pause("ended");
    return this.#waiting?.promise ?? false;
  }

  #resume(loggedIn: boolean): void {
    this.#waiting?.resolve(loggedIn);
    this.#waiting = undefined;
  }
}
