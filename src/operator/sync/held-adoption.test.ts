import { expect, test } from "vitest";
import { syncItem, ownedTarget, syncResource } from "../../../test/lab/kube/sync-resource.ts";
import { heldAdoption } from "./held-adoption.ts";

const resource = syncResource([syncItem("a")]);
const handedOver = (confirmed?: string) => ownedTarget(new Map(), { adoption: { confirmed } });
const message = (removed: readonly string[]) =>
  heldAdoption(resource, handedOver(), removed)?.message;
const keys = (count: number) => Array.from({ length: count }, (_, index) => `k${10 + index}`);

test("an adoption that would remove keys is held until a user confirms their exact number", () => {
  expect(heldAdoption(resource, handedOver("2"), ["x", "y"])).toBeUndefined();
  for (const confirmed of [undefined, "1", "3", "true"])
    expect(heldAdoption(resource, handedOver(confirmed), ["x", "y"])).toMatchObject({
      ready: false,
      reason: "AdoptionHeld",
    });
});

test("an adoption that removes no key is not held", () => {
  expect(heldAdoption(resource, handedOver(), [])).toBeUndefined();
});

test("only an object that is handed over is held", () => {
  expect(heldAdoption(resource, ownedTarget(new Map()), ["x"])).toBeUndefined();
  expect(heldAdoption(resource, { state: "absent" }, ["x"])).toBeUndefined();
});

test("the condition of a held adoption names ten keys in order, and the command", () => {
  const names = keys(10).join(", ");
  expect(message(keys(10).toReversed())).toBe(
    `the Secret db is handed over with keys that the spec does not have, which would be removed: ${names}; it is left unchanged. ` +
      "Add them to the spec, or confirm with: kubectl annotate secret -n shop db vaultsync.dev/confirm-removals=10",
  );
  expect(message(keys(12).toReversed())).toContain(`removed: ${names} and 2 more; it`);
});
