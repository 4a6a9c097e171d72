import { sessionOperationPath } from "../../protocol/operation-paths.ts";
import { isSession, type Session } from "./responses.ts";
import { post, readJson } from "./post.ts";
import { oneOf, shape, type Guard } from "./shape.ts";

const isNull: Guard<null> = (value) => value === null;
const maybeSession = shape<{ session: Session | null }>({ session: oneOf<Session | null>(isSession, isNull) });
const newSession = shape<{ session: Session }>({ session: isSession });

/** Returns the session of the browser's cookie, or null. */
export async function currentSession(): Promise<Session | null> {
  return (await readJson(await post(sessionOperationPath.app_session, {}), maybeSession)).session;
}

/** @throws RequestError `invalid_credentials`, `rate_limited` */
export async function logIn(email: string, password: string): Promise<Session> {
  return (await readJson(await post(sessionOperationPath.app_log_in, { email, password }), newSession)).session;
}

/** Requests an email with a link to set a password. The response does not reveal whether the account exists. */
export async function requestPassword(email: string): Promise<void> {
  await post(sessionOperationPath.app_request_password, { email });
}

/** Creates the account, or replaces its password. @throws RequestError `invalid_confirmation`, `invalid_request` */
export async function setPassword(token: string, password: string): Promise<Session> {
  return (await readJson(await post(sessionOperationPath.app_set_password, { token, password }), newSession)).session;
}
