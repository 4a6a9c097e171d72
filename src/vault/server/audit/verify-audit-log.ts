import { openLine, NO_HASH, type AuditLine, type ChainHead, type LineState } from "./audit-line.ts";
import { readLines } from "./read-lines.ts";

type DamageKind =
  | "altered"
  | "missing"
  | "reordered"
  | "rewritten"
  | "truncated"
  | "torn"
  | "foreign"
  | "lost";

/** First damage of a log. */
export interface AuditDamage {
  readonly kind: DamageKind;
  readonly file: string;
  /** Line number in the file, from 1. */
  readonly line: number;
  readonly message: string;
}

export interface AuditReport {
  readonly log: string | undefined;
  readonly entries: number;
  readonly first: AuditLine | undefined;
  readonly last: AuditLine | undefined;
  readonly parts: readonly string[];
  readonly damage: AuditDamage | undefined;
  /** Last entry without a MAC, of a release without them; only with the master key. */
  readonly plain: AuditLine | undefined;
  /** Numbers of the entries of starts at which the database did not know the log. */
  readonly unrecorded: readonly number[];
}

export interface VerifyOptions {
  /** Returns the recorded end of a log from the database. */
  readonly anchorOf?: (log: string) => Promise<ChainHead | undefined>;
  /** Reports who has written a line, by its MAC; MACs are ignored without it. */
  readonly stateOf?: (line: AuditLine) => LineState;
  /** Accepts a log whose oldest segments were removed. */
  readonly partial?: boolean;
  /** Called periodically with the number of entries read. */
  readonly progress?: (entries: number) => void;
}

const PROGRESS_EVERY = 10_000;

interface Place {
  readonly file: string;
  readonly line: number;
}

type Finding = Pick<AuditDamage, "kind" | "message">;

function rangeText(from: number, to: number): string {
  return from === to ? `entry ${from} is` : `entries ${from} to ${to} are`;
}

/** Returns why a valid line cannot follow the previous one, or `undefined`. */
function breakOf(
  line: AuditLine,
  before: AuditLine | undefined,
  partial: boolean,
): Finding | undefined {
  const message = (text: string): string => `entry ${line.seq}: ${text}`;
  if (!before) {
    if (line.seq === 1)
      return line.prev === NO_HASH
        ? undefined
        : { kind: "rewritten", message: message("is not the first entry of a log") };
    return partial
      ? undefined
      : {
          kind: "missing",
          message: `${rangeText(1, line.seq - 1)} missing: the log begins with entry ${line.seq}`,
        };
  }
  if (line.log !== before.log)
    return { kind: "foreign", message: message(`belongs to another log, ${line.log}`) };
  if (line.seq > before.seq + 1)
    return { kind: "missing", message: `${rangeText(before.seq + 1, line.seq - 1)} missing` };
  if (line.seq <= before.seq)
    return { kind: "reordered", message: message(`follows entry ${before.seq}`) };
  if (line.prev !== before.hash) {
    return {
      kind: "rewritten",
      message: message(
        `does not follow the current entry ${before.seq}: one of the two was rewritten`,
      ),
    };
  }
  return undefined;
}

/** Returns the loss that a valid line records, or `undefined`. */
function admissionOf({ seq, fields }: AuditLine): Finding | undefined {
  if (fields.event !== "lost") return undefined;
  return {
    kind: "lost",
    message:
      fields["authentic"] === false
        ? `entry ${seq}: the last entry, or the end that the database had recorded, was not authentic when the server started`
        : `entry ${seq}: the server found entries up to ${String(fields.known)} missing when it started`,
  };
}

/** Reports whether a line records that the entries before another one were removed by retention. */
function isRemovalBefore({ fields }: AuditLine, first: AuditLine): boolean {
  return (
    fields.event === "removed" && fields.last === first.seq - 1 && fields.last_hash === first.prev
  );
}

/** Returns the damage of a line that cannot be parsed, after the entry with this number. */
function unreadable(after: number, torn: boolean): Finding {
  const named = `the line after entry ${after}`;
  if (!torn) return { kind: "altered", message: `${named} was altered` };
  return {
    kind: "torn",
    message: `${named} is incomplete; a starting server truncates and records it`,
  };
}

class Verification {
  readonly #options: VerifyOptions;
  readonly #anchors = new Map<string, ChainHead | undefined>();
  #place: Place = { file: "", line: 0 };
  entries = 0;
  first: AuditLine | undefined;
  last: AuditLine | undefined;
  damage: AuditDamage | undefined;
  readonly unrecorded: number[] = [];
  plain: AuditLine | undefined;
  /** The log has requests with a MAC. */
  #served = false;
  /** seq of a missing entry that may follow later. */
  #sought: number | undefined;
  /**
   * The entries before the first one are missing, unless a later entry says that they were removed.
   */
  #unexplained: AuditDamage | undefined;

  constructor(options: VerifyOptions) {
    this.#options = options;
  }

  get #over(): boolean {
    return this.damage !== undefined && this.#sought === undefined;
  }

  async read(file: string): Promise<void> {
    if (this.#over) return;
    let number = 0;
    for await (const { bytes, torn } of readLines(file)) {
      number += 1;
      await this.#take(torn ? undefined : openLine(bytes), torn, { file, line: number });
      if (this.#over) return;
    }
  }

  async #take(line: AuditLine | undefined, torn: boolean, place: Place): Promise<void> {
    if (this.#sought !== undefined) return this.#seek(line);
    if (!line) return this.#found(unreadable(this.last?.seq ?? 0, torn), place);
    const broken =
      breakOf(line, this.last, this.#options.partial === true) ??
      (await this.#strayed(line)) ??
      this.#unsigned(line) ??
      admissionOf(line);
    if (broken && !this.#mayContinue(broken, place)) return;
    this.#accept(line, place);
  }

  /** Records damage. Returns true for a log that begins later: a removal may explain it. */
  #mayContinue(broken: Finding, place: Place): boolean {
    const isMissing = broken.kind === "missing";
    if (isMissing && !this.last) {
      this.#unexplained = { ...broken, ...place };
      return true;
    }
    this.#found(broken, place);
    if (isMissing && this.last) this.#sought = this.last.seq + 1;
    return false;
  }

  #accept(line: AuditLine, place: Place): void {
    this.first ??= line;
    if (isRemovalBefore(line, this.first)) this.#unexplained = undefined;
    if (line.fields.event === "unrecorded") this.unrecorded.push(line.seq);
    if (this.#options.stateOf && !line.signed) this.plain = line;
    this.#served = line.signed !== undefined && (this.#served || "phase" in line.fields);
    this.last = line;
    this.#place = place;
    this.entries += 1;
    if (this.entries % PROGRESS_EVERY === 0) this.#options.progress?.(this.entries);
  }

  #found(finding: Finding, place: Place): void {
    this.damage = { ...finding, ...place };
  }

  /** Turns a gap into reordered entries when the missing one follows later. */
  #seek(line: AuditLine | undefined): void {
    if (!this.damage || line?.seq !== this.#sought || line?.log !== this.last?.log) return;
    this.damage = {
      ...this.damage,
      kind: "reordered",
      message: `entry ${line?.seq ?? 0} is out of order`,
    };
    this.#sought = undefined;
  }

  async anchorOf(log: string): Promise<ChainHead | undefined> {
    // Read once, before the lines: a log in use only grows beyond its anchor.
    if (!this.#anchors.has(log)) this.#anchors.set(log, await this.#options.anchorOf?.(log));
    return this.#anchors.get(log);
  }

  async #strayed(line: AuditLine): Promise<Finding | undefined> {
    const anchor = await this.anchorOf(line.log);
    if (anchor?.seq !== line.seq || anchor.hash === line.hash) return undefined;
    return {
      kind: "rewritten",
      message: `entry ${line.seq} differs from the one recorded in the database`,
    };
  }

  /**
   * Returns why no server with the master key has written this line after those before it, or
   * `undefined`.
   */
  #unsigned(line: AuditLine): Finding | undefined {
    const { stateOf } = this.#options;
    if (!stateOf) return undefined;
    const state = stateOf(line);
    const what = `entry ${line.seq}`;
    if (state === "forged")
      return {
        kind: "rewritten",
        message: `${what}: no server with the master key has written it`,
      };
    if (state === "plain" && this.last?.signed)
      return { kind: "rewritten", message: `${what} has no MAC, unlike those before` };
    // Before the first request after these lines: later, lines with MACs have continued them.
    if (line.fields.event !== "unrecorded" || !this.plain || this.#served) return undefined;
    return {
      kind: "rewritten",
      message: `entries up to ${this.plain.seq} have no MAC, and the database did not know them when the server started`,
    };
  }

  /** Checks what the lines alone cannot show: an empty, unknown or truncated log. */
  async end(): Promise<void> {
    this.damage ??= this.#unexplained;
    if (this.damage) return;
    if (!this.last)
      return this.#found({ kind: "truncated", message: "the log has no entries" }, this.#place);
    const anchor = await this.anchorOf(this.last.log);
    const found =
      this.#unknownKey(this.last, anchor) ??
      (this.#options.anchorOf && this.#wrongEnd(this.last, anchor));
    if (found) this.#found(found, this.#place);
  }

  /** Finds a last entry that is signed under a key that is not given, and not recorded either. */
  #unknownKey(last: AuditLine, anchor: ChainHead | undefined): Finding | undefined {
    if (this.#options.stateOf?.(last) !== "unknown" || anchor?.hash === last.hash) return undefined;
    const id = last.signed?.mac.slice(0, 16) ?? "";
    return {
      kind: "foreign",
      message: `the last entry has a MAC under the master key ${id}, which is not among the given ones: add it to the key file`,
    };
  }

  /** Finds an end that is unknown to the database, or before the recorded one. */
  #wrongEnd(last: AuditLine, anchor: ChainHead | undefined): Finding | undefined {
    if (!anchor)
      return {
        kind: "foreign",
        message: `the log ${last.log} is not recorded in the database`,
      };
    if (anchor.seq <= last.seq) return undefined;
    return {
      kind: "truncated",
      message: `the log ends with entry ${last.seq}, but the database recorded entry ${anchor.seq}`,
    };
  }
}

/** Returns the seq of the first line, or infinity when the file has none. */
async function firstNumber(file: string): Promise<number> {
  for await (const { bytes } of readLines(file)) {
    const [, seq] =
      /^\{"seq":([0-9]{1,15}),/u.exec(Buffer.from(bytes.subarray(0, 32)).toString("latin1")) ?? [];
    return seq === undefined ? Infinity : Number(seq);
  }
  return Infinity;
}

/** Sorts the files of one log by their first seq. */
export async function inOrder(files: readonly string[]): Promise<string[]> {
  const numbered = await Promise.all(
    files.map(async (file) => ({ file, number: await firstNumber(file) })),
  );
  return numbered
    .sort((a, b) => (a.number === b.number ? 0 : a.number - b.number))
    .map(({ file }) => file);
}

/**
 * Verifies all segments of a log, in any order: that no line was altered, removed, inserted or
 * moved and, with the anchors of the database, that the log was not truncated or rewritten.
 * @throws Error when a file cannot be read
 */
export async function verifyAuditLog(
  files: readonly string[],
  options: VerifyOptions = {},
): Promise<AuditReport> {
  const parts = await inOrder(files);
  const verification = new Verification(options);
  for (const part of parts) {
    await verification.read(part);
  }
  await verification.end();
  const { entries, first, last, damage, plain, unrecorded } = verification;
  return { log: first?.log, entries, first, last, parts, damage, plain, unrecorded };
}
