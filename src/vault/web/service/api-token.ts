import type { TokenResponse } from "../../../protocol/responses.ts";
import { sessionOperationPath } from "../../../protocol/operation-paths.ts";
import { isTokenResponse } from "./responses.ts";
import { readJson } from "./post.ts";
import type { VaultClient } from "./vault-client.ts";

interface NewToken {
  readonly password: string;
  readonly name: string;
  readonly expiration_hours: number;
  /** A scope string; without it the token is unlimited. */
  readonly scope?: string;
  /** Networks from which it can be used; all without them. */
  readonly allowed_networks?: readonly string[];
  /** Hours after which it cannot be refreshed either. */
  readonly lifetime_hours?: number;
}

/**
 * Creates an access token with its refresh token. @throws RequestError `invalid_credentials` for a
 * wrong password
 */
export async function issueToken(client: VaultClient, token: NewToken): Promise<TokenResponse> {
  return readJson(await client.open(sessionOperationPath.app_api_token, token), isTokenResponse);
}
