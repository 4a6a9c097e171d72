/**
 * Path of every operation that only the web application has; all are POST. For everything else it calls the service's operations with
 * its session instead of an access token. Source: the vault contract, "Web application".
 */
export const appOperationPath = {
  app_session: "/app/session",
  app_log_in: "/app/log_in",
  app_log_out: "/app/log_out",
  app_request_password: "/app/request_password",
  app_set_password: "/app/set_password",
  app_api_token: "/app/api_token",
} as const;

export type AppOperation = keyof typeof appOperationPath;

/** Header in which every request with the session's cookie, but `app_session`, sends the session's `csrf_token`. */
export const CSRF_HEADER = "x-csrf-token";

/** Somebody is logged in; the session itself is a cookie that no script reads. */
export interface AppSession {
  readonly email: string;
  readonly csrf_token: string;
}

/** Answer of `app_session`: `null` when nobody is logged in, or no longer. */
export interface SessionResponse {
  readonly session: AppSession | null;
}

/** Answer of `app_log_in` and `app_set_password`, with the cookie of a new session. */
export interface LoginResponse {
  readonly session: AppSession;
}
