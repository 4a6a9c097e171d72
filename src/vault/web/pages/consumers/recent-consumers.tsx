import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";
import { browserClock } from "../../service/browser-clock.ts";
import type { OwnEntries } from "../../service/consumers.ts";
import { millisecondsOf } from "../../text/formats.ts";
import { ConsumerList, useConsumers } from "./consumer-list.tsx";

const DAY_MS = 86_400_000;

interface RecentConsumersProps extends OwnEntries {
  /** The version that is about to be deleted; without it, all versions. */
  readonly version?: number | undefined;
}

/** Part of a dialog that names the resources that read in the last 24 hours what it deletes. */
export function RecentConsumers({ kind, names, version }: RecentConsumersProps): VNode {
  const since = browserClock.now() - DAY_MS;
  // The dialog is rendered again, with a new list of the same names, while it is open.
  const [all] = useState(names);
  const { consumers, failed } = useConsumers({ kind, names: all });
  const recent = consumers.filter(
    (read) =>
      millisecondsOf(read.last_read_at) >= since &&
      (version === undefined || read.version === version),
  );
  const one = version === undefined ? "it was" : "this version was";
  const subject = all.length > 1 ? "they were" : one;
  // The live region exists before its text: screen readers then announce it.
  return (
    <div role="status">
      {failed && (
        <p class="note bad">
          <Icon name="warning" />
          The vault did not say which clusters have read {all.length > 1 ? "them" : "it"}.
        </p>
      )}
      {recent.length > 0 && (
        <div class="note bad">
          <Icon name="warning" />
          <div class="recent-consumers">
            <p>In the last 24 hours, {subject} read by:</p>
            <ConsumerList
              consumers={recent}
              label="Read in the last 24 hours by"
              named={all.length > 1}
            />
          </div>
        </div>
      )}
    </div>
  );
}
