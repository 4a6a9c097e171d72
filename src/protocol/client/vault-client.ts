import { Agent, type Dispatcher, FormData, request } from "undici";
import type { z } from "zod";
import { codeOf } from "../../lib/errors.ts";
import { jsonOrUndefined } from "../../lib/json-or-undefined.ts";
import { Redacted } from "../../lib/redacted.ts";
import type { JsonOperation, RequestBody, ResponseBody } from "../operation-bodies.ts";
import { canonicalEmail } from "../email-address.ts";
import { utf8Header } from "../headers.ts";
import { operationPath, type Operation } from "../operation-paths.ts";
import { protectFile } from "../operations/files.ts";
import { errorResponse, tokenResponse } from "../responses.ts";
import { printable } from "../../lib/printable.ts";
import { type Account, AccountFile } from "./account-file.ts";
import { withoutTrailingSlashes } from "../../lib/without-trailing-slashes.ts";

const TIMEOUT_MS = 30_000;
/** A file of 64 MiB on a slow line. */
const FILE_TIMEOUT_MS = 600_000;

/** A vault and the authorities that its certificate may be of. */
export type VaultAddress = Pick<Account, "url" | "ca">;

/** An error response of the vault. */
class VaultResponseError extends Error {
  override readonly name = "VaultResponseError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(printable(message));
    this.code = code;
  }
}

interface Body {
  readonly body: string | FormData;
  readonly headers: Readonly<Record<string, string>>;
}

const json = (body: object): Body => ({
  body: JSON.stringify(body),
  headers: { "content-type": "application/json" },
});

type Response = Dispatcher.ResponseData;

/** A vault, and the connections that its requests share. */
interface Vault {
  readonly url: string;
  readonly dispatcher: Dispatcher;
}

const connectTo = ({ url, ca }: VaultAddress): Vault => ({
  url,
  dispatcher: new Agent({ connect: ca === undefined ? {} : { ca }, allowH2: false }),
});

/**
 * @throws VaultResponseError for an error response, Error that says what to check without a
 * response
 */
async function send(
  { url, dispatcher }: Vault,
  operation: Operation,
  { body, headers }: Body,
  timeoutMs: number,
): Promise<Response> {
  const address = withoutTrailingSlashes(url) + operationPath[operation];
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await request(address, {
    method: "POST",
    body,
    headers,
    signal,
    dispatcher,
  }).catch((error: unknown) => {
    const cause = causeOf(error);
    const remedy = UNTRUSTED.test(cause)
      ? "no trusted authority signed its certificate; log in with --ca-file FILE, the PEM certificate of its authority"
      : "check --url and the network";
    throw new Error(`no response from ${new URL(url).host}: ${cause}; ${remedy}`);
  });
  if (response.statusCode === 200) return response;
  throw failureOf(response.statusCode, await response.body.text().catch(() => ""));
}

/** Codes of Node for a certificate of an unknown authority. */
const UNTRUSTED = /UNABLE_TO_|SELF_SIGNED/u;

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return "failed";
  return error.name === "TimeoutError" ? "timeout" : (codeOf(error) ?? error.message);
}

function failureOf(status: number, text: string): VaultResponseError {
  const parsed = errorResponse.safeParse(jsonOrUndefined(text));
  if (!parsed.success)
    return new VaultResponseError(
      "unreadable",
      `the server responded with status ${status}: check --url`,
    );
  const { code, message, details = [] } = parsed.data.error;
  const fields = details.map(({ path, reason }) => `${path}: ${reason}`).join("; ");
  return new VaultResponseError(
    code,
    fields === "" ? `${message} (${code})` : `${message} (${code}): ${fields}`,
  );
}

/** @throws Error when the body has another shape */
async function parsedBody<T>(
  operation: Operation,
  response: Response,
  schema: z.ZodType<T>,
): Promise<T> {
  const parsed = schema.safeParse(jsonOrUndefined(await response.body.text()));
  if (parsed.success) return parsed.data;
  throw new Error(
    `${operation}: the response is not that of a vault: check --url, or update vaultsync`,
  );
}

/** A request for tokens: a login. */
export interface Login {
  readonly email: string;
  readonly password: Redacted<string>;
  readonly scope: string;
  /** Lifetime of each access token. */
  readonly hours: number;
  /** Addresses and networks that the tokens can be used from; all by default. */
  readonly allowedNetworks?: readonly string[] | undefined;
  /** Hours after which all tokens of the login end; no limit by default. */
  readonly lifetimeHours?: number | undefined;
}

/** Logs in. @throws Error */
export async function logIn(
  vault: VaultAddress,
  { email, password, scope, hours, allowedNetworks, lifetimeHours }: Login,
): Promise<Account> {
  const body = {
    email,
    password: password.reveal(),
    scope,
    expiration_hours: hours,
    allowed_networks: allowedNetworks,
    lifetime_hours: lifetimeHours,
  };
  const response = await send(connectTo(vault), "generate_access_token", json(body), TIMEOUT_MS);
  const tokens = await parsedBody("generate_access_token", response, tokenResponse);
  return accountOf(vault, email, tokens);
}

/** A login of a workload with a token of its platform, such as one for a ServiceAccount. */
export interface IdentityLogin {
  readonly email: string;
  /** Returns a valid token for this vault. */
  readonly readToken: () => Promise<Redacted<string>>;
  /** Limits the tokens; by default they reach all that the identity may. */
  readonly scope?: string | undefined;
  /** Lifetime of the tokens: the vault does not extend it. */
  readonly hours: number;
}

/** Logs in without a password. @throws Error that says what to compare when the vault rejects it */
async function logInWithIdentity(
  vault: VaultAddress,
  { email, readToken, scope, hours }: IdentityLogin,
): Promise<Account> {
  const identity_token = (await readToken()).reveal();
  const body = { email, identity_token, scope, expiration_hours: hours };
  const operation = "exchange_identity_token";
  const response = await send(connectTo(vault), operation, json(body), TIMEOUT_MS).catch(
    (error: unknown) => {
      if (!(error instanceof VaultResponseError) || error.code !== "invalid_credentials")
        throw error;
      throw new Error(
        `the vault rejected the token for ${email} (${error.code}): compare its issuer, audience and subject with vaultsync vault identity list`,
      );
    },
  );
  return accountOf(vault, email, await parsedBody(operation, response, tokenResponse));
}

function accountOf(
  { url, ca }: VaultAddress,
  email: string,
  tokens: z.infer<typeof tokenResponse>,
): Account {
  return {
    url,
    ...(ca !== undefined && { ca }),
    email,
    accessToken: new Redacted(tokens.access_token),
    refreshToken: new Redacted(tokens.refresh_token),
  };
}

function isSameAccount(one: Account, other: Account): boolean {
  return (
    withoutTrailingSlashes(one.url) === withoutTrailingSlashes(other.url) &&
    canonicalEmail(one.email) === canonicalEmail(other.email)
  );
}

/** The part of an operation's definition that a client uses. */
interface Definition<O extends JsonOperation> {
  readonly name: O;
  readonly response: z.ZodType<ResponseBody<O>>;
}

/**
 * The Node client of the vault: runs operations with the tokens of a login, and refreshes them.
 * Every method throws an Error that says what to do.
 */
export class VaultClient {
  readonly #file: AccountFile | undefined;
  readonly #logIn: (() => Promise<Account>) | undefined;
  #renewal: Promise<void> | undefined;
  #vault: Vault;
  #account: Account;

  /**
   * @param renewal file that keeps the refreshed tokens for the next command, or a login that
   * replaces expired tokens; without it, they are refreshed and in memory
   */
  constructor(account: Account, renewal?: AccountFile | (() => Promise<Account>)) {
    this.#file = renewal instanceof AccountFile ? renewal : undefined;
    this.#logIn = typeof renewal === "function" ? renewal : undefined;
    this.#vault = connectTo(account);
    this.#account = account;
  }

  /** Opens the login in a file. @throws Error that says to log in */
  static async open(path: string): Promise<VaultClient> {
    const file = new AccountFile(path);
    return new VaultClient(await file.read(), file);
  }

  /** Logs in with a token of the platform, also when the tokens of the vault have expired. */
  static async withIdentity(vault: VaultAddress, login: IdentityLogin): Promise<VaultClient> {
    const logInAgain = (): Promise<Account> => logInWithIdentity(vault, login);
    return new VaultClient(await logInAgain(), logInAgain);
  }

  get email(): string {
    return this.#account.email;
  }

  get url(): string {
    return this.#account.url;
  }

  /** Runs an operation with a JSON body, to which the email of the account is added. */
  async call<O extends JsonOperation>(
    { name, response }: Definition<O>,
    body: RequestBody<O>,
  ): Promise<ResponseBody<O>> {
    const received = await this.#authorized(
      name,
      () => json({ email: this.email, ...body }),
      TIMEOUT_MS,
    );
    return parsedBody(name, received, response);
  }

  /** Returns the bytes that the vault responds with, and the digest that it names. */
  async download(
    filename: string,
    version: number | undefined,
  ): Promise<{ bytes: Buffer; etag: unknown }> {
    const body = { email: this.email, filename, ...(version !== undefined && { version }) };
    const response = await this.#authorized("download_file", () => json(body), FILE_TIMEOUT_MS);
    return {
      bytes: Buffer.from(await response.body.arrayBuffer()),
      etag: response.headers["etag"],
    };
  }

  /** Uploads each file as the next version of its name, all of them or none. */
  async upload(files: ReadonlyMap<string, Blob>): Promise<z.infer<typeof protectFile.response>> {
    const headers = { email: utf8Header(this.email), CountOfFiles: String(files.size) };
    const body = (): Body => {
      const form = new FormData();
      for (const [filename, blob] of files) form.append("file", blob, filename);
      return { headers, body: form };
    };
    return parsedBody(
      "protect_file",
      await this.#authorized("protect_file", body, FILE_TIMEOUT_MS),
      protectFile.response,
    );
  }

  async #authorized(operation: Operation, body: () => Body, timeoutMs: number): Promise<Response> {
    let used = "";
    const attempt = (): Promise<Response> => {
      const { headers, ...more } = body();
      const authorization = (used = this.#account.accessToken.reveal());
      return send(
        this.#vault,
        operation,
        { ...more, headers: { ...headers, authorization } },
        timeoutMs,
      );
    };
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof VaultResponseError) || error.code !== "invalid_token") throw error;
    }
    await this.#renew(used);
    return attempt();
  }

  /** Gets the next access token, once for all requests that were sent with this one. */
  async #renew(used: string): Promise<void> {
    if (this.#account.accessToken.reveal() !== used) return;
    this.#renewal ??= this.#renewed(used).finally(() => (this.#renewal = undefined));
    await this.#renewal;
  }

  async #renewed(used: string): Promise<void> {
    if (this.#logIn === undefined) await this.#refresh(used);
    else this.#account = await this.#logIn();
  }

  /** Refreshes the access token, unless another command has stored the next one. */
  async #refresh(used: string): Promise<void> {
    if (this.#file) {
      const stored = await this.#file.read();
      // What was read for one account of one vault must not be stored in another.
      if (!isSameAccount(stored, this.#account))
        throw new Error("another login has replaced the stored one: run the command again");
      this.#account = stored;
    }
    // Another authority may be trusted now.
    this.#vault = connectTo(this.#account);
    if (this.#account.accessToken.reveal() !== used) return;
    const body = { refresh_token: this.#account.refreshToken.reveal(), used_access_token: used };
    try {
      const response = await send(this.#vault, "refresh_token", json(body), TIMEOUT_MS);
      const tokens = await parsedBody("refresh_token", response, tokenResponse);
      const accessToken = new Redacted(tokens.access_token);
      this.#account = {
        ...this.#account,
        accessToken,
        refreshToken: new Redacted(tokens.refresh_token),
      };
    } catch (error) {
      const isEnded = error instanceof VaultResponseError && error.code === "invalid_refresh_token";
      throw isEnded ? new Error("the login has ended: run vaultsync login") : error;
    }
    await this.#file?.write(this.#account);
  }
}
