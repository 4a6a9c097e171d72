import { openLine, NO_HASH, type AuditLine, type ChainHead } from "./audit-line.ts";
import { readLines } from "./read-lines.ts";

type DamageKind = "altered" | "missing" | "reordered" | "rewritten" | "truncated" | "torn" | "foreign" | "lost";

/** The first thing that is wrong. */
export interface AuditDamage {
  readonly kind: DamageKind;
  readonly file: string;
  /** Of the file, from 1. */
  readonly line: number;
  /** For a person. */
  readonly message: string;
}

export interface AuditReport {
  readonly log: string | undefined;
  readonly entries: number;
  readonly first: AuditLine | undefined;
  readonly last: AuditLine | undefined;
  readonly parts: readonly string[];
  readonly damage: AuditDamage | undefined;
}

export interface VerifyOptions {
  /** Where the log once was, as the database knows, by the log's name. */
  readonly anchorOf?: (log: string) => Promise<ChainHead | undefined>;
  /** Whether the log may begin later than with its first line, older parts having been put away. */
  readonly partial?: boolean;
  /** Told now and then how many lines were read. */
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

/** What keeps a sound line from following the one before. */
function breakOf(line: AuditLine, before: AuditLine | undefined, partial: boolean): Finding | undefined {
  const message = (text: string): string => `entry ${line.seq}: ${text}`;
  if (!before) {
    if (line.seq === 1)
      return line.prev === NO_HASH ? undefined : { kind: "rewritten", message: message("is no beginning of a log") };
    return partial
      ? undefined
      : { kind: "missing", message: `${rangeText(1, line.seq - 1)} missing: the log begins with entry ${line.seq}` };
  }
  if (line.log !== before.log) return { kind: "foreign", message: message(`is of another log, ${line.log}`) };
  if (line.seq > before.seq + 1) return { kind: "missing", message: `${rangeText(before.seq + 1, line.seq - 1)} missing` };
  if (line.seq <= before.seq) return { kind: "reordered", message: message(`stands behind entry ${before.seq}`) };
  if (line.prev !== before.hash) {
    return {
      kind: "rewritten",
      message: message(`does not follow entry ${before.seq} as that is now: one of the two was written by somebody else`),
    };
  }
  return undefined;
}

/** What a sound line that follows the one before admits itself. */
function admissionOf({ seq, fields }: AuditLine): Finding | undefined {
  if (fields.event !== "lost") return undefined;
  return { kind: "lost", message: `entry ${seq}: the server found entries up to ${String(fields.known)} gone when it started` };
}

class Verification {
  readonly #options: VerifyOptions;
  readonly #anchors = new Map<string, ChainHead | undefined>();
  #place: Place = { file: "", line: 0 };
  entries = 0;
  first: AuditLine | undefined;
  last: AuditLine | undefined;
  damage: AuditDamage | undefined;
  /** The entry that was not where it belongs; it may come later. */
  #sought: number | undefined;

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
    if (!line) {
      const named = `what stands behind entry ${this.last?.seq ?? 0}`;
      this.#found(
        torn
          ? { kind: "torn", message: `${named} stops in the middle; a server that starts cuts it off and says so` }
          : { kind: "altered", message: `${named} is not as it was written` },
        place,
      );
      return;
    }
    const broken = breakOf(line, this.last, this.#options.partial === true) ?? (await this.#strayed(line)) ?? admissionOf(line);
    if (broken) {
      this.#found(broken, place);
      if (broken.kind === "missing" && this.last) this.#sought = this.last.seq + 1;
      return;
    }
    this.first ??= line;
    this.last = line;
    this.#place = place;
    this.entries += 1;
    if (this.entries % PROGRESS_EVERY === 0) this.#options.progress?.(this.entries);
  }

  #found(finding: Finding, place: Place): void {
    this.damage = { ...finding, ...place };
  }

  /** A gap is something else when what is missing comes later. */
  #seek(line: AuditLine | undefined): void {
    if (!this.damage || line?.seq !== this.#sought || line?.log !== this.last?.log) return;
    this.damage = { ...this.damage, kind: "reordered", message: `entry ${line?.seq ?? 0} comes later than it was written` };
    this.#sought = undefined;
  }

  async anchorOf(log: string): Promise<ChainHead | undefined> {
    // Once, and before the lines are read: a log that grows meanwhile gets beyond it, never the other way round.
    if (!this.#anchors.has(log)) this.#anchors.set(log, await this.#options.anchorOf?.(log));
    return this.#anchors.get(log);
  }

  async #strayed(line: AuditLine): Promise<Finding | undefined> {
    const anchor = await this.anchorOf(line.log);
    if (anchor?.seq !== line.seq || anchor.hash === line.hash) return undefined;
    return { kind: "rewritten", message: `entry ${line.seq} is not the one that the database remembers` };
  }

  /** What the lines cannot tell about themselves. */
  async end(): Promise<void> {
    if (this.damage) return;
    if (!this.last) return this.#found({ kind: "truncated", message: "there is not one entry" }, this.#place);
    if (!this.#options.anchorOf) return;
    const anchor = await this.anchorOf(this.last.log);
    if (!anchor) this.#found({ kind: "foreign", message: `the database does not know the log ${this.last.log}` }, this.#place);
    else if (anchor.seq > this.last.seq) {
      const message = `the log ends with entry ${this.last.seq}, and the database remembers entry ${anchor.seq}`;
      this.#found({ kind: "truncated", message }, this.#place);
    }
  }
}

/** Number of the first line, as the file says it; files that don't say come last. */
async function firstNumber(file: string): Promise<number> {
  for await (const { bytes } of readLines(file)) {
    const [, seq] = /^\{"seq":([0-9]{1,15}),/u.exec(Buffer.from(bytes.subarray(0, 32)).toString("latin1")) ?? [];
    return seq === undefined ? Infinity : Number(seq);
  }
  return Infinity;
}

/** Files of one log in the order they were written. */
export async function inOrder(files: readonly string[]): Promise<string[]> {
  const numbered = await Promise.all(files.map(async (file) => ({ file, number: await firstNumber(file) })));
  return numbered.sort((a, b) => (a.number === b.number ? 0 : a.number - b.number)).map(({ file }) => file);
}

/**
 * Reads all parts of a log, in whatever order they are named, and says what the chain tells: whether a line was altered, taken away, put
 * in or moved, and with the database's memory also whether its end was cut off or the whole written anew.
 * @throws Error when a file cannot be read
 */
export async function verifyAuditLog(files: readonly string[], options: VerifyOptions = {}): Promise<AuditReport> {
  const parts = await inOrder(files);
  const verification = new Verification(options);
  for (const part of parts) {
    await verification.read(part);
  }
  await verification.end();
  const { entries, first, last, damage } = verification;
  return { log: first?.log, entries, first, last, parts, damage };
}
