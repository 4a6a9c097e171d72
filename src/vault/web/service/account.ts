import { sessionOperationPath } from "../../../protocol/operation-paths.ts";
import type { EmailDelivery, SignUpMode } from "../../../protocol/schemas/session.ts";
import { isAbsent, isEmailDelivery, isSession, isSignUpMode, type Session } from "./responses.ts";
import { isBoolean, isNumber, isString, listOf, oneOf, shape, type Guard } from "./shape.ts";
import { post, readJson } from "./send.ts";

const isNull: Guard<null> = (value) => value === null;
/** The session of the browser's cookie, and how the vault is set up. */
interface SessionResponse {
  readonly session: Session | null;
  readonly sign_up: SignUpMode;
  readonly email_delivery?: EmailDelivery | undefined;
  readonly trash_days?: number | undefined;
  readonly no_accounts?: boolean | undefined;
}

const sessionResponse = shape<SessionResponse>({
  session: oneOf<Session | null>(isSession, isNull),
  sign_up: isSignUpMode,
  email_delivery: isEmailDelivery,
  trash_days: oneOf<number | undefined>(isNumber, isAbsent),
  no_accounts: oneOf<boolean | undefined>(isBoolean, isAbsent),
});
/** Whose password a link sets, and who invited them. */
export interface Confirmation {
  readonly email: string;
  readonly invited_by: readonly string[];
}

const confirmation = shape<Confirmation>({ email: isString, invited_by: listOf(isString) });
const newSession = shape<{ session: Session }>({ session: isSession });

export async function currentSession(): Promise<SessionResponse> {
  return readJson(await post(sessionOperationPath.app_session, {}), sessionResponse);
}

/** @throws RequestError `invalid_credentials`, `rate_limited` */
export async function logIn(email: string, password: string): Promise<Session> {
  return (
    await readJson(await post(sessionOperationPath.app_log_in, { email, password }), newSession)
  ).session;
}

/**
 * Requests an email with a link to set a password. The response does not reveal whether the account
 * exists.
 */
export async function requestPassword(email: string): Promise<void> {
  await post(sessionOperationPath.app_request_password, { email });
}

/** Returns whose password a link sets. @throws RequestError `invalid_confirmation` */
export async function readConfirmation(token: string): Promise<Confirmation> {
  return readJson(await post(sessionOperationPath.app_confirmation, { token }), confirmation);
}

/**
 * Creates the account, or replaces its password. @throws RequestError `invalid_confirmation`,
 * `invalid_request`
 */
export async function setPassword(token: string, password: string): Promise<Session> {
  return (
    await readJson(
      await post(sessionOperationPath.app_set_password, { token, password }),
      newSession,
    )
  ).session;
}
