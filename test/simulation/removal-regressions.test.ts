import { describe, expect, test } from "vitest";
import type { Command } from "./commands.ts";
import { advance, connection, ENTRY, NAMESPACE, resource } from "./scenes.ts";
import { runEpisode } from "./simulate.ts";
import { accountOf, urlOf } from "./world.ts";

const writing = (name: string): Command => ({ type: "write-secret", ...ENTRY, name });
const finding = (name: string): Command =>
  resource("alpha", {
    data: undefined,
    dataFrom: [{ find: { name: { regexp: "^m" } } }],
    target: { name },
  });
const removing = (regexp: string): Command =>
  resource("alpha", {
    data: undefined,
    dataFrom: [{ find: { name: { regexp } } }],
    target: { whenMissing: "Delete" },
  });
const vanish: Command = { type: "vanish", vault: ENTRY.vault, prefix: "m" };

describe("many names disappear together:", () => {
  // A restart after an edit to Retain made the operator forget that the names had disappeared
  // together: the edit back to Delete removed all of them.
  test("they are kept, a leader changes, and they are to be deleted again", async () => {
    const find = { name: { regexp: "^m" } };
    const rule = (target: object, data?: readonly object[]): Command =>
      resource("alpha", { data, dataFrom: [{ find }], target });
    const commands: Command[] = [
      connection({ refreshInterval: "60s", follow: "Auto" }),
      ...["m2", "m3", "m4", "m5", "m6"].map(writing),
      rule({ whenMissing: "Delete" }),
      advance(46_556),
      vanish,
      advance(1_012),
      rule({}, [{ secretKey: "k1", remoteRef: { key: "s2", version: 3 } }]),
      { type: "api-fault", fault: "refused", share: 1 },
      advance(274_699),
      { type: "end-faults" },
      { type: "settle" },
      rule({ whenMissing: "Delete" }),
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });

  // The leader held the removals and ended before it could report that: the next one counted only the
  // key that was to be removed.
  test("the leader ends before the connection shows that they are held", async () => {
    const optional = [
      { secretKey: "k3", remoteRef: { key: "m1", property: "/m1-a" }, optional: true },
    ];
    const commands: Command[] = [
      resource("gamma", { data: optional, target: { whenMissing: "Delete" } }),
      ...["m1", "m3", "m4", "m5", "m6"].map(writing),
      connection({ refreshInterval: "60s", follow: "Auto" }),
      finding("delta"),
      advance(90_000),
      vanish,
      advance(106),
      { type: "api-fault", fault: "refused", share: 1 },
      advance(30_000),
    ];
    expect(await runEpisode(90_210_270_875, commands)).toBeUndefined();
  });

  // The absence of a name was forgotten with its last reference, and did not begin again with the
  // next one: the key was removed by the next process only.
  test("a resource names a missing secret that another one dropped", async () => {
    const target = { whenMissing: "Delete" };
    const names = ["m2", "m3", "m4", "m5", "m6"];
    const missing = { data: [{ secretKey: "k2", remoteRef: { key: "s2" } }], target };
    const commands: Command[] = [
      connection({ refreshInterval: "60s", follow: "Auto" }),
      ...names.map(writing),
      resource("alpha", {
        data: undefined,
        dataFrom: [{ find: { name: { regexp: "^m" } } }],
        target,
      }),
      advance(75_000),
      vanish,
      resource("beta"),
      resource("gamma", missing),
      advance(24_000),
      resource("gamma"),
      advance(11_000),
      resource("alpha", missing),
    ];
    const endsWithRestart = 2;
    expect(await runEpisode(endsWithRestart, commands)).toBeUndefined();
  });

  // No bug: the hold was expected to last, although no target has anything of what disappeared.
  test("a user takes away their target, and all restart", async () => {
    const place = { kind: "Secret", namespace: NAMESPACE, name: "alpha" } as const;
    const target = { whenMissing: "Delete" };
    const commands: Command[] = [
      connection(),
      ...["m2", "m3", "m4", "m5", "m6"].map(writing),
      resource("alpha", {
        data: undefined,
        dataFrom: [{ find: { name: { regexp: "^m" } } }],
        target,
      }),
      resource("beta", { target }),
      advance(60_000),
      vanish,
      advance(30_000),
      { type: "delete-target", ...place, how: 0 },
    ];
    const endsWithRestart = 2;
    expect(await runEpisode(endsWithRestart, commands)).toBeUndefined();
  });

  // No bug: what a target keeps of secrets that no list of its connection lost was counted as lost.
  describe("four secrets disappear that a resource deletes", () => {
    const find = { dataFrom: [{ find: { name: { regexp: "^m" } } }], data: undefined };
    const deleting = [
      resource("beta", { ...find, target: { whenMissing: "Delete" } }),
      ...["m1", "m2", "m3", "m4"].map(writing),
      advance(60_000),
      vanish,
    ];

    test("while a target keeps one that disappeared before", async () => {
      const kept = [
        resource("alpha", find),
        writing("m5"),
        advance(60_000),
        vanish,
        advance(60_000),
      ];
      const commands = [connection(), ...kept, ...deleting];
      expect(await runEpisode(1, commands)).toBeUndefined();
    });

    test("while a target keeps one that its connection does not list", async () => {
      const spec = {
        url: urlOf("a"),
        email: accountOf("cluster"),
        auth: { passwordSecretRef: { name: "login" } },
        access: [{ namespaceSelector: { matchLabels: {} }, secrets: ["m1"] }],
      };
      const connectionRef = { kind: "ClusterVaultConnection", name: "main" };
      const data = [{ secretKey: "k1", remoteRef: { key: "m1" } }];
      const commands: Command[] = [
        connection(),
        { type: "put-cluster-connection", name: "main", spec },
        writing("m1"),
        resource("alpha", { data }),
        advance(60_000),
        resource("alpha", { data, connectionRef }),
        advance(300_000),
        ...deleting,
      ];
      expect(await runEpisode(1, commands)).toBeUndefined();
    });
  });
});

// A connection that is created again has no condition, and the names that were left were too few to
// be held: their keys were removed.
test.each([0, 2])(
  "few names of a hold are left when its connection is created again, way %d",
  async (end) => {
    const commands: Command[] = [
      connection({ refreshInterval: "5s" }),
      ...["m1", "m2", "m3", "m4", "m5", "m6"].map(writing),
      removing("^m"),
      advance(60_000),
      vanish,
      advance(60_000),
      removing("^m[12]$"),
      advance(30_000),
      { type: "delete", kind: "VaultConnection", namespace: NAMESPACE, name: "main" },
      advance(10_000),
      connection({ refreshInterval: "5s" }),
      advance(120_000),
    ];
    expect(await runEpisode(end, commands)).toBeUndefined();
  },
);

// The next target was created without the key of a secret that a rule had found, and the former one
// was deleted with its bytes.
test("a target gets another name while a secret that its rule found is gone", async () => {
  const commands: Command[] = [
    connection(),
    ...["m1", "m2"].map(writing),
    finding("one"),
    advance(60_000),
    { ...vanish, prefix: "m1" },
    advance(60_000),
    finding("two"),
    advance(60_000),
  ];
  expect(await runEpisode(1, commands)).toBeUndefined();
});

// The next client read deadlines of entries of the former vault from the statuses, and held removals
// that no resource made. A restart ended the hold.
test("a connection gets another vault while removals of its former one are held", async () => {
  const other = connection({ url: urlOf("b"), refreshInterval: "10s" }, "other");
  const commands: Command[] = [
    ...["m3", "m4", "m5", "m6"].map(writing),
    connection({ refreshInterval: "5s" }),
    resource("delta", {
      data: undefined,
      dataFrom: [{ find: { name: { regexp: "^m" } } }],
      target: { whenMissing: "Delete" },
    }),
    advance(8_000),
    other,
    connection({ url: urlOf("b"), refreshInterval: "60s" }),
    { type: "write-secret", ...ENTRY, vault: "b", name: "s1" },
    { type: "write-secret", ...ENTRY, vault: "b", name: "s2", minutes: 2 },
    resource("beta", {
      connectionRef: { name: "other" },
      data: [{ secretKey: "k3", remoteRef: { key: "s1" } }],
      dataFrom: [{ extract: { key: "s2" } }],
    }),
    advance(420_000),
    connection({ refreshInterval: "60s" }, "other"),
  ];
  const endsWithRestart = 2;
  expect(await runEpisode(endsWithRestart, commands)).toBeUndefined();
});

// The next process knew only what the target of the spec had. That one was not created yet, and the
// former one was deleted, whose bytes the predecessor had held.
test.each(["on", "off"] as const)(
  "all names of a renamed resource disappear, and its process ends (watch of targets: %s)",
  async (targetWatch) => {
    const names = ["m1", "m2", "m3", "m4", "m5"];
    const beta = (keys: string, target: object): Command =>
      resource("beta", {
        data: names.map((key, at) => ({ secretKey: `${keys}${at}`, remoteRef: { key } })),
        target,
      });
    const commands: Command[] = [
      { type: "configure", flags: { targetWatch, leaderElect: false } },
      connection({ refreshInterval: "10s" }),
      ...names.map(writing),
      beta("k", { name: "one" }),
      advance(60_000),
      vanish,
      advance(10_500),
      beta("n", { name: "two", whenMissing: "Delete" }),
      advance(600_000),
    ];
    const endsWithRestart = 2;
    expect(await runEpisode(endsWithRestart, commands)).toBeUndefined();
  },
);

// A resource whose names were never listed has no target. The next process could not see that none
// had the former name, and held the removal of nothing.
test("a resource is renamed before it has a target, and its process ends without a watch", async () => {
  const names = ["m1", "m2", "m3", "m4", "m5"];
  const beta = (name: string): Command =>
    resource("beta", {
      data: names.map((key, at) => ({ secretKey: `k${at}`, remoteRef: { key } })),
      target: { name, whenMissing: "Delete" },
    });
  const commands: Command[] = [
    { type: "configure", flags: { targetWatch: "off", leaderElect: false } },
    connection({ refreshInterval: "10s" }),
    beta("one"),
    advance(60_000),
    beta("two"),
    advance(600_000),
  ];
  const endsWithRestart = 2;
  expect(await runEpisode(endsWithRestart, commands)).toBeUndefined();
});
