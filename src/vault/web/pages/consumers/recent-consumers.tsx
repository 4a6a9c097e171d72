import type { VNode } from "preact";
import { Icon } from "../../parts/icon.tsx";
import { browserClock } from "../../service/browser-clock.ts";
import type { OwnEntry } from "../../service/consumers.ts";
import { millisecondsOf } from "../../text/timestamp-text.ts";
import { ConsumerList } from "./consumer-list.tsx";
import { useConsumers } from "./use-consumers.ts";

const DAY_MS = 86_400_000;

interface RecentConsumersProps {
  readonly of: OwnEntry;
  /** The version that is about to be deleted; without it, all versions. */
  readonly version?: number | undefined;
}

/** Part of a dialog that names the resources that read in the last 24 hours what it deletes. */
export function RecentConsumers({ of, version }: RecentConsumersProps): VNode {
  const since = browserClock.now() - DAY_MS;
  const recent = useConsumers(of).filter(
    (read) =>
      millisecondsOf(read.last_read_at) >= since &&
      (version === undefined || read.version === version),
  );
  // The live region exists before its text: screen readers then announce it.
  return (
    <div role="status">
      {recent.length > 0 && (
        <div class="note bad">
          <Icon name="warning" />
          <div class="recent-consumers">
            <p>
              In the last 24 hours, {version === undefined ? "it" : "this version"} was read by:
            </p>
            <ConsumerList consumers={recent} label="Read in the last 24 hours by" />
          </div>
        </div>
      )}
    </div>
  );
}
