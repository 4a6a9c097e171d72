import type { VNode } from "preact";
import type { Timestamp as WireTimestamp } from "../../../protocol/responses.ts";
import { browserClock } from "../service/browser-clock.ts";
import { exactTime, relativeTime } from "../text/timestamp-text.ts";

/** Shows a timestamp relative to now, with the exact time as its title. */
export function Timestamp({ at }: { readonly at: WireTimestamp }): VNode {
  return (
    <time dateTime={String(at)} title={exactTime(at)}>
      {relativeTime(at, browserClock.now())}
    </time>
  );
}
