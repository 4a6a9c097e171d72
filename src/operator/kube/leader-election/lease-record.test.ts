import { expect, test } from "vitest";
import { LEASES } from "../resource.ts";
import { heldLease, readAgain, readLease } from "./lease-record.ts";

const NAME = { namespace: "system", name: "vaultsync" };
const held = (holder: string, now: number) => heldLease(undefined, NAME, holder, 15_000, now);
const withSpec = (spec: unknown) => ({ ...held("a", 0), kind: LEASES.kind, spec });

test.each([
  ["renewed", { ...held("a", 0), spec: { ...(held("a", 0)["spec"] as object), renewTime: "2" } }],
  ["taken by another holder", held("b", 60_000)],
  ["without a spec", withSpec(undefined)],
  ["with a malformed spec", withSpec("none")],
  ["with a holder of another type", withSpec({ holderIdentity: 7 })],
  [
    "with another duration",
    withSpec({ ...(held("a", 0)["spec"] as object), leaseDurationSeconds: 3 }),
  ],
])("reads a Lease %s as if it had not been read before", (_, object) => {
  for (const before of [held("a", 0), held("", 0), withSpec(undefined), withSpec([])])
    expect(readAgain(readLease(before), object)).toStrictEqual(readLease(object));
});
