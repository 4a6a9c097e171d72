import { z } from "zod";
import type { ApiAccess } from "../../../test/lab/control-plane/api-request.ts";
import { collectionOf } from "./kube-writer.ts";
import { ObjectWatch } from "./object-watch.ts";

const status = z
  .object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]) })
  .default({ conditions: [] });

/** A separate watch of the resources of a namespace that counts those with a condition. */
export class ConditionWatch implements AsyncDisposable {
  readonly #having = new Set<string>();
  #watch: ObjectWatch | undefined;
  /** Monotonic time in ms of the last resource that got the condition or lost it. */
  changedAt = 0;

  private constructor() {}

  /** Starts to watch the resources of a kind. @param wanted the type of a condition that is True */
  static async start(
    access: ApiAccess,
    kind: string,
    namespace: string,
    wanted = "Ready",
  ): Promise<ConditionWatch> {
    const watch = new ConditionWatch();
    watch.#watch = await ObjectWatch.start(
      access,
      collectionOf(kind, namespace),
      ({ object, type, at }) => {
        const { conditions } = status.parse(object["status"]);
        const has =
          type !== "DELETED" &&
          conditions.some((one) => one.type === wanted && one.status === "True");
        if (has === watch.#having.has(object.metadata.name)) return;
        watch.#having[has ? "add" : "delete"](object.metadata.name);
        watch.changedAt = at;
      },
    );
    return watch;
  }

  get count(): number {
    return this.#having.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch?.[Symbol.asyncDispose]();
  }
}
