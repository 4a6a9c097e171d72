import { expect, test } from "vitest";
import { SqliteConnection } from "./sqlite/sqlite-connection.ts";
import { sqlTransaction } from "./sql/sql-transaction.ts";
import {
  addSecret,
  ANN,
  BOB,
  NOW,
  versionOf,
  envelope,
} from "../../../../test/lab/vault/use-store.ts";
import { subjects } from "./change-feed.ts";

async function newTransaction() {
  const connection = new SqliteConnection(":memory:");
  const changed: string[] = [];
  const transaction = sqlTransaction(connection, (subject) => void changed.push(subject));
  for (const email of [ANN, BOB])
    await transaction.users.insert({ email, passwordHash: "hash" }, NOW);
  changed.length = 0;
  return { transaction, changed, [Symbol.dispose]: () => connection.close() };
}

test("several changes of one secret in a transaction give its owner's list one new revision", async () => {
  using scene = await newTransaction();
  const { transaction, changed } = scene;
  const secret = await addSecret(transaction, ANN, "a");
  await transaction.secrets.insertVersion(secret.id, versionOf(2, {}), envelope("b"));
  await transaction.secrets.update({ ...secret, nextVersion: 3 });
  expect(changed).toEqual([subjects.user(ANN)]);
});

test("a user to whom a changed secret is granted in the same transaction gets a new revision", async () => {
  using scene = await newTransaction();
  const { transaction, changed } = scene;
  const secret = await addSecret(transaction, ANN, "a");
  await transaction.grants.grant(secret, [{ kind: "person", email: BOB }], "R");
  expect(changed).toContain(subjects.user(BOB));
});
