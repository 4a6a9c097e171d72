import { expect, test } from "vitest";
import { syncItem, syncResource } from "../../../test/lab/kube/sync-resource.ts";
import { Redacted } from "../../lib/redacted.ts";
import { makeContent } from "./make-content.ts";

const KEY = new Redacted(new Uint8Array(32));

/** Returns the message for a template of these values whose key is too short. */
async function problemOf(names: readonly string[]): Promise<string> {
  const data = { all: names.map((name) => `{{ ${name} }}`).join("") };
  const template = { data, contracts: { all: { minLength: 100 } } };
  const items = names.map((name) => syncItem(name));
  const inputs = items.map((item, index) => ({
    item,
    bytes: new TextEncoder().encode("canary-of-the-value"),
    version: index + 1,
  }));
  const content = await makeContent(syncResource(items, { template }), inputs, KEY, 0);
  return "reason" in content ? content.message : "content";
}

test("a template that makes a wrong value is reported with at most three sources", async () => {
  const rule = "that does not fit its rule minLength: expected at least 100 characters";
  const three = "version 1 of a, version 2 of b, version 3 of c";
  expect(await problemOf(["a", "b", "c"])).toBe(`the template makes a key all of ${three} ${rule}`);
  expect(await problemOf(["a", "b", "c", "d", "e"])).toBe(
    `the template makes a key all of ${three} and 2 more ${rule}`,
  );
});
