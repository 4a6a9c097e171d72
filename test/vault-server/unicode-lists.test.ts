import { expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";

/** A character of two UTF-16 code units. */
const WIDE = "😀";
/** Versions of 60 KB of metadata: the list is sent in parts. */
const VERSIONS = 12;

test("a list that is sent in parts has the characters that were stored", async () => {
  await using vault = await TestVault.start();
  const ann = await vault.client("ann@example.com");
  // Parts end anywhere: in half of these texts, between the units of a character.
  const stored = Array.from(
    { length: VERSIONS },
    (_, index) => "x".repeat(index % 2) + WIDE.repeat(15_000),
  );
  for (const text of stored) {
    const body = { key_name: "a", key_value: "v", metadata: { description: text } };
    expect((await ann.call("protect", body)).outcome()).toBe("200");
  }
  const list = await ann.call("version_list", { key_name: "a" });
  expect(list.headers["content-length"]).toBeUndefined();
  const listed = list
    .json()
    .versions.map(({ metadata }: { metadata: { description: string } }) => metadata.description);
  expect(listed.map((text: string, index: number) => text === stored[index])).toEqual(
    stored.map(() => true),
  );
});
