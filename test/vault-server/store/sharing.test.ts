import { describe, expect, test } from "vitest";
import type { Grant, Grantee, Recipient } from "../../../src/vault/server/store/records.ts";
import {
  addSecret,
  ANN,
  BOB,
  envelope,
  EVE,
  listOf,
  NOW,
  secretOf,
  SORTED_NAMES,
  useStore,
  versionOf,
} from "../../lab/vault/use-store.ts";

const toUser = (email: string): Recipient => ({ kind: "person", email });
const teamId = (groupId: string): string => `id-of-${groupId}`;
const toTeam = (groupId: string): Recipient => ({ kind: "team", groupId, teamId: teamId(groupId) });
const granteeOf = (to: Recipient): Grantee =>
  to.kind === "team" ? { kind: "team", groupId: to.groupId } : to;
const granted = (to: Recipient, permission: Grant["permission"]): Grant => ({
  ...granteeOf(to),
  permission,
});

describe("the shares of a store", () => {
  const { write, read } = useStore();
  const accessOf = async (email: string) => {
    const [found] = await read((transaction) => listOf(transaction, email));
    return found && `${found.permission}${found.shared ? " shared" : ""}`;
  };

  const revisions = () =>
    read(async ({ listRevisions }) => {
      const lists = [
        await listRevisions.of(ANN),
        await listRevisions.of(BOB),
        await listRevisions.of(EVE),
      ];
      return lists.map(({ revision }) => revision);
    });

  const changed = async (work: Parameters<typeof write>[0]): Promise<boolean[]> => {
    const before = await revisions();
    await write(work);
    const after = await revisions();
    return after.map((revision, index) => revision !== before[index]);
  };

  test("direct and team grants add up, are replaced and revoked; grantees are ordered", async () => {
    const secret = await write((transaction) => addSecret(transaction, ANN, "a"));
    const { id } = secret;
    await write(({ teams }) =>
      teams.insert({ groupId: "t", id: teamId("t"), creator: ANN, members: [ANN, BOB] }),
    );
    expect(await accessOf(ANN)).toBe("RW");
    expect(await accessOf(BOB)).toBeUndefined();
    await write(({ grants }) => grants.grant(secret, [toUser(BOB)], "R"));
    expect(await accessOf(ANN)).toBe("RW shared");
    expect(await accessOf(BOB)).toBe("R shared");
    await write(({ grants }) => grants.grant(secret, [toTeam("t")], "W"));
    expect(await accessOf(BOB)).toBe("RW shared");
    await write(({ grants }) => grants.grant(secret, [toUser(BOB)], "W"));
    expect(await accessOf(BOB)).toBe("W shared");
    await write(({ grants }) => grants.grant(secret, [toUser("new@example.com")], "RW"));
    await write(({ teams }) =>
      teams.insert({ groupId: "r", id: teamId("r"), creator: ANN, members: [ANN] }),
    );
    await write(({ grants }) => grants.grant(secret, [toTeam("r")], "R"));
    expect(await read(({ grants }) => grants.grantees(id))).toEqual([
      granted(toUser(BOB), "W"),
      granted(toUser("new@example.com"), "RW"),
      granted(toTeam("r"), "R"),
      granted(toTeam("t"), "W"),
    ]);
    const revoked = [];
    for (const grantee of [
      toUser(BOB),
      toUser(BOB),
      toTeam("t"),
      toTeam("r"),
      toUser("new@example.com"),
      toTeam("none"),
    ]) {
      revoked.push(...(await write(({ grants }) => grants.revoke(id, [grantee]))));
    }
    expect(revoked).toEqual(
      [toUser(BOB), toTeam("t"), toTeam("r"), toUser("new@example.com")].map(granteeOf),
    );
    expect(await accessOf(ANN)).toBe("RW");
    expect(await accessOf(BOB)).toBeUndefined();
  });

  test("a new creator of a team becomes a member, and the lists of all get a new revision", async () => {
    const secret = await write((transaction) => addSecret(transaction, ANN, "a"));
    await write(({ teams }) =>
      teams.insert({ groupId: "t", id: teamId("t"), creator: ANN, members: [ANN, EVE] }),
    );
    await write(({ grants }) => grants.grant(secret, [toTeam("t")], "R"));
    expect(
      await changed(({ teams }) => teams.setCreator({ groupId: "t", id: teamId("t") }, BOB)),
    ).toEqual([true, true, true]);
    expect(await read(({ teams }) => teams.find("t"))).toEqual({
      groupId: "t",
      id: teamId("t"),
      creator: BOB,
      members: [ANN, BOB, EVE],
    });
    expect(await read(({ teams }) => teams.createdBy(ANN))).toEqual([]);
  });

  const invitersOf = (email: string, atMost = 10) =>
    read(({ grants }) => grants.inviters(email, atMost));

  test("inviters share with an address or added it to a team, and are not blocked by it", async () => {
    const secret = await write((transaction) => addSecret(transaction, BOB, "a"));
    await write(({ grants }) =>
      grants.grant(secret, [toUser(ANN), toUser("new@example.com")], "R"),
    );
    await write(({ teams }) =>
      teams.insert({ groupId: "t", id: teamId("t"), creator: EVE, members: [EVE, ANN] }),
    );
    expect(await invitersOf(ANN)).toEqual([BOB, EVE]);
    expect(await invitersOf(ANN, 1)).toEqual([BOB]);
    expect(await invitersOf(EVE)).toEqual([]);
    await write(({ blockedSenders }) => blockedSenders.block(ANN, [EVE]));
    expect(await invitersOf(ANN)).toEqual([BOB]);
    expect(await invitersOf("new@example.com")).toEqual([BOB]);
  });

  test("hundreds of grants to users and teams are made, replaced and revoked together, each once", async () => {
    const secret = await write((transaction) => addSecret(transaction, ANN, "a"));
    const { id } = secret;
    await write(({ teams }) =>
      teams.insert({ groupId: "t", id: teamId("t"), creator: ANN, members: [ANN] }),
    );
    const users = Array.from({ length: 300 }, (_, index) =>
      toUser(`u${String(index).padStart(3, "0")}@example.com`),
    );
    const all = [...users, toTeam("t")];
    await write(({ grants }) => grants.grant(secret, [...all, ...users.slice(0, 3)], "R"));
    expect(await read(({ grants }) => grants.grantees(id))).toEqual(
      all.map((grantee) => granted(grantee, "R")),
    );
    await write(({ grants }) => grants.grant(secret, all.slice(1), "W"));
    const grantees = await read(({ grants }) => grants.grantees(id));
    expect(grantees.map(({ permission }) => permission)).toEqual([
      "R",
      ...all.slice(1).map(() => "W"),
    ]);
    for (const after of [0, 1, 299, 300]) {
      expect(await read(({ grants }) => grants.grantees(id, all[after], 2))).toEqual(
        grantees.slice(after + 1, after + 3),
      );
    }
    expect(await write(({ grants }) => grants.revoke(id, all.slice(0, 200)))).toEqual(
      all.slice(0, 200).map(granteeOf),
    );
    expect(await write(({ grants }) => grants.revoke(id, all))).toEqual(
      all.slice(200).map(granteeOf),
    );
    expect(await read(({ grants }) => grants.grantees(id))).toEqual([]);
  });

  test("a dismissed share is hidden for that user only, until it is shared again", async () => {
    const secret = await write((transaction) => addSecret(transaction, ANN, "a"));
    const { id } = secret;
    await write(async ({ teams, grants }) => {
      await teams.insert({ groupId: "t", id: teamId("t"), creator: ANN, members: [ANN, BOB, EVE] });
      await grants.grant(secret, [toTeam("t")], "R");
      await grants.grant(secret, [toUser(BOB)], "RW");
      await grants.dismissShare(id, BOB);
      await grants.dismissShare(id, BOB);
    });
    expect(await accessOf(BOB)).toBeUndefined();
    expect(await accessOf(EVE)).toBe("R shared");
    expect(await read(({ grants }) => grants.grantees(id))).toEqual([granted(toTeam("t"), "R")]);
    await write(({ grants }) => grants.grant(secret, [toTeam("t")], "W"));
    expect(await accessOf(BOB)).toBe("W shared");
  });

  test("team names are unique; members are distinct and in code point order; teams are by name", async () => {
    const insert = (groupId: string, creator: string, members: string[]) =>
      write(({ teams }) => teams.insert({ groupId, id: teamId(groupId), creator, members }));
    expect(await insert("t", ANN, [BOB, ANN])).toBe(true);
    expect(await insert("t", BOB, [EVE])).toBe(false);
    await write(async ({ teams }) => {
      await teams.addMembers({ groupId: "t", id: teamId("t") }, [
        EVE,
        BOB,
        "😀@example.com",
        "\uFFFD@example.com",
      ]);
      await teams.addMembers({ groupId: "t", id: teamId("t") }, []);
      await teams.removeMembers("t", [BOB, "none@example.com"]);
    });
    const members = [ANN, EVE, "\uFFFD@example.com", "😀@example.com"];
    expect(await read(({ teams }) => teams.find("t"))).toEqual({
      groupId: "t",
      id: teamId("t"),
      creator: ANN,
      members,
    });
    // A team has a name, and no other team has one that looks alike.
    const names = SORTED_NAMES.filter((name) => name !== "" && name !== "A");
    for (const name of names.toReversed()) await insert(name, BOB, [BOB]);
    expect(
      (await read(({ teams }) => teams.list(BOB, undefined, 100))).map(({ groupId }) => groupId),
    ).toEqual(names);
    expect(await insert("A", BOB, [BOB])).toBe(false);
    expect(await read(({ teams }) => teams.list("none@example.com", undefined, 100))).toEqual([]);
    expect(await read(({ teams }) => teams.find("none"))).toBeUndefined();
  });

  test("removing a team removes its grants, removing a secret all of its grants", async () => {
    const secret = await write((transaction) => addSecret(transaction, ANN, "a"));
    const { id } = secret;
    await write(async ({ teams, grants }) => {
      for (const groupId of ["t", "u"]) {
        await teams.insert({ groupId, id: teamId(groupId), creator: ANN, members: [ANN, BOB] });
        await grants.grant(secret, [toTeam(groupId)], "R");
        await grants.dismissShare(id, BOB);
      }
      await teams.remove("t");
    });
    expect(await read(({ grants }) => grants.grantees(id))).toEqual([granted(toTeam("u"), "R")]);
    await write(({ secrets }) => secrets.remove(id));
    expect(await read(({ grants }) => grants.grantees(id))).toEqual([]);
    expect(await read(({ secrets }) => secrets.listIds(ANN, NOW))).toEqual([]);
    await write((transaction) => addSecret(transaction, ANN, "a"));
    expect(await accessOf(ANN)).toBe("RW");
    expect(await accessOf(BOB)).toBeUndefined();
  });

  test("a retired secret is gone for all users, frees its name, and is removed in parts", async () => {
    const secret = await write((transaction) => addSecret(transaction, ANN, "a"));
    const { id } = secret;
    await write(async ({ teams, grants, secrets }) => {
      await teams.insert({ groupId: "t", id: teamId("t"), creator: ANN, members: [ANN, EVE] });
      await grants.grant(secret, [toUser(BOB), toUser(EVE), toTeam("t")], "R");
      await grants.dismissShare(id, EVE);
      await secrets.insertVersion(id, versionOf(2, {}), envelope("two"));
    });
    const sizes = [
      await read(({ secrets }) => secrets.sizeUpTo(id, 9)),
      await read(({ secrets }) => secrets.sizeUpTo(id, 1)),
    ];
    expect(sizes.map(({ rows }) => rows)).toEqual([5, 4]);
    expect(sizes[0]?.bytes).toBe('a{"name":"a"}'.length + "two{}".length);
    expect(await changed(({ secrets }) => secrets.retire(id))).toEqual([true, true, true]);
    const listed = async (email: string): Promise<number> =>
      (await read((transaction) => listOf(transaction, email))).length;
    expect(await listed(ANN)).toBe(0);
    expect(await listed(BOB)).toBe(0);
    expect(await listed(EVE)).toBe(0);
    await write(({ secrets }) => secrets.insert({ ...secretOf(ANN, "a"), id: "other" }));

    const wrapped = await read(({ wrappedKeys }) =>
      wrappedKeys.otherThan("secret", "none", undefined, 9),
    );
    expect(
      wrapped.map(({ name }) => name),
      "with the name that the values are sealed with",
    ).toEqual(["a", "a"]);
    expect(await read(({ secrets }) => secrets.due(NOW, 9))).toEqual([{ id, retired: true }]);
    expect(await read(({ secrets }) => secrets.dueNamed(ANN, "a", NOW))).toBeUndefined();
    const removed = [];
    for (let times = 0; times < 3; times += 1)
      removed.push(await write(({ secrets }) => secrets.removeGrants(id, 2)));
    expect(removed).toEqual([2, 1, 0]);
    await write(({ secrets }) => secrets.remove(id));
    expect(await read(({ secrets }) => secrets.due(NOW, 9))).toEqual([]);
    expect(await read(({ usage }) => usage.of(ANN))).toEqual({
      secrets: 1,
      versions: 0,
      bytes: 0,
      grants: 0,
    });
  });

  test("a list revision changes with the list's content, for affected users only", async () => {
    const secret = secretOf(ANN, "a");
    const { id } = secret;
    expect(await changed((transaction) => addSecret(transaction, ANN, "a"))).toEqual([
      true,
      false,
      false,
    ]);
    expect(await changed(({ grants }) => grants.grant(secret, [toUser(BOB)], "R"))).toEqual([
      true,
      true,
      false,
    ]);
    expect(
      await changed(({ teams }) =>
        teams.insert({ groupId: "t", id: teamId("t"), creator: EVE, members: [EVE] }),
      ),
    ).toEqual([false, false, true]);
    expect(await changed(({ grants }) => grants.grant(secret, [toTeam("t")], "R"))).toEqual([
      true,
      true,
      true,
    ]);
    expect(await changed(({ settings }) => settings.set("x", "y"))).toEqual([false, false, false]);
    expect(await changed(({ secrets }) => secrets.remove(id))).toEqual([true, true, true]);
  });
});
