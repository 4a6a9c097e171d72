import { operationPath, type Operation } from "../../protocol/operation-paths.ts";
import { currentSession } from "./account.ts";
import type { Session } from "./responses.ts";
import { toRequestError, RequestError } from "./request-error.ts";
import { post, readJson } from "./post.ts";
import type { Guard } from "./shape.ts";

/**
 * Client of the vault for the logged-in user. It reports the end of the session through `onSessionEnd`, and adopts a new session
 * of the same user from another tab.
 */
export class VaultClient {
  readonly email: string;
  #csrfToken: string;
  readonly #onSessionEnd: () => void;

  constructor(session: Session, onSessionEnd: () => void) {
    this.email = session.email;
    this.#csrfToken = session.csrf_token;
    this.#onSessionEnd = onSessionEnd;
  }

  /** Adopts a new session of the same user. */
  adopt({ csrf_token: csrfToken }: Session): void {
    this.#csrfToken = csrfToken;
  }

  get csrfToken(): string {
    return this.#csrfToken;
  }

  /** Runs an operation as the logged-in user. @throws RequestError */
  async call<T>(operation: Operation, body: object, guard: Guard<T>): Promise<T> {
    return readJson(await this.open(operationPath[operation], { email: this.email, ...body }), guard);
  }

  /** Posts within the session and returns the raw response. @throws RequestError */
  async open(path: string, body: object): Promise<Response> {
    return this.guarded(() => post(path, body, this.#csrfToken));
  }

  /** Runs a function that sends `csrfToken`, and retries once when the token was outdated. @throws RequestError */
  async guarded<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      if (toRequestError(error).code === "csrf_failed" && (await this.#renew())) return await this.#retry(send);
      return this.#report(error);
    }
  }

  async #retry<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      return this.#report(error);
    }
  }

  #report(error: unknown): never {
    if (error instanceof RequestError && isSessionEnded(error)) this.#onSessionEnd();
    throw error;
  }

  async #renew(): Promise<boolean> {
    const { session } = await currentSession();
    if (session?.email !== this.email) return false;
    this.#csrfToken = session.csrf_token;
    return true;
  }
}

function isSessionEnded({ status, code }: RequestError): boolean {
  return code === "csrf_failed" || (status === 401 && code !== "invalid_credentials");
}
