import { z } from "zod";
import type { ApiAccess } from "../../../test/lab/control-plane/api-request.ts";
import { collectionOf } from "./kube-writer.ts";
import { ObjectWatch, type WatchedEvent } from "./object-watch.ts";

/** The key of the target Secrets. */
export const VALUE_KEY = "value";

const data = z.record(z.string(), z.string()).default({});

/**
 * A separate watch of the Secrets of a namespace that reports when a Secret has a value. Only the
 * first line of a value is compared.
 */
export class SecretWatch implements AsyncDisposable {
  readonly #values = new Map<string, string>();
  readonly #waiting = new Map<string, (at: number) => void>();
  #watch: ObjectWatch | undefined;
  /** Monotonic time in ms of the last change of a value. */
  changedAt = 0;
  /**
   * Monotonic times in ms at which a Secret got an older value than it had, by {@link versionOf}.
   */
  readonly regressions: number[] = [];
  /** Monotonic times in ms at which a Secret was written with the value that it had. */
  readonly repetitions: number[] = [];

  private constructor() {}

  /** Starts to watch; current Secrets count as seen now. */
  static async start(access: ApiAccess, namespace: string): Promise<SecretWatch> {
    const watch = new SecretWatch();
    watch.#watch = await ObjectWatch.start(access, collectionOf("Secret", namespace), (event) =>
      watch.#record(event),
    );
    return watch;
  }

  /**
   * Resolves with the monotonic time in ms at which the Secret had the value. @throws Error after
   * `withinMs`
   */
  async arrival(name: string, value: string, withinMs: number): Promise<number> {
    if (this.#values.get(name) === value) return performance.now();
    const key = keyOf(name, value);
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const expired = setTimeout(
      () => reject(new Error(`Secret ${name} has no new value after ${withinMs} ms`)),
      withinMs,
    );
    this.#waiting.set(key, resolve);
    try {
      return await promise;
    } finally {
      clearTimeout(expired);
      this.#waiting.delete(key);
    }
  }

  /** Returns the number of Secrets that have these values. */
  countCorrect(values: ReadonlyMap<string, string>): number {
    return [...values].filter(([name, value]) => this.#values.get(name) === value).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch?.[Symbol.asyncDispose]();
  }

  #record({ object, type, at }: WatchedEvent): void {
    const encoded = type === "DELETED" ? undefined : data.parse(object["data"])[VALUE_KEY];
    if (encoded === undefined) return;
    const { name } = object.metadata;
    const [value = ""] = Buffer.from(encoded, "base64").toString().split("\n", 1);
    const before = this.#values.get(name);
    if (before === value) {
      if (type === "MODIFIED") this.repetitions.push(at);
      return;
    }
    if (before !== undefined && versionOf(value) < versionOf(before)) this.regressions.push(at);
    this.#values.set(name, value);
    this.changedAt = at;
    this.#waiting.get(keyOf(name, value))?.(at);
  }
}

/** Returns the number that ends the first line of each value. */
const versionOf = (value: string): number => Number(value.split(" ").at(-1));

const keyOf = (name: string, value: string): string => JSON.stringify([name, value]);
