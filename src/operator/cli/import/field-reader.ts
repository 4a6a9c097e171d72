import { isObject } from "../../../lib/is-object.ts";
import { formatPath } from "../manifests/manifest.ts";

/** Reports that a field cannot be carried over. */
export type ReportField = (path: readonly PropertyKey[], message: string) => void;

/**
 * Reads the fields of an object one by one, and reports unread fields: a field without a
 * counterpart is never lost silently.
 */
export class FieldReader {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #path: readonly PropertyKey[];
  readonly #report: ReportField;
  readonly #read = new Set<string>();

  constructor(value: unknown, path: readonly PropertyKey[], report: ReportField) {
    this.#value = isObject(value) ? value : {};
    this.#path = path;
    this.#report = report;
    if (value !== undefined && !isObject(value)) this.#say([], "must be an object");
  }

  /**
   * Returns a text, also for a number or boolean of YAML. Returns `undefined` if the field is
   * absent, and reports any other type.
   */
  text(name: string): string | undefined {
    const value = this.#take(name);
    if (typeof value === "string") return value;
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    if (value !== undefined) this.#say([name], "must be a text");
    return undefined;
  }

  flag(name: string): boolean {
    const value = this.#take(name);
    if (value !== undefined && typeof value !== "boolean")
      this.#say([name], "must be true or false");
    return value === true;
  }

  object(name: string): FieldReader | undefined {
    const value = this.#take(name);
    return value === undefined
      ? undefined
      : new FieldReader(value, [...this.#path, name], this.#report);
  }

  list(name: string): FieldReader[] {
    const value = this.#take(name);
    if (value === undefined) return [];
    if (Array.isArray(value))
      return value.map(
        (one, index) => new FieldReader(one, [...this.#path, name, index], this.#report),
      );
    this.#say([name], "must be a list");
    return [];
  }

  /** Returns a list of texts. */
  textList(name: string): string[] {
    const value = this.#take(name);
    if (value === undefined) return [];
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
    this.#say([name], "must be a list of texts");
    return [];
  }

  /** Returns the texts of an object of texts, such as labels. */
  texts(name: string): Record<string, string> | undefined {
    const reader = this.object(name);
    if (reader === undefined) return undefined;
    const texts = Object.keys(reader.#value).map((key): [string, string] => [
      key,
      reader.text(key) ?? "",
    ]);
    return Object.fromEntries(texts);
  }

  /**
   * Returns the text if it is one of these, `undefined` if the field is absent; reports any other
   * one.
   */
  oneOf<T extends string>(name: string, texts: readonly T[], message: string): T | undefined {
    const text = this.text(name);
    const known = texts.find((one) => one === text);
    if (text !== undefined && known === undefined) this.#say([name], message);
    return known;
  }

  /** Reports a problem of a field that was read. */
  problem(name: string, message: string): void {
    this.#say([name], message);
  }

  /** Reports every field that was not read. */
  end(): void {
    for (const name of Object.keys(this.#value)) {
      if (!this.#read.has(name)) this.#say([name], "has no counterpart, and is omitted");
    }
  }

  #take(name: string): unknown {
    this.#read.add(name);
    const value = Object.hasOwn(this.#value, name) ? this.#value[name] : undefined;
    return value === null ? undefined : value;
  }

  #say(path: readonly PropertyKey[], message: string): void {
    const whole = [...this.#path, ...path];
    this.#report(whole, `${formatPath(whole)}: ${message}`);
  }
}
