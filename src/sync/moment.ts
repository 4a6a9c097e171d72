/** The last moment RFC 3339 can write, with its four digits of a year. A vault's deadline may lie far beyond it. */
const LAST_MOMENT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** RFC 3339 of milliseconds since the epoch; `undefined` when there is no moment, or none that can be written. */
export function writtenMoment(at: number | undefined): string | undefined {
  return at === undefined || at > LAST_MOMENT ? undefined : new Date(at).toISOString();
}
