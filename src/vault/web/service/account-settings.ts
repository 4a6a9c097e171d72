import type { CredentialRecord, TokenResponse } from "../../../protocol/responses.ts";
import { sessionOperationPath } from "../../../protocol/operation-paths.ts";
import { isCredentialRecord, isSession, type Session, isTokenResponse } from "./responses.ts";
import { isString, listOf, shape } from "./shape.ts";
import type { VaultClient } from "./vault-client.ts";
import { readJson } from "./send.ts";
import { toRequestError } from "./request-error.ts";
import { isObject } from "../../../lib/is-object.ts";

/** A session, or a login of a program. */
export type Credential = CredentialRecord;

const credentialList = shape<{ tokens: readonly Credential[] }>({
  tokens: listOf(isCredentialRecord),
});
const blockedList = shape<{ blocked: readonly string[] }>({ blocked: listOf(isString) });
const newSession = shape<{ session: Session }>({ session: isSession });

/** Returns the user's sessions and tokens, the newest first. */
export async function listCredentials(client: VaultClient): Promise<readonly Credential[]> {
  return (await client.call("token_list", {}, credentialList)).tokens;
}

/** Ends a session or a token, unless it has ended. */
export async function revokeCredential(client: VaultClient, id: string): Promise<void> {
  try {
    await client.call("token_revoke", { id }, isObject);
  } catch (error) {
    if (toRequestError(error).code !== "token_not_found") throw error;
  }
}

/**
 * Ends all sessions or all tokens but the current one, also those that were added since the user
 * saw a list. Returns their number.
 * @throws RequestError `token_not_found` when one of them ends in the meantime; none is ended then
 */
export async function revokeAll(client: VaultClient, kind: Credential["kind"]): Promise<number> {
  const ids = (await listCredentials(client))
    .filter((each) => each.kind === kind && !each.current)
    .map(({ id }) => id);
  if (ids.length > 0) await client.call("token_revoke", { id: ids }, isObject);
  return ids.length;
}

/**
 * Returns the new session; all others have ended. @throws RequestError `invalid_credentials`,
 * `invalid_request`
 */
export async function changePassword(
  client: VaultClient,
  password: string,
  newPassword: string,
): Promise<Session> {
  const body = { password, new_password: newPassword };
  return (
    await readJson(await client.open(sessionOperationPath.app_change_password, body), newSession)
  ).session;
}

export async function listBlockedSenders(client: VaultClient): Promise<readonly string[]> {
  return (await client.call("blocked_senders", {}, blockedList)).blocked;
}

export async function blockSender(client: VaultClient, sender: string): Promise<void> {
  await client.call("block_sender", { usr_id_from: sender }, isObject);
}

export async function unblockSender(client: VaultClient, sender: string): Promise<void> {
  await client.call("unblock_sender", { usr_id_from: sender }, isObject);
}

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
