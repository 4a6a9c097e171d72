/** A schedule of five fields. Each field has the values that it matches. */
export interface Cron {
  /** In ascending order, like the hours. */
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>;
  /** Both days and weekdays are limited: then a day has to match one of them. */
  readonly isEither: boolean;
}

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const FIELDS: readonly Field[] = [
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of the month", min: 1, max: 31 },
  {
    name: "month",
    min: 1,
    max: 12,
    names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
  },
  {
    name: "day of the week",
    min: 0,
    max: 6,
    names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
  },
];

const DAY_MS = 86_400_000;
/** Days within which every schedule occurs that ever does: 29 February may be missing for 8 years. */
const MAX_DAYS = 9 * 366;

function valueOf(text: string, { min, max, names = [] }: Field): number | undefined {
  const named = names.indexOf(text.toLowerCase());
  const value = named >= 0 ? named + min : /^[0-9]{1,2}$/u.test(text) ? Number(text) : -1;
  return value >= min && value <= max ? value : undefined;
}

const RANGE = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/([1-9][0-9]{0,3}))?$/u;

/** Returns the values of `a`, `a-b` or `*`, each with or without `/step`. */
function rangeOf(text: string, field: Field): number[] | undefined {
  const [isValid, all, first = "", last, step] = RANGE.exec(text) ?? [];
  if (isValid === undefined) return undefined;
  if (all !== undefined) return stepped(field.min, field.max, step);
  const from = valueOf(first, field);
  const open = step === undefined ? from : field.max;
  return stepped(from, last === undefined ? open : valueOf(last, field), step);
}

/** Returns every step of a range; `undefined` if a bound is not valid. */
function stepped(from: number | undefined, to: number | undefined, step = "1") {
  if (from === undefined || to === undefined || to < from) return undefined;
  const every = Number(step);
  return Array.from({ length: Math.floor((to - from) / every) + 1 }, (_, at) => from + at * every);
}

/**
 * Parses a schedule of five fields as a CronJob has it, without its time zone.
 * @throws Error that names the field
 */
export function parseCron(text: string): Cron {
  const parts = text.trim().split(/\s+/u);
  if (parts.length !== FIELDS.length)
    throw new Error("must have five fields, for example 0 2 * * MON-FRI");
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = FIELDS.map(
    (field, at) => {
      const ranges = (parts[at] ?? "").split(",").map((part) => rangeOf(part, field));
      if (ranges.includes(undefined))
        throw new Error(`the ${field.name} must be ${field.min}-${field.max}, a range or *`);
      return [...new Set(ranges.flatMap((range) => range ?? []))].sort((a, b) => a - b);
    },
  );
  const cron = {
    minutes,
    hours,
    days: new Set(days),
    months: new Set(months),
    weekdays: new Set(weekdays),
    isEither: parts[2] !== "*" && parts[4] !== "*",
  };
  const start = Date.UTC(2024, 0, 1);
  for (let day = 0; day < MAX_DAYS; day += 1)
    if (isDayOf(cron, new Date(start + day * DAY_MS))) return cron;
  throw new Error("no day matches");
}

/** Reports whether a schedule occurs on a date of clocks in UTC. */
function isDayOf({ days, months, weekdays, isEither }: Cron, date: Date): boolean {
  if (!months.has(date.getUTCMonth() + 1)) return false;
  const [isDay, isWeekday] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
  return isEither ? isDay || isWeekday : isDay && isWeekday;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** @throws RangeError for a zone that does not exist */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  // Names of zones have no case: any spelling of one has one format.
  const id = timeZone.toLowerCase();
  const known = formats.get(id);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  formats.set(id, format);
  return format;
}

/** Reports whether a name is one of the IANA time zones; an offset is none. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/u.test(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** Returns the clock time in a zone, as the time in UTC at which clocks in UTC show it. */
function localTime(timeZone: string, ms: number): number {
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  return Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
}

/**
 * Returns the times at which clocks in a zone show a time, in ascending order: none that daylight
 * saving skips, two of an hour that it repeats.
 */
function instantsOf(timeZone: string, local: number): number[] {
  const offsets = [-DAY_MS, 0, DAY_MS].map(
    (delta) => localTime(timeZone, local + delta) - (local + delta),
  );
  const instants = [...new Set(offsets)].map((offset) => local - offset);
  return instants.filter((ms) => localTime(timeZone, ms) === local).sort((a, b) => a - b);
}

/** Longest time by which clocks are changed, in milliseconds. */
const CHANGE_MS = 2 * 3_600_000;

/** Returns the clock times of a schedule on a date, in ascending order, as if clocks showed UTC. */
function clockTimes(cron: Cron, day: number): number[] {
  if (!isDayOf(cron, new Date(day))) return [];
  return cron.hours.flatMap((hour) =>
    cron.minutes.map((minute) => day + hour * 3_600_000 + minute * 60_000),
  );
}

/**
 * Returns the times for some clock times, up to the first one that is wanted and those around it:
 * when an hour is repeated, clocks do not show times in order.
 */
function firstWanted(
  timeZone: string,
  clock: readonly number[],
  isWanted: (ms: number) => boolean,
): number[] {
  const found: number[] = [];
  let first: number | undefined;
  for (const local of clock) {
    if (first !== undefined && Math.abs(local - first) > CHANGE_MS) break;
    const wanted = instantsOf(timeZone, local).filter(isWanted);
    if (wanted.length > 0) first ??= local;
    found.push(...wanted);
  }
  return found;
}

const dayOf = (local: number): number => Math.floor(local / DAY_MS) * DAY_MS;

/** Returns the first time of a schedule after a time, in milliseconds since the epoch. */
export function nextTime(cron: Cron, timeZone: string, after: number): number {
  const local = localTime(timeZone, after);
  for (let day = 0; day < MAX_DAYS; day += 1) {
    const clock = clockTimes(cron, dayOf(local) + day * DAY_MS).filter(
      (one) => one > local - CHANGE_MS,
    );
    const later = firstWanted(timeZone, clock, (ms) => ms > after);
    if (later.length > 0) return Math.min(...later);
  }
  return Infinity;
}

/**
 * Returns the last time of a schedule at or before a time, unless it is at least `withinMs` ago;
 * `undefined` if there is none.
 */
export function lastTime(
  cron: Cron,
  timeZone: string,
  before: number,
  withinMs: number,
): number | undefined {
  const local = localTime(timeZone, before);
  for (let day = 0; day <= Math.ceil(withinMs / DAY_MS) + 1; day += 1) {
    const clock = clockTimes(cron, dayOf(local) - day * DAY_MS)
      .filter((one) => one < local + CHANGE_MS)
      .toReversed();
    const earlier = firstWanted(timeZone, clock, (ms) => ms <= before && ms > before - withinMs);
    if (earlier.length > 0) return Math.max(...earlier);
  }
  return undefined;
}
