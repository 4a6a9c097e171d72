import type { JsonOperation, RequestBody } from "../../../protocol/operation-bodies.ts";
import { operationPath, sessionOperationPath } from "../../../protocol/operation-paths.ts";
import { currentSession } from "./account.ts";
import type { Session } from "./responses.ts";
import { toRequestError, RequestError } from "./request-error.ts";
import { type Transfer, post, readJson } from "./send.ts";
import type { Guard } from "./shape.ts";

/**
 * Client of the vault for the logged-in user. When the session ends, its requests wait for a new
 * login of the same user and are sent again; it also adopts a new session from another tab.
 */
export class VaultClient {
  readonly email: string;
  #csrfToken: string;
  readonly #logInAgain: () => Promise<boolean>;
  /** The last response of each list, with its entity tag. */
  readonly #lists = new Map<JsonOperation, { readonly etag: string; readonly body: unknown }>();

  /** @param logInAgain resolves to whether the same user has logged in */
  constructor(session: Session, logInAgain: () => Promise<boolean>) {
    this.email = session.email;
    this.#csrfToken = session.csrf_token;
    this.#logInAgain = logInAgain;
  }

  /** Adopts a new session of the same user. */
  adopt({ csrf_token: csrfToken }: Session): void {
    this.#csrfToken = csrfToken;
  }

  get csrfToken(): string {
    return this.#csrfToken;
  }

  /** Runs an operation as the logged-in user. @throws RequestError */
  async call<T, O extends JsonOperation>(
    operation: O,
    body: RequestBody<O>,
    guard: Guard<T>,
  ): Promise<T> {
    return this.callNow(operation, () => body, guard);
  }

  /**
   * Runs an operation whose body depends on the time: it is made each time that it is sent, because
   * a request may wait for a login. @throws RequestError
   */
  async callNow<T, O extends JsonOperation>(
    operation: O,
    bodyNow: () => RequestBody<O>,
    guard: Guard<T>,
  ): Promise<T> {
    const send = (): Promise<Response> =>
      post(
        operationPath[operation],
        { email: this.email, ...bodyNow() },
        { csrfToken: this.#csrfToken },
      );
    return readJson(await this.guarded(send), guard);
  }

  /**
   * Runs an operation that lists what the user has. A list that has not changed is not sent again,
   * and the same object is returned.
   * @throws RequestError
   */
  async list<T>(operation: JsonOperation, guard: Guard<T>): Promise<T> {
    const path = operationPath[operation];
    const known = this.#lists.get(operation);
    const response = await this.guarded(() =>
      post(path, { email: this.email }, { csrfToken: this.#csrfToken, knownTag: known?.etag }),
    );
    if (response.status === 304 && known && guard(known.body)) return known.body;
    const body = await readJson(response, guard);
    const etag = response.headers.get("etag");
    if (etag !== null) this.#lists.set(operation, { etag, body });
    return body;
  }

  /** Posts within the session and returns the raw response. @throws RequestError */
  async open(path: string, body: object, download?: Transfer): Promise<Response> {
    return this.guarded(() => post(path, body, { csrfToken: this.#csrfToken, download }));
  }

  /**
   * Runs a function that sends `csrfToken`, and again when the token was outdated or the session
   * had ended: the vault rejects such a request before it has an effect.
   * @throws RequestError
   */
  async guarded<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (error.code === "csrf_failed" && (await this.#renew())) return this.#afterLogin(send);
      if (isSessionEnded(error) && (await this.#logInAgain())) return send();
      throw wrongPassword(error);
    }
  }

  /**
   * Ends the session; the session of another user who logged in later, in another tab, continues.
   * @throws RequestError
   */
  async logOut(): Promise<void> {
    const send = (): Promise<Response> =>
      post(sessionOperationPath.app_log_out, {}, { csrfToken: this.#csrfToken });
    try {
      await send();
    } catch (error) {
      if (toRequestError(error).code !== "csrf_failed") throw error;
      if (await this.#renew()) await send();
    }
  }

  async #afterLogin<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      if (error instanceof RequestError && isSessionEnded(error) && (await this.#logInAgain()))
        return send();
      throw error;
    }
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

/** Within a session only the password can be wrong. */
function wrongPassword(error: RequestError): RequestError {
  if (error.code !== "invalid_credentials") return error;
  return new RequestError(error.code, "Wrong password.", error.status, [
    { path: "password", reason: "Wrong password." },
  ]);
}
