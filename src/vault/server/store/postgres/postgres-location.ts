const SCHEME = /^postgres(?:ql)?:\/\//u;

/** Reports whether a location is the URL of a PostgreSQL database instead of a file path. */
export function isPostgresUrl(location: string): boolean {
  return SCHEME.test(location);
}

/** Reports whether the URL contains a password: then it must not be visible to other users. */
export function containsPassword(location: string): boolean {
  if (!isPostgresUrl(location)) return false;
  const url = URL.parse(location);
  // PostgreSQL's clients accept what is not a valid URL, such as `postgres://user:password@/name`.
  if (!url) return /^[a-z]+:\/\/[^/@]*:[^/@]+@/u.test(location) || /[?&]password=/u.test(location);
  return url.password !== "" || url.searchParams.has("password");
}

/** Returns a description of the database for messages, without user and password. */
export function describeLocation(location: string): string {
  const url = URL.parse(location);
  if (!url) return "the PostgreSQL database";
  const host =
    url.searchParams.get("host") ?? (url.host === "" ? "PostgreSQL's default host" : url.host);
  const name = url.pathname.slice(1);
  return name === "" ? `PostgreSQL at ${host}` : `the PostgreSQL database ${name} at ${host}`;
}
