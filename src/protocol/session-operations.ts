/** A live session; the session itself is a cookie that no script can read. */
export interface SessionInfo {
  readonly email: string;
  readonly csrf_token: string;
}

/** Response of `app_session`: `null` without a live session. */
export interface SessionResponse {
  readonly session: SessionInfo | null;
}

/** Response of `app_log_in` and `app_set_password`, with the cookie of a new session. */
export interface LoginResponse {
  readonly session: SessionInfo;
}
