import { expect, test } from "vitest";
import { unlimitedScope } from "../../../src/protocol/scope.ts";
import type { Caller } from "../../../src/vault/server/accounts/authenticate.ts";
import { listedPages } from "../../../src/vault/server/files/list-response.ts";
import { versionPages } from "../../../src/vault/server/secret-lists/list-versions.ts";
import { sharePages } from "../../../src/vault/server/sharing/list-shares.ts";
import type { Transaction } from "../../../src/vault/server/store/store.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { memberPages } from "../../../src/vault/server/teams/teams.ts";
import {
  ANN,
  BOB,
  envelope,
  NOW,
  secretOf,
  useStore,
  versionOf,
} from "../../lab/vault/use-store.ts";

const { store, write } = useStore();
const clock = new VirtualClock();
const name = "db";
/** More than a page has. */
const MANY = 250;
const caller: Caller = {
  email: ANN,
  scope: unlimitedScope,
  credential: { kind: "token", digest: "", login: "", expiresAt: 1e18 },
};

async function addShared({ secrets, grants }: Transaction, id: string): Promise<void> {
  await secrets.insert(secretOf(ANN, name, { id, nextVersion: MANY + 1 }));
  for (let version = 1; version <= MANY; version += 1)
    await secrets.insertVersion(id, versionOf(version, {}), envelope("v"));
  const recipients = Array.from({ length: MANY }, (_, index) => ({
    kind: "person" as const,
    email: `user-${index}@example.com`,
  }));
  await grants.grant({ id, owner: ANN, name }, recipients, "R");
}

async function addFile({ files }: Transaction, id: string): Promise<void> {
  await files.insert({ id, owner: ANN, name, nextVersion: MANY + 1 });
  for (let version = 1; version <= MANY; version += 1) {
    const blobId = `${id}-${version}`;
    const sealed = { size: 1, createdAt: NOW, blobId, digest: envelope("d") };
    await files.insertVersion(id, { version, ...sealed });
  }
}

async function addBoth(transaction: Transaction, id: string): Promise<void> {
  await addShared(transaction, id);
  await addFile(transaction, id);
}

/** Reads a list of a secret or file that is deleted and recreated after the first page. */
async function readWhileRecreated(
  pages: () => AsyncGenerator<readonly unknown[]>,
): Promise<unknown[]> {
  await write((transaction) => addBoth(transaction, "first"));
  const records: unknown[] = [];
  for await (const page of pages()) {
    if (records.length === 0) {
      await write(async (transaction) => {
        await transaction.secrets.remove("first");
        await transaction.files.remove("first");
        await addBoth(transaction, "second");
      });
    }
    records.push(...page);
  }
  return records;
}

function versions(): AsyncGenerator<unknown[]> {
  const listed = { id: "first", upTo: MANY, now: clock.now() };
  const address = { family: "link", name, owner: ANN } as const;
  return versionPages({ store: store() }, caller, address, listed);
}

function shares(): AsyncGenerator<unknown[]> {
  return sharePages({ store: store(), clock }, caller, name);
}

function fileVersions(): AsyncGenerator<readonly unknown[]> {
  return listedPages({ store: store() }, caller);
}

test.each([
  ["version", versions, "secret_not_found"],
  ["share", shares, "secret_not_found"],
  ["file", fileVersions, "unavailable"],
])("a %s list is not continued with what was recreated under the name", async (_, pages, code) => {
  await expect(readWhileRecreated(pages)).rejects.toMatchObject({ code });
});

test("a list of teams mixes no teams and does not end early, whatever their users change", async () => {
  // Given two teams of several pages, of which Ann is a member.
  const members = Array.from({ length: 1_500 }, (_, index) => `m-${index}@example.com`);
  const insert = ({ teams }: Transaction, groupId: string, id: string, size: number) =>
    teams.insert({ groupId, id, creator: BOB, members: [ANN, ...members.slice(0, size)] });
  await write(async (transaction) => {
    await insert(transaction, "first", "a", 700);
    await insert(transaction, "second", "b", 1_500);
  });
  // When members leave the first one, and the second one is recreated, after the first page.
  const sizes = new Map<string, number>();
  for await (const page of memberPages({ store: store() }, caller)) {
    if (sizes.size === 0)
      await write(async (transaction) => {
        await transaction.teams.removeMembers("first", members);
        await transaction.teams.remove("second");
        await insert(transaction, "second", "c", 1_200);
      });
    for (const { key } of page) sizes.set(key, (sizes.get(key) ?? 0) + 1);
  }
  // Then no team is a mixture, and the list does not end early.
  expect([...sizes]).toEqual([
    ["first", 701],
    ["second", 1_201],
  ]);
});
