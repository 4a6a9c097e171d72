import { describe, expect, test } from "vitest";
import { clusterSecret, items as shownItems } from "../../../test/lab/kube/fanned-out-objects.ts";
import { ObjectServer } from "../../../test/lab/kube/object-server.ts";
import type { KubeObject } from "../kube/resource.ts";
import { changesAt, hiddenKeys, missedKeys, rollbackChanges } from "./rollback.ts";

const item = (key: string, source: string, version?: number) => ({ key, source, version });
const user = item("user", "db/user", 2);
const password = item("password", "db/password", 5);

describe("rollbackChanges", () => {
  test("goes back by one version, or to the one that is named", () => {
    expect(rollbackChanges([password], {})).toEqual([
      { key: "password", source: "db/password", from: 5, to: 4 },
    ]);
    expect(rollbackChanges([user, password], { key: "password", to: 2 })).toEqual([
      { key: "password", source: "db/password", from: 5, to: 2 },
    ]);
  });

  test("takes all keys of an entry back together", () => {
    const both = [password, item("password-2", "db/password", 5), user];
    expect(rollbackChanges(both, { key: "password" }).map(({ key }) => key)).toEqual([
      "password",
      "password-2",
    ]);
  });

  test("keeps the key of a secret of that name that another user shares", () => {
    const shared = { ...item("shared", "db/password", 9), owner: "ann@example.com" };
    expect(rollbackChanges([password, shared], { key: "password" })).toEqual([
      { key: "password", source: "db/password", from: 5, to: 4 },
    ]);
    expect(() => rollbackChanges([password, shared], {})).toThrow("name the key to roll back");
  });

  test.each([
    [
      [user, password],
      {},
      "name the key to roll back with --key: user (db/user 2), password (db/password 5)",
    ],
    [
      [user],
      { key: "pass" },
      "no key pass follows the latest version of an entry: name one of user (db/user 2)",
    ],
    [[], {}, "no key follows the latest version of an entry: change the version in the spec"],
    [[item("user", "db/user", 1)], {}, "version 1 of db/user is the first one"],
    [
      [item("user", "db/user")],
      {},
      "the target has no version of db/user: there is nothing to roll back",
    ],
  ])("rejects %j with %j", (items, flags, message) => {
    expect(() => rollbackChanges(items, flags)).toThrow(message);
  });
});

describe("changesAt", () => {
  const versions = [1, 2, 5].map((version) => ({ version, createdAt: version * 1_000 }));
  const at = (time: number, items = [user, password], key?: string) =>
    changesAt(items, { key, at: time }, () => versions);

  test("takes each key to the version that was the latest one then", () => {
    expect(at(4_999)).toEqual([{ key: "password", source: "db/password", from: 5, to: 2 }]);
    expect(at(1_000, [user, password], "user")).toEqual([
      { key: "user", source: "db/user", from: 2, to: 1 },
    ]);
  });

  test.each([
    [999, [user], "the vault has no version of db/user from 1970-01-01T00:00:00.999Z"],
    [2_000, [user], "the target has the versions of 1970-01-01T00:00:02.000Z already"],
    [2_000, [item("user", "db/user")], "there is nothing to roll back"],
    [2_000, [], "no key follows the latest version"],
  ])("rejects the time %d of %j", (time, items, message) => {
    expect(() => at(time, items)).toThrow(message);
  });
});

const wanted = (id: string, source: string, version: "latest" | number = "latest") => {
  return { id, source, version, owner: undefined };
};

describe("hiddenKeys", () => {
  const items = [
    wanted("password", "db/password"),
    wanted("copy", "db/password"),
    wanted("pinned", "db/password", 5),
    wanted("user", "db/user"),
  ];
  const changes = [{ key: "password", source: "db/password", from: 5, to: 4 }];
  const hidden = (itemsOmitted: number, flags: { at?: number; key?: string } = {}) =>
    hiddenKeys({ items }, { items: [password], itemsOmitted }, changes, flags);

  test("are of the entry that goes back, or all for a time", () => {
    expect(hidden(3)).toEqual(["copy"]);
    expect(hidden(3, { at: 1_000 })).toEqual(["copy", "user"]);
    expect(hidden(3, { at: 1_000, key: "password" })).toEqual([]);
  });

  test("are none if the status shows all items", () => {
    expect(hidden(0)).toEqual([]);
  });
});

test("missedKeys are shown in another version, or missing in a status that shows all", () => {
  const changes = [
    { key: "password", source: "db/password", from: 6, to: 5 },
    { key: "copy", source: "db/password", from: 6, to: 4 },
    { key: "later", source: "db/password", from: 6, to: 5 },
  ];
  const items = [password, item("copy", "db/password", 5)];
  expect(missedKeys(changes, { items, itemsOmitted: 0 })).toEqual(["copy", "later"]);
  // The next deadlines come first in a long status: an earlier version may have a later one.
  expect(missedKeys(changes, { items, itemsOmitted: 1 })).toEqual(["copy"]);
});

/** Reports a sync as the operator does, in version 1. */
const operator = (object: KubeObject): KubeObject => {
  const lastForceSync = object.metadata.annotations?.["vaultsync.dev/force-sync"];
  return {
    ...object,
    status: { ...(object["status"] as object), items: shownItems(1, 2), lastForceSync },
  };
};

describe("rollback without a result", () => {
  const ID = "clustervaultsecret/registry";

  test.each([
    ["rollback", "it would be held when it resumes"],
    ["resume", "it would follow the vault then"],
  ])("of %s changes nothing of a suspended resource: %s", async (command) => {
    const suspended = clusterSecret("registry", { spec: { suspend: true } });
    await using cluster = await ObjectServer.start([suspended]);
    expect(await cluster.run(command, ID)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`vaultsync: ${ID} is suspended: set spec.suspend to false\n`),
    });
    expect(cluster.patches).toEqual([]);
  });

  test("is no success while a key of the entry is in no version that the status shows", async () => {
    const data = ["password", "copy"].map((secretKey) => {
      return { secretKey, remoteRef: { key: "login" } };
    });
    const long = clusterSecret("registry", { spec: { data }, status: { itemsOmitted: 1 } });
    await using cluster = await ObjectServer.start([long], { operator });
    const { code, stdout } = await cluster.run("rollback", ID);
    expect([code, stdout]).toEqual([
      3,
      expect.stringContaining("copy: not in the status, and held in the version of the target"),
    ]);
  });

  test("says that the hold stays when no operator responds", async () => {
    await using cluster = await ObjectServer.start([clusterSecret("registry")]);
    const { code, stderr } = await cluster.run("rollback", ID, "--timeout", "1");
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /was not synced within 1 s .*; the hold stays: vaultsync resume clustervaultsecret\/registry ends it$/mu,
    );
    expect(cluster.patches).toHaveLength(1);
  });
});
