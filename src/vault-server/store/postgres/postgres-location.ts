const SCHEME = /^postgres(?:ql)?:\/\//u;

/** Whether it is the URL of a PostgreSQL database, not a file's path. */
export function isPostgresUrl(location: string): boolean {
  return SCHEME.test(location);
}

/** Whether the URL holds a password, which then does not belong where others can read it. */
export function holdsPassword(location: string): boolean {
  if (!isPostgresUrl(location)) return false;
  const url = URL.parse(location);
  // What no URL parser reads but PostgreSQL's clients do, such as `postgres://user:password@/name`.
  if (!url) return /^[a-z]+:\/\/[^/@]*:[^/@]+@/u.test(location) || /[?&]password=/u.test(location);
  return url.password !== "" || url.searchParams.has("password");
}

/** The database as messages name it: without user and password. */
export function describeLocation(location: string): string {
  const url = URL.parse(location);
  if (!url) return "the PostgreSQL database";
  const host = url.searchParams.get("host") ?? (url.host === "" ? "PostgreSQL's default host" : url.host);
  const name = url.pathname.slice(1);
  return name === "" ? `PostgreSQL at ${host}` : `the PostgreSQL database ${name} at ${host}`;
}
