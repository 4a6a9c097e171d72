import { decodeEvent, isEndOfInitialEvents } from "./decode-object.ts";
import type { ListPage } from "./kube-api.ts";
import { KubeError } from "../kube-error.ts";
import type { KubeObject, ResourceDescriptor } from "../resource.ts";

/** The query of a list that the server sends as the initial events of a watch. */
export const STREAMED_LIST = {
  watch: "true",
  sendInitialEvents: "true",
  resourceVersionMatch: "NotOlderThan",
  allowWatchBookmarks: "true",
};

/**
 * Yields the pages of a streamed list: its events up to the bookmark that ends them, in pages of
 * `pageSize`.
 * @throws KubeError `Unavailable` when the stream ends earlier
 */
export async function* readStreamedList(
  lines: AsyncIterable<unknown>,
  {
    resource,
    operation,
    pageSize,
    managedFields,
  }: {
    readonly resource: ResourceDescriptor;
    readonly operation: string;
    readonly pageSize: number;
    readonly managedFields?: boolean | undefined;
  },
): AsyncGenerator<ListPage> {
  let items: KubeObject[] = [];
  for await (const line of lines) {
    const event = decodeEvent(resource, line, operation, { managedFields });
    if (event.type === "bookmark") {
      if (!isEndOfInitialEvents(line)) continue;
      yield { items, resourceVersion: event.resourceVersion };
      return;
    }
    const { resourceVersion = "" } = event.object.metadata;
    if (event.type === "deleted") yield { items, deleted: [event.object], resourceVersion };
    else if (items.push(event.object) === pageSize) yield { items, resourceVersion };
    else continue;
    items = [];
  }
  throw new KubeError({ kind: "Unavailable", operation, reason: "IncompleteList" });
}
