import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { slowRequests } from "../service/slow-requests.ts";

/** Reports that the vault takes long to respond, while it does. */
export function SlowNote(): VNode {
  const [slow, setSlow] = useState(slowRequests.any);
  useEffect(() => slowRequests.subscribe(() => setSlow(slowRequests.any())), []);
  return (
    <p class="slow-note" role="status">
      {slow && (
        <>
          <span class="spinner" /> This takes longer than usual …
        </>
      )}
    </p>
  );
}
