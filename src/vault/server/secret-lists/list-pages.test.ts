import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { unlimitedScope } from "../../../protocol/scope.ts";
import { openStore } from "../store/open-store.ts";
import { openList } from "./list-secrets.ts";
import { PageSize } from "./page-size.ts";

const owner = "ann@example.com";
const SMALL = 1_000;
const LARGE = 100;
const LARGE_LENGTH = 60_000;
const value = { keyId: "k", wrappedKey: Buffer.from("w"), sealed: Buffer.from("s") };

test("a page is of limited length also where large metadata follows small", async () => {
  await using store = await openStore(":memory:");
  const clock = new VirtualClock();
  const now = clock.now();
  await store.write(async ({ users, secrets }) => {
    await users.insert({ email: owner, passwordHash: "" }, now);
    for (let index = 0; index < SMALL + LARGE; index += 1) {
      const id = `id-${index}`;
      const name = String(index).padStart(6, "0");
      await secrets.insert({
        id,
        owner,
        name,
        nextVersion: 2,
        deleteMinutes: 1e9,
        deleteAt: now + 1e12,
      });
      const metadata = index < SMALL ? {} : { large: "x".repeat(LARGE_LENGTH) };
      await secrets.insertVersion(
        id,
        { version: 1, metadata, createdAt: now, createdBy: owner, updatedAt: now },
        value,
      );
    }
  });
  const credential = { kind: "token", digest: "", login: "", expiresAt: now + 1e12 } as const;
  const list = await openList(
    { store, clock },
    { email: owner, scope: unlimitedScope, credential },
  );
  const lengths: number[] = [];
  let records = 0;
  for await (const page of list.pages()) {
    lengths.push(page.length);
    records += page.split('"key_name"').length - 1;
  }
  expect(records).toBe(SMALL + LARGE);
  expect(Math.max(...lengths)).toBeLessThan(40 * LARGE_LENGTH);
});

/** Returns the sizes of the first pages of a list whose entries have metadata of this length. */
function sizes(length: number, pages = 6): number[] {
  const size = new PageSize(500);
  return Array.from({ length: pages }, () => {
    const { next } = size;
    size.seen(Array.from({ length: next }, () => length));
    return next;
  });
}

test("pages of short metadata grow to the maximum, and pages of long metadata shrink", () => {
  expect(sizes(100)).toEqual([8, 32, 128, 500, 500, 500]);
  expect(sizes(64 * 1024)).toEqual([8, 4, 4, 4, 4, 4]);
  expect(sizes(1024 * 1024)).toEqual([8, 1, 1, 1, 1, 1]);
});
