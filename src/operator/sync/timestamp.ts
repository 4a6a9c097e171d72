/** The moments RFC 3339 can write, with its four digits of a year. A vault's deadline may lie far beyond them. */
const FIRST_MOMENT = Date.parse("0000-01-01T00:00:00.000Z");
const LAST_MOMENT = Date.parse("9999-12-31T23:59:59.999Z");

/** RFC 3339 of milliseconds since the epoch; `undefined` when there is no moment, or none that can be written. */
export function writtenMoment(at: number | undefined): string | undefined {
  return at !== undefined && at >= FIRST_MOMENT && at <= LAST_MOMENT ? new Date(at).toISOString() : undefined;
}
