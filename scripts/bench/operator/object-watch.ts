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

/** A watch of the benchmark's own, independent of the operator that is measured. */
export class ObjectWatch implements AsyncDisposable {
  readonly #ended = new AbortController();
  readonly #onEvent: (event: WatchedEvent) => void;
  #following: Promise<void> = Promise.resolve();

  private constructor(onEvent: (event: WatchedEvent) => void) {
    this.#onEvent = onEvent;
  }

  /** Starts to watch a collection; current objects count as seen now. */
  static async start(
    access: ApiAccess,
    collection: string,
    onEvent: (event: WatchedEvent) => void,
  ): Promise<ObjectWatch> {
    const watch = new ObjectWatch(onEvent);
    const url = new URL(`${collection}?watch=1`, access.server);
    const headers = { authorization: `Bearer ${access.token}` };
    const sent = request(url, {
      ca: access.ca,
      agent: false,
      signal: watch.#ended.signal,
      headers,
    }).end();
    const [response] = await once(sent, "response");
    if (response.statusCode === 429) {
      // The API server fills the cache of a definition that is new.
      sent.destroy();
      await sleep(500);
      return ObjectWatch.start(access, collection, onEvent);
    }
    if (response.statusCode !== 200) throw new Error(`watch ${collection}: ${response.statusCode}`);
    watch.#following = watch.#follow(response);
    return watch;
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
        for (const line of lines) this.#onEvent({ ...watchEvent.parse(JSON.parse(line)), at });
      }
    } catch (error) {
      if (!this.#ended.signal.aborted) throw error;
    }
  }
}
