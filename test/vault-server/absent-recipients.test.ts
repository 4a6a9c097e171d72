import { beforeEach, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";

const clock = new VirtualClock();
const idle = Array.from({ length: 8 }, (_, index) => `idle-${index}@example.com`);
const { vault, ann, bob, cid } = await useVault({ clock, more: idle });
let fresh = 0;
let key_name: string;

beforeEach(async () => {
  await clock.advance(3_600_000);
  key_name = `secret-${(fresh += 1)}`;
  await ann.call("protect", { key_name, key_value: "v" });
});

const ask = (to: object, more: object = {}) =>
  ann.call("share", {
    key_name,
    usr_id_from: ann.email,
    permission: "R",
    invite: false,
    ...to,
    ...more,
  });
const reasonsOf = async (to: object): Promise<unknown> => {
  const response = await ask(to);
  return response.code() === "invitation_required"
    ? response.json().error.details
    : response.outcome();
};
const some = [{ path: "usr_id_to", reason: "some recipients would be invited" }];
const asOwner = async (
  email: string,
  work: (caller: VaultClient) => Promise<unknown>,
): Promise<void> => {
  const caller = await vault.client(email, undefined, 1);
  await work(caller);
  await clock.advance(2 * 3_600_000);
  clock.stepWall(91 * 86_400_000);
};

test("one request does not reveal which of several strangers are absent", async () => {
  expect(await reasonsOf({ usr_id_to: ["none@example.com", bob.email, idle[0]] })).toEqual(some);
  expect(await reasonsOf({ usr_id_to: [bob.email, cid.email] })).toBe("200");
});

test("an absent recipient is named after a share with the caller, in either direction", async () => {
  await asOwner(idle[1]!, async (caller) => {
    await caller.call("protect", { key_name: "own", key_value: "v" });
    await caller.call("share", {
      key_name: "own",
      usr_id_from: caller.email,
      usr_id_to: ann.email,
      permission: "R",
    });
  });
  await ask({ usr_id_to: [idle[2]] }, { invite: true });
  const named = [1, 2].map((index) => ({ path: `usr_id_to.${index}`, reason: "would be invited" }));
  expect(await reasonsOf({ usr_id_to: [bob.email, idle[1], idle[2]] })).toEqual(named);
  expect(await reasonsOf({ usr_id_to: [idle[3], idle[1]] })).toEqual([
    { ...named[0]!, path: "usr_id_to.1" },
    ...some,
  ]);
});

test("an absent member of a team is named, unless the caller created the team", async () => {
  await ann.call("team_create", { group_id: "anns", members: [idle[4]!] });
  expect(await reasonsOf({ usr_id_to: idle[4] })).toEqual(some);
  await bob.call("team_create", { group_id: "bobs", members: [ann.email, idle[4]!] });
  expect(await reasonsOf({ usr_id_to: idle[4] })).toEqual([
    { path: "usr_id_to.0", reason: "would be invited" },
  ]);
});

test("20 strangers an hour are asked about, directly or as members of the caller's teams", async () => {
  const strangers = Array.from(
    { length: 21 },
    (_, index) => `stranger-${fresh}-${index}@example.com`,
  );
  expect(await reasonsOf({ usr_id_to: strangers.slice(0, 19) })).toEqual(some);
  expect(await reasonsOf({ usr_id_to: strangers.slice(0, 20) })).toEqual(some);
  const tooMany = [
    {
      path: "usr_id_to",
      reason: "too many addresses that you share nothing with; share without invite: false",
    },
  ];
  // Active recipients are as unknown then as absent ones.
  await vault.client(idle[5]!, undefined, 1);
  for (const to of [strangers[20]!, idle[5]!])
    expect(await reasonsOf({ usr_id_to: to })).toEqual(tooMany);
  await ann.call("team_create", { group_id: "probe", members: [idle[5]!] });
  expect(await reasonsOf({ group_id_to: "probe" })).toEqual([
    { ...tooMany[0]!, path: "group_id_to" },
  ]);
  expect(await reasonsOf({ usr_id_to: strangers[0] })).toEqual(some);
  expect((await ask({ usr_id_to: idle[5] }, { invite: true })).json().shared[0].state).toBe(
    "active",
  );
  await clock.advance(3_600_000);
  expect(await reasonsOf({ usr_id_to: strangers[20] })).toEqual(some);
});

test("a team gets no absent member with `invite: false`, and counts strangers as `share` does", async () => {
  const group_id = `team-${fresh}`;
  const change = (operation: "team_create" | "team_add_members", members: string[], more = {}) =>
    ann.call(operation, { group_id, members, invite: false, ...more });
  const members = async (): Promise<string[] | undefined> =>
    (await ann.call("team_list"))
      .json()
      .teams.find((team: { group_id: string }) => team.group_id === group_id)?.members;
  const absent = idle[6]!;
  const created = await change("team_create", [bob.email, absent]);
  expect(created.outcome()).toBe("409 invitation_required");
  expect(created.json().error.details).toEqual([{ ...some[0]!, path: "members" }]);
  expect(await members()).toBeUndefined();
  expect((await change("team_create", [cid.email])).outcome()).toBe("200");
  await ask({ usr_id_to: absent }, { invite: true });
  expect((await change("team_add_members", [bob.email, absent])).json().error.details).toEqual([
    { path: "members.1", reason: "would be invited" },
  ]);
  expect(await members()).toEqual([ann.email, cid.email].toSorted());
  const strangers = Array.from({ length: 21 }, (_, index) => `${index}-${fresh}@example.com`);
  expect((await change("team_add_members", strangers)).json().error.details).toMatchObject([
    { path: "members", reason: expect.stringContaining("too many addresses") },
  ]);
  expect((await change("team_add_members", [absent], { invite: true })).outcome()).toBe("200");
  // A member already: there is nothing to ask.
  expect((await change("team_add_members", [absent])).outcome()).toBe("200");
});
