import type { VNode } from "preact";
import type { Timestamp as WireTimestamp } from "../../protocol/responses.ts";
import { browserClock } from "../browser-clock.ts";
import { exactMoment, relativeMoment } from "../text/timestamp-text.ts";

/** How long ago, or how soon; the exact moment as its title. */
export function Moment({ at }: { readonly at: WireTimestamp }): VNode {
  return (
    <time dateTime={String(at)} title={exactMoment(at)}>
      {relativeMoment(at, browserClock.now())}
    </time>
  );
}
