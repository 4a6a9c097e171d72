import type { OutgoingHttpHeaders } from "node:http";
import { CSRF_HEADER, appOperationPath, type AppOperation } from "../../../src/protocol/session-operations.ts";
import { operationPath, type Operation } from "../../../src/protocol/operations.ts";
import { multipartBody, wire, type TestVault, type VaultFile, type WireAnswer } from "./start-vault.ts";

/** The cookie an answer sets, as a browser would send it back. */
export function cookieOf(answer: WireAnswer): string {
  return (answer.headers["set-cookie"] ?? []).join().split(";", 1).join();
}

/** Somebody who is logged in to the web application, as its pages call the server. */
export class WebSession {
  readonly #url: string;
  readonly email: string;
  readonly cookie: string;
  readonly csrf: string;

  constructor(url: string, answer: WireAnswer) {
    if (answer.status !== 200) throw new Error(`log-in failed: ${answer.bytes.toString()}`);
    this.#url = url;
    this.cookie = cookieOf(answer);
    this.email = answer.json().session.email;
    this.csrf = answer.json().session.csrf_token;
  }

  static async logIn(vault: TestVault, email: string, headers: OutgoingHttpHeaders = {}): Promise<WebSession> {
    const password = vault.passwords.get(email) ?? "";
    return new WebSession(vault.url, await vault.post(appOperationPath.app_log_in, { email, password }, headers));
  }

  /** What a browser adds to every request of its pages. */
  get headers(): OutgoingHttpHeaders {
    return { cookie: this.cookie, [CSRF_HEADER]: this.csrf };
  }

  /** One of the service's operations, with the session's own address unless told otherwise. */
  call(operation: Operation, body: object = {}, headers: OutgoingHttpHeaders = {}): Promise<WireAnswer> {
    return this.#post(operationPath[operation], { email: this.email, ...body }, headers);
  }

  /** One of the web application's own. */
  app(operation: AppOperation, body: object = {}, headers: OutgoingHttpHeaders = {}): Promise<WireAnswer> {
    return this.#post(appOperationPath[operation], body, headers);
  }

  upload(files: readonly VaultFile[], headers: OutgoingHttpHeaders = {}): Promise<WireAnswer> {
    const type = { "content-type": "multipart/form-data; boundary=test-boundary", countoffiles: String(files.length) };
    return wire(this.#url + operationPath.protect_file, {
      headers: { ...this.headers, ...type, email: this.email, ...headers },
      body: multipartBody(files),
    });
  }

  /** Whether the server still knows it. */
  async isLive(): Promise<boolean> {
    return (await this.call("list_no_dup")).outcome() === "200";
  }

  #post(path: string, body: object, headers: OutgoingHttpHeaders): Promise<WireAnswer> {
    const given = Object.entries({ ...this.headers, "content-type": "application/json", ...headers });
    const sent = Object.fromEntries(given.filter(([, value]) => value !== undefined));
    return wire(this.#url + path, { headers: sent, body: JSON.stringify(body) });
  }
}
