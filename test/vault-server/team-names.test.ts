import { beforeEach, expect, test } from "vitest";
import { useVault } from "../lab/vault/use-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";

let team: string;
let freshNumber = 0;
const { ann, cid } = await useVault();
beforeEach(() => {
  freshNumber += 1;
  team = `team-${freshNumber}`;
});

const create = (caller: VaultClient, group_id: string) => caller.call("team_create", { group_id });
const remove = (caller: VaultClient, group_id: string) => caller.call("team_delete", { group_id });
const teamNames = async (caller: VaultClient) =>
  (await caller.call("team_list")).json().teams.map((each: { group_id: string }) => each.group_id);

test("the name of a new team cannot pass for an address", async () => {
  for (const group_id of [
    "bob@example.com",
    "@",
    "a team @ home",
    "bob＠example.com",
    "bob﹫example.com",
  ]) {
    expect((await create(ann, group_id)).outcome()).toBe("400 invalid_request");
    const shared = await ann.call("share", {
      key_name: "shared",
      permission: "R",
      usr_id_from: ann.email,
      group_id_to: group_id,
    });
    expect([shared.outcome(), shared.json().error.details[0].path]).toEqual([
      "400 invalid_request",
      "group_id_to",
    ]);
  }
});

test("the name of a new team cannot pass for that of another team", async () => {
  const imitations = [
    ` ${team}`,
    `${team} `,
    `a  b`,
    "a\u00a0b",
    "pay\u200broll",
    "\u202eops",
    "e\u0301quipe",
    "ｏｐｓ",
    "a\ufe0fb",
    "\u3164",
    `${team}\u2800`,
    "a\u1680b",
  ];
  for (const group_id of imitations)
    expect((await create(ann, group_id)).outcome()).toBe("400 invalid_request");
  for (const group_id of [
    "équipe",
    "プラットフォーム",
    "Payments & Risk",
    "команда",
    "🚀 launch",
  ]) {
    expect((await create(ann, `${team} ${group_id}`)).outcome()).toBe("200");
  }
});

test.each([
  ["оps", "Latin and Cyrillic"],
  ["billing-оps", "Latin and Cyrillic"],
  ["o\u0301ps0о", "Latin and Cyrillic"],
  ["Δelta", "Latin and Greek"],
  ["κοманда", "Greek and Cyrillic"],
  ["payՕff", "Latin and Armenian"],
])("the name of a new team does not mix alphabets in a word: %s", async (group_id, alphabets) => {
  const response = await create(ann, group_id.normalize("NFKC"));
  expect([response.outcome(), response.json().error.details]).toEqual([
    "400 invalid_request",
    [{ path: "group_id", reason: `must not mix ${alphabets} characters in a word` }],
  ]);
});

test.each([
  ["payroll", "payroIl"],
  ["ops", "орѕ"],
  ["platform 10", "platforrn lO"],
  ["Checkout", "checkout"],
  ["Marketing", "marketing"],
  ["admin", "ADMIN"],
  ["Команда", "команда"],
])("a new team cannot have a name that looks like %s", async (taken, imitation) => {
  await create(cid, taken);
  const rejected = await create(ann, imitation);
  expect([rejected.outcome(), rejected.json().error.message]).toEqual([
    "409 team_exists",
    "a team of this name, or of one that looks like it, exists: choose another",
  ]);
  expect(await teamNames(ann)).not.toContain(imitation);
  await remove(cid, taken);
  expect((await create(ann, imitation)).outcome()).toBe("200");
  await remove(ann, imitation);
});

test("words of a team's name have different alphabets, and CJK words several scripts", async () => {
  for (const group_id of ["SRE команда", "α-team", "SREチーム", "漢字かなカナ", "Δ 1", "Ops데이터"])
    expect((await create(ann, `${group_id} ${team}`)).outcome()).toBe("200");
});
