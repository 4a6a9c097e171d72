import { describe, expect, test } from "vitest";
import { ObjectServer } from "../../../../test/lab/kube/object-server.ts";
import { freezeData, parseSelector } from "./freeze.ts";
import { namespaceSelector } from "../../api/namespace-selector.ts";

const NOW = Date.UTC(2026, 11, 20);
const until = "2026-12-27T06:00:00Z";

describe("freezeData", () => {
  test("returns the data of the ConfigMap", () => {
    expect(freezeData({ until }, NOW)).toEqual({ until });
    const flags = { until, reason: "holidays", namespaceSelector: "team=shop" };
    expect(freezeData(flags, NOW)).toEqual({
      until,
      reason: "holidays",
      namespaceSelector: '{"matchExpressions":[{"key":"team","operator":"In","values":["shop"]}]}',
    });
  });

  test.each([
    [{ until: "tomorrow" }, "--until: expected a time such as"],
    [{ until: "2026-12-19T06:00:00Z" }, "--until: 2026-12-19T06:00:00Z is over"],
    [{ until, namespaceSelector: "team like shop" }, "--namespace-selector: cannot parse"],
    [{ until, reason: "x".repeat(1_001) }, "--reason: "],
  ])("rejects %j", (flags, message) => {
    expect(() => freezeData(flags, NOW)).toThrow(message);
  });
});

const lease = (name: string) => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { namespace: "vaultsync-system", name },
});

test.each([
  ["no operator", [lease("node-1")], [], /^no operator has a Lease in namespace vaultsync-system/u],
  ["an operator", [lease("vaultsync")], [], /^$/u],
  ["Leases that the user may not list", [], ["leases"], /^$/u],
])("freeze in a namespace with %s warns accordingly", async (_, objects, denied, note) => {
  await using cluster = await ObjectServer.start(objects, { denied });
  const { code, stderr } = await cluster.run("freeze", "--until", "2126-01-01T00:00:00Z");
  expect([code, stderr]).toEqual([0, expect.stringMatching(note)]);
});

describe("parseSelector", () => {
  test.each<[string, readonly object[]]>([
    ["team=shop", [{ key: "team", operator: "In", values: ["shop"] }]],
    ["team == shop", [{ key: "team", operator: "In", values: ["shop"] }]],
    ["team=", [{ key: "team", operator: "In", values: [""] }]],
    [
      "example.com/tier!=test, team in (a, b)",
      [
        { key: "example.com/tier", operator: "NotIn", values: ["test"] },
        { key: "team", operator: "In", values: ["a", "b"] },
      ],
    ],
    ["team notin (a)", [{ key: "team", operator: "NotIn", values: ["a"] }]],
    [
      "team,!tier",
      [
        { key: "team", operator: "Exists" },
        { key: "tier", operator: "DoesNotExist" },
      ],
    ],
  ])("reads %s", (text, matchExpressions) => {
    const selector = parseSelector(text);
    expect(selector).toEqual({ matchExpressions });
    expect(namespaceSelector.safeParse(selector).success).toBe(true);
  });

  test.each(["", "team=a=b", "team in a", "team like shop", "team=a,"])("rejects %j", (text) => {
    expect(() => parseSelector(text)).toThrow("--namespace-selector: cannot parse");
  });
});
