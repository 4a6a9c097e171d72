import { describe, expect, test } from "vitest";
import {
  addSecret,
  ANN,
  BOB,
  envelope,
  EVE,
  FAR,
  listOf,
  NOW,
  SORTED_NAMES,
  secretOf,
  useStore,
  textOf,
  versionOf,
} from "../../lab/vault/use-store.ts";

/** Whatever JSON can write comes back, in the order it was written. */
const METADATA: Record<string, unknown> = JSON.parse(
  `{"z": 1, "a": "nul \\u0000 and \\ud800 alone", "__proto__": {"x": 1}, "constructor": null, "2": 1e300, "1": -0.1,
    "deep": ${"[".repeat(60)}${"]".repeat(60)}, "💚": "\\uffff", "": [{}, [], "", false], "big": 9007199254740991}`,
);

describe("the secrets of a store", () => {
  const { write, read } = useStore();

  const ownAccess = (name: string, now = NOW) =>
    read(({ secrets }) => secrets.ownAccess(ANN, name, now));
  const accessByName = async () =>
    (await read(({ secrets }) => secrets.accessByName(ANN, "a", NOW)))[0];

  describe("secrets", () => {
    test("a secret and its versions are returned unchanged", async () => {
      const secret = secretOf(ANN, "nämé 💚", { nextVersion: 2 ** 40, deleteMinutes: 1e12 });
      await write(async ({ secrets }) => {
        await secrets.insert(secret);
        await secrets.insertVersion(
          secret.id,
          {
            version: 2 ** 40 - 1,
            metadata: METADATA,
            createdAt: 0.5,
            createdBy: BOB,
            updatedAt: FAR,
          },
          envelope("v"),
        );
      });
      const [held] = await read(({ secrets }) => secrets.accessByName(ANN, secret.name, NOW));
      expect(held).toMatchObject({ secret, shared: false, permission: "RW" });
      expect(held?.latest).toMatchObject({
        version: 2 ** 40 - 1,
        createdAt: 0.5,
        createdBy: BOB,
        updatedAt: FAR,
      });
      expect(JSON.stringify(held?.latest.metadata)).toBe(JSON.stringify(METADATA));
      expect(Object.keys(held?.latest.metadata ?? {})).toContain("__proto__");
      const value = await read(({ secrets }) => secrets.value(secret.id, 2 ** 40 - 1));
      expect(value?.keyId).toBe("key-1");
      expect(textOf(value?.wrappedKey)).toBe("key of v");
      expect(textOf(value?.sealed)).toBe("v");
    });

    test("bytes of every value and length are returned unchanged", async () => {
      for (const bytes of [
        new Uint8Array(),
        Uint8Array.from({ length: 256 }, (_, i) => i),
        new Uint8Array(1_000_000).fill(0xfe),
      ]) {
        const secret = secretOf(ANN, `of ${bytes.length}`);
        await write(async ({ secrets }) => {
          await secrets.insert(secret);
          // A view into something bigger.
          const sealed = new Uint8Array([7, ...bytes.subarray(0, 1000), 7]).subarray(1, -1);
          await secrets.insertVersion(secret.id, versionOf(1, {}), {
            ...envelope(""),
            sealed: bytes.length > 1000 ? bytes : sealed,
          });
        });
        const value = await read(({ secrets }) => secrets.value(secret.id, 1));
        expect(Buffer.from(value?.sealed ?? []).equals(bytes)).toBe(true);
      }
    });

    test("versions are ascending and can be read, updated and removed", async () => {
      const { id } = await write(async (transaction) => {
        const secret = await addSecret(transaction, ANN, "a");
        for (const version of [10, 9, 2])
          await transaction.secrets.insertVersion(
            secret.id,
            versionOf(version, { version }),
            envelope("x"),
          );
        await transaction.secrets.updateVersion(secret.id, {
          version: 9,
          metadata: { changed: true },
          createdAt: 1,
          createdBy: EVE,
          updatedAt: NOW + 3,
        });
        await transaction.secrets.removeVersion(secret.id, 10);
        return secret;
      });
      const numbers = (await read(({ secrets }) => secrets.versions(id, 0, 100))).map(
        ({ version }) => version,
      );
      expect(numbers).toEqual([1, 2, 9]);
      const latest = {
        version: 9,
        metadata: { changed: true },
        createdAt: NOW,
        createdBy: ANN,
        updatedAt: NOW + 3,
      };
      expect(await read(({ secrets }) => secrets.latest(id))).toEqual(latest);
      expect(await read(({ secrets }) => secrets.version(id, 9))).toEqual(latest);
      for (const version of [10, 0, -1, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
        expect(await read(({ secrets }) => secrets.version(id, version))).toBeUndefined();
        expect(await read(({ secrets }) => secrets.value(id, version))).toBeUndefined();
      }
      expect(await read(({ secrets }) => secrets.versions("none", 0, 100))).toEqual([]);
    });

    test("lists are by name, then owner, in code point order; an empty list is possible", async () => {
      const names = SORTED_NAMES.toReversed();
      await write(async (transaction) => {
        for (const owner of [EVE, BOB]) {
          for (const name of names) {
            const secret = await addSecret(transaction, owner, name);
            await transaction.grants.grant(secret, [{ kind: "person", email: ANN }], "R");
          }
        }
      });
      const list = await read((transaction) => listOf(transaction, ANN));
      expect(list.map(({ secret }) => [secret.name, secret.owner])).toEqual(
        SORTED_NAMES.flatMap((name) => [
          [name, BOB],
          [name, EVE],
        ]),
      );
      expect(
        (await read(({ secrets }) => secrets.accessByName(ANN, "💚", NOW))).map(
          ({ secret }) => secret.owner,
        ),
      ).toEqual([BOB, EVE]);
      expect(await read(({ secrets }) => secrets.listIds("new@example.com", NOW))).toEqual([]);
      expect(await read(({ secrets }) => secrets.accessByIds(ANN, [], NOW))).toEqual([]);
      expect(await read(({ secrets }) => secrets.accessByName(ANN, "none", NOW))).toEqual([]);
    });

    test("an own secret is returned with the newest value until that version is deleted", async () => {
      const { id } = await write(async (transaction) => {
        const secret = await addSecret(transaction, ANN, "a");
        const other = await addSecret(transaction, BOB, "b");
        await transaction.grants.grant(other, [{ kind: "person", email: ANN }], "RW");
        return secret;
      });
      const own = (name: string, now = NOW) =>
        read(({ secrets }) => secrets.ownByName(ANN, name, now));
      const [listed] = await read(({ secrets }) => secrets.accessByName(ANN, "a", NOW));
      const value = await read(({ secrets }) => secrets.value(id, 1));
      expect(await own("a")).toEqual({ access: listed, value });
      expect(await own("b")).toBeUndefined();
      expect(await own("none")).toBeUndefined();
      expect(await own("a", FAR)).toBeUndefined();
      await write(({ grants }) =>
        grants.grant(secretOf(ANN, "a"), [{ kind: "person", email: BOB }], "R"),
      );
      expect((await own("a"))?.access.shared).toBe(true);
      await write(async ({ secrets }) => {
        await secrets.insertVersion(id, versionOf(2, {}), envelope("w"));
        await secrets.update({ ...secretOf(ANN, "a"), id, nextVersion: 3 });
      });
      expect((await own("a"))?.access.latest.version).toBe(2);
      expect(textOf((await own("a"))?.value.sealed)).toBe("w");
      await write(({ secrets }) => secrets.removeVersion(id, 2));
      expect(await own("a")).toBeUndefined();
    });

    test("the access to an own secret has its latest version, also after a deletion", async () => {
      const { id } = await write(async (transaction) => {
        const secret = await addSecret(transaction, ANN, "a");
        const shared = await addSecret(transaction, BOB, "b");
        await transaction.grants.grant(shared, [{ kind: "person", email: ANN }], "RW");
        await transaction.secrets.insertVersion(secret.id, versionOf(2, {}), envelope("w"));
        await transaction.secrets.update({ ...secret, nextVersion: 3 });
        return secret;
      });
      expect((await ownAccess("a"))?.latest.version).toBe(2);
      expect(await ownAccess("a")).toEqual(await accessByName());
      await write(({ secrets }) => secrets.removeVersion(id, 2));
      expect((await ownAccess("a"))?.latest.version).toBe(1);
      expect(await ownAccess("a")).toEqual(await accessByName());
      expect(await ownAccess("b")).toBeUndefined();
      expect(await ownAccess("a", FAR)).toBeUndefined();
    });

    test("secret names are unique per owner", async () => {
      await write((transaction) => addSecret(transaction, ANN, "a"));
      await expect(
        write(({ secrets }) => secrets.insert({ ...secretOf(ANN, "a"), id: "other" })),
      ).rejects.toThrow(/unique/iu);
      expect(await read((transaction) => listOf(transaction, ANN))).toHaveLength(1);
    });

    test("secrets past their deadline are omitted, then removed with versions and grants", async () => {
      await write(async (transaction) => {
        const secret = await addSecret(transaction, ANN, "due", { deleteAt: NOW });
        await addSecret(transaction, ANN, "later", { deleteAt: NOW + 1 });
        await transaction.grants.grant(secret, [{ kind: "person", email: BOB }], "RW");
      });
      const names = async (email: string, now: number) =>
        (await read((transaction) => listOf(transaction, email, now))).map(
          ({ secret }) => secret.name,
        );
      expect(await names(ANN, NOW - 1)).toEqual(["due", "later"]);
      expect(await names(ANN, NOW)).toEqual(["later"]);
      expect(await names(BOB, NOW)).toEqual([]);
      const { id } = secretOf(ANN, "due");
      expect(await read(({ secrets }) => secrets.due(NOW, 9))).toEqual([{ id, retired: false }]);
      expect(await read(({ secrets }) => secrets.dueNamed(ANN, "due", NOW))).toBe(id);
      expect(await read(({ secrets }) => secrets.dueNamed(ANN, "later", NOW))).toBeUndefined();
      expect(await write(({ secrets }) => secrets.removeVersions(id, 1))).toBe(1);
      expect(await write(({ secrets }) => secrets.removeVersions(id, 1))).toBe(0);
      await write(({ secrets }) => secrets.remove(id));
      expect(await read(({ secrets }) => secrets.due(NOW, 9))).toEqual([]);
      expect(await read(({ secrets }) => secrets.value(id, 1))).toBeUndefined();
      expect(await read(({ grants }) => grants.grantees(id))).toEqual([]);
    });

    test("update changes the deadline and the next version only", async () => {
      const secret = await write((transaction) => addSecret(transaction, ANN, "a"));
      await write(({ secrets }) =>
        secrets.update({
          ...secret,
          name: "b",
          nextVersion: 7,
          deleteMinutes: 1,
          deleteAt: NOW + 1,
        }),
      );
      const [held] = await read(({ secrets }) => secrets.accessByName(ANN, "a", NOW));
      expect(held?.secret).toEqual({
        ...secret,
        nextVersion: 7,
        deleteMinutes: 1,
        deleteAt: NOW + 1,
      });
    });
  });

  test("keys to rewrap are returned in order and in pages; a changed one is not replaced", async () => {
    await write(async (transaction) => {
      for (const name of ["a", "b", "c"]) await addSecret(transaction, ANN, name);
      await transaction.files.insert({ id: "f", owner: ANN, name: "f", nextVersion: 2 });
      await transaction.files.insertVersion("f", {
        version: 1,
        size: 3,
        createdAt: NOW,
        blobId: "blob",
        digest: envelope("d"),
      });
    });
    const other = (kind: "secret" | "file", atMost: number, key = "key-2") =>
      read(({ wrappedKeys }) => wrappedKeys.otherThan(kind, key, undefined, atMost));
    const [first, second] = await other("secret", 2);
    expect(first?.name).toBe("a");
    expect(second?.name).toBe("b");
    expect((await other("secret", 9)).length).toBe(3);
    expect((await other("secret", 9, "key-1")).length).toBe(0);
    expect(await other("file", 9)).toMatchObject([
      { kind: "file", id: "f", blobId: "blob", size: 3, version: 1 },
    ]);
    expect(await read(({ wrappedKeys }) => wrappedKeys.countOtherThan("key-2"))).toBe(4);
    const fresh = { keyId: "key-2", wrappedKey: Buffer.from("fresh") };
    const replace = () => write(({ wrappedKeys }) => wrappedKeys.replace(first!, fresh));
    expect(await replace()).toBe(true);
    expect(await replace()).toBe(false);
    const value = await read(({ secrets }) => secrets.value(first!.id, 1));
    expect(value?.keyId).toBe("key-2");
    expect(textOf(value?.wrappedKey)).toBe("fresh");
    expect(textOf(value?.sealed)).toBe("a");
    const rest = await read(({ wrappedKeys }) =>
      wrappedKeys.otherThan("secret", "key-2", second, 9),
    );
    expect(rest.map(({ name }) => name)).toEqual(["c"]);
  });
});
