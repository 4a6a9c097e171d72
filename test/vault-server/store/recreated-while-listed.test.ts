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

/** More than a page has. */
const MEMBERS = 1_100;

async function addTeam({ teams }: Transaction, id: string): Promise<void> {
  const members = Array.from({ length: MEMBERS }, (_, index) => `${id}-${index}@example.com`);
  const creator = id === "first" ? ANN : BOB;
  await teams.insert({ groupId: name, id, creator, members: [ANN, ...members] });
}

async function addAll(transaction: Transaction, id: string): Promise<void> {
  await addShared(transaction, id);
  await addFile(transaction, id);
  await addTeam(transaction, id);
}

/** Reads a list of a secret, file or team that is deleted and recreated after the first page. */
async function readWhileRecreated(
  pages: () => AsyncGenerator<readonly unknown[]>,
): Promise<unknown[]> {
  await write((transaction) => addAll(transaction, "first"));
  const records: unknown[] = [];
  for await (const page of pages()) {
    if (records.length === 0) {
      await write(async (transaction) => {
        await transaction.secrets.remove("first");
        await transaction.files.remove("first");
        await transaction.teams.remove(name);
        await addAll(transaction, "second");
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

function teamMembers(): AsyncGenerator<readonly unknown[]> {
  return memberPages({ store: store() }, caller);
}

test.each([
  ["version", versions, "secret_not_found"],
  ["share", shares, "secret_not_found"],
  ["file", fileVersions, "unavailable"],
  ["team", teamMembers, "unavailable"],
])("a %s list is not continued with what was recreated under the name", async (_, pages, code) => {
  await expect(readWhileRecreated(pages)).rejects.toMatchObject({ code });
});
