import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { ApiAccess } from "../../../test/lab/control-plane/api-request.ts";

const watchEvent = z.object({
  type: z.enum(["ADDED", "MODIFIED", "DELETED"]),
  object: z.looseObject({ metadata: z.looseObject({ name: z.string() }) }),
});

/** An event of a watch, and the monotonic time in ms of its arrival. */
export interface WatchedEvent extends z.infer<typeof watchEvent> {
  readonly at: number;
}

/**
 * A watch of the benchmark's own, independent of the operator that is measured. The API server ends
 * watches, after half an hour or if they are slow: another one follows, with all objects again.
 */
export class ObjectWatch implements AsyncDisposable {
  readonly #access: ApiAccess;
  readonly #collection: string;
  readonly #ended = new AbortController();
  readonly #onEvent: (event: WatchedEvent) => void;
  #following: Promise<void> = Promise.resolve();

  private constructor(
    access: ApiAccess,
    collection: string,
    onEvent: (event: WatchedEvent) => void,
  ) {
    this.#access = access;
    this.#collection = collection;
    this.#onEvent = onEvent;
  }

  /** Starts to watch a collection; current objects count as seen now. */
  static async start(
    access: ApiAccess,
    collection: string,
    onEvent: (event: WatchedEvent) => void,
  ): Promise<ObjectWatch> {
    const watch = new ObjectWatch(access, collection, onEvent);
    watch.#following = watch.#follow(await watch.#open());
    return watch;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await this.#following;
  }

  async #open(): Promise<IncomingMessage> {
    const { server, ca, token } = this.#access;
    const headers = { authorization: `Bearer ${token}` };
    const { signal } = this.#ended;
    for (;;) {
      const url = new URL(`${this.#collection}?watch=1`, server);
      const sent = request(url, { ca, agent: false, signal, headers }).end();
      const [response] = await once(sent, "response");
      if (response.statusCode === 200) return response;
      sent.destroy();
      if (response.statusCode !== 429)
        throw new Error(`watch ${this.#collection}: ${response.statusCode}`);
      // The API server fills the cache of a definition that is new.
      await sleep(500, undefined, { signal });
    }
  }

  async #follow(first: IncomingMessage): Promise<void> {
    try {
      for (let response = first; ; response = await this.#open()) await this.#read(response);
    } catch (error) {
      if (!this.#ended.signal.aborted) throw error;
    }
  }

  async #read(response: IncomingMessage): Promise<void> {
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) {
      const at = performance.now();
      const lines = (text + chunk).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) this.#onEvent({ ...watchEvent.parse(JSON.parse(line)), at });
    }
  }
}
