import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { z } from "zod";
import type { ApiAccess } from "../../test/control-plane/api-request.ts";
import { collection } from "../../test/e2e/support/world.ts";

const watchEvent = z.object({
  type: z.enum(["ADDED", "MODIFIED", "DELETED"]),
  object: z.looseObject({ metadata: z.looseObject({ name: z.string() }), data: z.record(z.string(), z.string()).default({}) }),
});

/** The key of the target Secrets. */
export const VALUE_KEY = "value";

/** An own watch of the Secrets of a namespace, which reports when a Secret has a value. */
export class SecretWatch implements AsyncDisposable {
  readonly #ended = new AbortController();
  readonly #values = new Map<string, string>();
  readonly #waiting = new Map<string, (at: number) => void>();
  #following: Promise<void> = Promise.resolve();

  private constructor() {}

  /** Starts to watch; current Secrets count as seen now. */
  static async start(access: ApiAccess, namespace: string): Promise<SecretWatch> {
    const watch = new SecretWatch();
    const url = new URL(`${collection("Secret", namespace)}?watch=1`, access.server);
    const headers = { authorization: `Bearer ${access.token}` };
    const sent = request(url, { ca: access.ca, agent: false, signal: watch.#ended.signal, headers }).end();
    const [response] = await once(sent, "response");
    if (response.statusCode !== 200) throw new Error(`watch Secrets: ${response.statusCode}`);
    watch.#following = watch.#follow(response);
    return watch;
  }

  /** Resolves with the monotonic time in ms at which the Secret had the value. @throws Error after `withinMs` */
  async arrival(name: string, value: string, withinMs: number): Promise<number> {
    if (this.#values.get(name) === value) return performance.now();
    const key = keyOf(name, value);
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const expired = setTimeout(() => reject(new Error(`Secret ${name} has no new value after ${withinMs} ms`)), withinMs);
    this.#waiting.set(key, resolve);
    try {
      return await promise;
    } finally {
      clearTimeout(expired);
      this.#waiting.delete(key);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await this.#following;
  }

  async #follow(response: IncomingMessage): Promise<void> {
    let text = "";
    try {
      for await (const chunk of response.setEncoding("utf8")) {
        const at = performance.now();
        const lines = (text + chunk).split("\n");
        text = lines.pop() ?? "";
        for (const line of lines) this.#record(line, at);
      }
    } catch (error) {
      if (!this.#ended.signal.aborted) throw error;
    }
  }

  #record(line: string, at: number): void {
    const { object, type } = watchEvent.parse(JSON.parse(line));
    const encoded = type === "DELETED" ? undefined : object.data[VALUE_KEY];
    if (encoded === undefined) return;
    const value = Buffer.from(encoded, "base64").toString();
    this.#values.set(object.metadata.name, value);
    this.#waiting.get(keyOf(object.metadata.name, value))?.(at);
  }
}

const keyOf = (name: string, value: string): string => JSON.stringify([name, value]);
