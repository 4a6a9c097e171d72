import type { TokenResponse } from "../../protocol/responses.ts";
import { sessionOperationPath } from "../../protocol/operation-paths.ts";
import { isTokenResponse } from "./responses.ts";
import { readJson } from "./post.ts";
import type { VaultClient } from "./vault-client.ts";

/** Creates an access token of 24 hours with its refresh token. @throws RequestError `invalid_credentials` for a wrong password */
export async function issueToken(client: VaultClient, password: string): Promise<TokenResponse> {
  return readJson(await client.open(sessionOperationPath.app_api_token, { password }), isTokenResponse);
}
