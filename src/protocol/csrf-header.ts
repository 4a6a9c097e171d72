/**
 * Header in which every request with the session's cookie, except `app_session`, sends the
 * session's `csrf_token`.
 */
export const CSRF_HEADER = "x-csrf-token";
