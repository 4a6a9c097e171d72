import { z } from "zod";
import type { ApiAccess } from "../../../test/lab/control-plane/api-request.ts";
import { collectionOf } from "./kube-writer.ts";
import { ObjectWatch } from "./object-watch.ts";

const status = z
  .object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]) })
  .default({ conditions: [] });

/** A separate watch of the resources of a namespace that counts the Ready ones. */
export class ReadyWatch implements AsyncDisposable {
  readonly #ready = new Set<string>();
  #watch: ObjectWatch | undefined;
  /** Monotonic time in ms of the last resource that became Ready. */
  changedAt = 0;

  private constructor() {}

  static async start(access: ApiAccess, kind: string, namespace: string): Promise<ReadyWatch> {
    const ready = new ReadyWatch();
    ready.#watch = await ObjectWatch.start(
      access,
      collectionOf(kind, namespace),
      ({ object, type, at }) => {
        const { conditions } = status.parse(object["status"]);
        const isReady =
          type !== "DELETED" &&
          conditions.some((one) => one.type === "Ready" && one.status === "True");
        if (isReady === ready.#ready.has(object.metadata.name)) return;
        ready.#ready[isReady ? "add" : "delete"](object.metadata.name);
        ready.changedAt = at;
      },
    );
    return ready;
  }

  get count(): number {
    return this.#ready.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch?.[Symbol.asyncDispose]();
  }
}
