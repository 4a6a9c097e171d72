import type { OutgoingHttpHeaders } from "node:http";
import { CSRF_HEADER } from "../../../src/protocol/headers.ts";
import {
  sessionOperationPath,
  type SessionOperation,
} from "../../../src/protocol/operation-paths.ts";
import type { TestVault } from "./test-vault.ts";
import { VaultClient, type VaultResponse } from "./vault-client.ts";

/** Returns the cookie a response sets, as a browser would send it back. */
export function cookieOf(response: Pick<VaultResponse, "headers">): string {
  return (response.headers["set-cookie"] ?? []).join().split(";", 1).join();
}

/**
 * A client that is logged in to the web application: authenticated by cookie and CSRF token, as the
 * application's pages are.
 */
export class WebSession extends VaultClient {
  readonly cookie: string;
  readonly csrf: string;

  /** @param response of a login */
  constructor(url: string, response: VaultResponse) {
    if (response.status !== 200) throw new Error(`login failed: ${response.bytes.toString()}`);
    const { session } = response.json();
    super(url, session.email);
    this.cookie = cookieOf(response);
    this.csrf = session.csrf_token;
  }

  static async logIn(
    vault: TestVault,
    email: string,
    headers: OutgoingHttpHeaders = {},
  ): Promise<WebSession> {
    const password = vault.passwords.get(email) ?? "";
    return new WebSession(
      vault.url,
      await vault.post(sessionOperationPath.app_log_in, { email, password }, headers),
    );
  }

  override get credentials(): OutgoingHttpHeaders {
    return { cookie: this.cookie, [CSRF_HEADER]: this.csrf };
  }

  /** Calls one of the web application's own operations. */
  app(
    operation: SessionOperation,
    body: object = {},
    headers: OutgoingHttpHeaders = {},
  ): Promise<VaultResponse> {
    return this.post(sessionOperationPath[operation], body, headers);
  }

  /** Reports whether the server accepts the session. */
  async isLive(): Promise<boolean> {
    return (await this.call("list_no_dup")).outcome() === "200";
  }
}
