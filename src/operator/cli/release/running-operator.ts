import type { Clock } from "../../../lib/clock.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { type LeaseRecord, readLease } from "../../kube/leader-election/lease-record.ts";
import { keyOf, LEASES } from "../../kube/resource.ts";

/** Time between two reads of the Leases, in milliseconds. */
const POLL_MS = 1_000;

/** Returns the Leases of operators that have a holder, by namespace and name. @throws KubeError */
async function heldLeases(
  api: KubeApi,
  namespace: string,
  signal: AbortSignal,
): Promise<Map<string, LeaseRecord>> {
  const held = new Map<string, LeaseRecord>();
  for await (const { items } of api.list(LEASES, { namespace, paged: true }, signal)) {
    for (const object of items) {
      const lease = readLease(object);
      if (/^vaultsync(-|$)/u.test(object.metadata.name) && lease.holder !== "")
        held.set(keyOf(object.metadata), lease);
    }
  }
  return held;
}

/**
 * Returns the Lease of a running operator, as `NAMESPACE/NAME`, and its holder; `undefined` if none
 * runs. A Lease that has a holder is observed until it is renewed or has expired, because the
 * clocks of the holder and of this machine may differ. An operator without leader election has
 * none. @throws KubeError
 */
export async function runningOperator(
  api: KubeApi,
  { namespace, clock }: { readonly namespace: string; readonly clock: Clock },
  signal: AbortSignal,
): Promise<{ readonly lease: string; readonly holder: string } | undefined> {
  const first = await heldLeases(api, namespace, signal);
  const since = clock.monotonic();
  const longest = Math.max(0, ...[...first.values()].map(({ durationMs }) => durationMs));
  while (first.size > 0 && clock.monotonic() - since < longest) {
    await clock.sleep(POLL_MS, signal);
    for (const [lease, { holder, object }] of await heldLeases(api, namespace, signal)) {
      if (object.metadata.resourceVersion !== first.get(lease)?.object.metadata.resourceVersion)
        return { lease, holder };
    }
  }
  return undefined;
}
