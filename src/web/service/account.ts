import { appOperationPath } from "../../protocol/session-operations.ts";
import { isSession, type Session } from "./responses.ts";
import { post, readJson } from "./post.ts";
import { oneOf, shape, type Guard } from "./shape.ts";

const isNull: Guard<null> = (value) => value === null;
const maybeSession = shape<{ session: Session | null }>({ session: oneOf<Session | null>(isSession, isNull) });
const newSession = shape<{ session: Session }>({ session: isSession });

/** Who is logged in, by the session cookie. */
export async function currentSession(): Promise<Session | null> {
  return (await readJson(await post(appOperationPath.app_session, {}), maybeSession)).session;
}

/** @throws RequestError `invalid_credentials`, `rate_limited` */
export async function logIn(email: string, password: string): Promise<Session> {
  return (await readJson(await post(appOperationPath.app_log_in, { email, password }), newSession)).session;
}

/** Has a letter sent with a link to set a password; the answer is the same whether there is an account or not. */
export async function requestPassword(email: string): Promise<void> {
  await post(appOperationPath.app_request_password, { email });
}

/** Makes the account, or replaces its password. @throws RequestError `invalid_confirmation`, `invalid_request` */
export async function setPassword(token: string, password: string): Promise<Session> {
  return (await readJson(await post(appOperationPath.app_set_password, { token, password }), newSession)).session;
}
