import { describe, expect, test } from "vitest";
import type { EmailMessage } from "../../../src/vault/server/store/records.ts";
import { ANN, BOB, EVE, FAR, NOW, useStore } from "../../lab/vault/use-store.ts";

const refresh = {
  digest: "r1",
  email: ANN,
  scope: "cloud_type:a,b",
  hours: 1e10,
  lastUsedAt: NOW,
  allowedNetworks: ["10.0.0.0/8"],
  endsAt: FAR,
};
const access = {
  digest: "a1",
  name: "curl",
  refreshDigest: "r1",
  email: ANN,
  scope: "cloud_type:a,b",
  expiresAt: FAR,
  allowedNetworks: ["10.0.0.0/8", "fd00::/8"],
  createdAt: NOW,
  issuedAt: NOW,
  issuer: "https://cluster.example.com",
  usedAt: 0,
};

describe("the users of a store", () => {
  const { write, read } = useStore();

  describe("accounts", () => {
    test("an address has one account, whose password can change", async () => {
      expect(
        await write(({ users }) => users.insert({ email: ANN, passwordHash: "other" }, NOW)),
      ).toBe(false);
      expect(await read(({ users }) => users.find(ANN))).toEqual({
        email: ANN,
        passwordHash: `hash of ${ANN}`,
        disabled: false,
      });
      await write(({ users }) => users.setPasswordHash({ email: ANN, passwordHash: "new" }));
      expect(await read(({ users }) => users.find(ANN))).toEqual({
        email: ANN,
        passwordHash: "new",
        disabled: false,
      });
      expect(await read(({ users }) => users.find("unknown@example.com"))).toBeUndefined();
    });

    test("finds no account for unknown addresses with special characters", async () => {
      for (const email of [
        "\0",
        "a\0b",
        "\uFFFF",
        "\uFFFF0",
        "%",
        "'",
        "\\",
        "$1",
        "?",
        "💚".repeat(150),
      ]) {
        expect(await read(({ users }) => users.find(email))).toBeUndefined();
      }
    });
  });

  describe("tokens", () => {
    test("tokens are returned unchanged, including times beyond JavaScript's dates", async () => {
      await write(async ({ tokens }) => {
        await tokens.insertRefresh(refresh);
        await tokens.insertAccess(access);
        await tokens.touchRefresh("r1", NOW + 0.5);
      });
      expect(await read(({ tokens }) => tokens.findAccess("a1"))).toEqual(access);
      expect(await read(({ tokens }) => tokens.findRefresh("r1"))).toEqual({
        ...refresh,
        lastUsedAt: NOW + 0.5,
      });
      expect(await read(({ tokens }) => tokens.findAccess("r1"))).toBeUndefined();
      expect(await read(({ tokens }) => tokens.findRefresh("a1"))).toBeUndefined();
    });

    test("removeOrphans keeps expired access tokens that have a refresh token", async () => {
      const kept = await write(async ({ tokens }) => {
        await tokens.insertRefresh(refresh);
        await tokens.insertRefresh({ ...refresh, digest: "r2", lastUsedAt: NOW + 1 });
        for (const [digest, refreshDigest, expiresAt] of [
          ["over", "r1", NOW],
          ["over-with-living", "r2", NOW],
          ["living", "r1", NOW + 1],
        ] as const) {
          await tokens.insertAccess({ ...access, digest, refreshDigest, expiresAt });
        }
        await tokens.removeUnused(NOW, 100);
        await tokens.removeOrphans(NOW, undefined, 100);
        const found: boolean[] = [];
        for (const digest of ["over", "over-with-living", "living"]) {
          found.push((await tokens.findAccess(digest)) !== undefined);
        }
        return [
          ...found,
          (await tokens.findRefresh("r1")) !== undefined,
          (await tokens.findRefresh("r2")) !== undefined,
        ];
      });
      expect(kept).toEqual([false, true, true, false, true]);
    });

    test("a user is live until the last access token, refresh token or session expires", async () => {
      const live = (at = NOW, usedAfter = NOW) =>
        read(async ({ tokens }) => (await tokens.live([ANN], usedAfter, at)).has(ANN));
      expect(await live()).toBe(false);
      await write(({ tokens }) => tokens.insertRefresh({ ...refresh, lastUsedAt: NOW + 1 }));
      expect(await live()).toBe(true);
      expect(await live(NOW, NOW + 1)).toBe(false);
      await write(({ tokens }) => tokens.removeOf(ANN));
      await write(({ tokens }) =>
        tokens.insertRefresh({ ...refresh, lastUsedAt: NOW + 1, endsAt: NOW + 1 }),
      );
      expect(await live()).toBe(true);
      expect(await live(NOW + 1)).toBe(false);
      await write(({ tokens }) => tokens.removeOf(ANN));
      await write(({ tokens }) => tokens.insertAccess({ ...access, expiresAt: NOW + 1 }));
      expect(await live()).toBe(true);
      expect(await live(NOW + 1)).toBe(false);
      await write(({ tokens }) => tokens.removeOf(ANN));
      await write(({ sessions }) =>
        sessions.insert({
          digest: "s",
          name: "Firefox on Linux",
          email: ANN,
          createdAt: NOW,
          expiresAt: NOW + 1,
          usedAt: NOW,
        }),
      );
      expect(await live()).toBe(true);
      expect(await live(NOW + 1)).toBe(false);
      const many = Array.from({ length: 200 }, (_, index) => `none-${index}@example.com`);
      const found = await read(({ tokens }) => tokens.live([...many, BOB, ANN], NOW, NOW));
      expect([...found]).toEqual([ANN]);
    });

    test("a token of an unknown user is rejected", async () => {
      await expect(
        write(({ tokens }) => tokens.insertRefresh({ ...refresh, email: "unknown@example.com" })),
      ).rejects.toThrow(/foreign key/iu);
    });
  });
});

function messageOf(id: string, dueAt: number): EmailMessage {
  return { id, kind: "invitation", to: `${id}@example.com`, from: ANN, attempts: 0, dueAt };
}

describe("the records of a store that expire", () => {
  const { write, read } = useStore();
  const found = (digest: string) => read(({ sessions }) => sessions.find(digest));
  const since = (subject: string, from: number) =>
    read(({ loginFailures }) => loginFailures.since(subject, from));
  const session = {
    digest: "s1",
    name: "Firefox on Linux",
    email: ANN,
    createdAt: NOW,
    expiresAt: NOW + 10,
    usedAt: NOW,
  };

  test("sessions beyond a number are removed, the least recently used first", async () => {
    await write(async ({ sessions }) => {
      for (const [index, digest] of ["s1", "s2", "s3", "s4"].entries())
        await sessions.insert({ ...session, digest, usedAt: NOW + index });
      await sessions.insert({ ...session, digest: "bobs", email: BOB, usedAt: NOW });
      await sessions.update({ ...session, digest: "s2", usedAt: NOW + 9 });
      // The newest is kept, whatever its time.
      await sessions.removeOld({ ...session, digest: "s1" }, 3);
    });
    const left = await read(({ sessions }) => sessions.list(ANN));
    expect(left.map(({ digest }) => digest).toSorted()).toEqual(["s1", "s2", "s4"]);
    expect(await found("bobs")).toBeDefined();
    await write(async ({ sessions }) => {
      await sessions.removeOf(ANN);
      await sessions.removeOf(BOB);
    });
  });

  test("sessions are found, extended, and removed by digest, by account and on expiry", async () => {
    await write(async ({ sessions }) => {
      for (const digest of ["s1", "s2", "s3"]) await sessions.insert({ ...session, digest });
      await sessions.insert({ ...session, digest: "bobs", email: BOB });
      await sessions.update({ ...session, expiresAt: FAR });
      await sessions.remove("s2");
      await sessions.removeExpired(NOW + 9, 100);
    });
    expect(await found("s1")).toEqual({ ...session, expiresAt: FAR });
    expect(await found("s2")).toBeUndefined();
    await write(({ sessions }) => sessions.removeExpired(NOW + 10, 100));
    expect(await found("s1")).toEqual({ ...session, expiresAt: FAR });
    expect(await found("s3")).toBeUndefined();
    await write(({ sessions }) =>
      sessions.insert({ ...session, digest: "bobs-other", email: BOB }),
    );
    await write(({ sessions }) => sessions.removeOf(ANN));
    expect(await found("s1")).toBeUndefined();
    expect((await found("bobs-other"))?.email).toEqual(BOB);
  });

  test("email proofs need no account and are removed by address and on expiry", async () => {
    const proof = { digest: "p1", email: "new@example.com", expiresAt: NOW + 1 };
    await write(async ({ emailProofs }) => {
      await emailProofs.insert(proof);
      await emailProofs.insert({ ...proof, digest: "p2" });
      await emailProofs.insert({ ...proof, digest: "p3", email: ANN });
      await emailProofs.removeExpired(NOW, 100);
    });
    expect(await read(({ emailProofs }) => emailProofs.find("p1"))).toEqual(proof);
    await write(({ emailProofs }) => emailProofs.removeOf("new@example.com"));
    expect(await read(({ emailProofs }) => emailProofs.find("p2"))).toBeUndefined();
    await write(({ emailProofs }) => emailProofs.removeExpired(NOW + 1, 100));
    expect(await read(({ emailProofs }) => emailProofs.find("p3"))).toBeUndefined();
  });

  test("failed logins are counted per subject within a window", async () => {
    expect(await since("a", 0)).toEqual({ count: 0, lastAt: 0 });
    await write(async ({ loginFailures }) => {
      for (const at of [NOW, NOW + 1, NOW + 1, NOW + 2.5]) await loginFailures.add("a\0💚", at);
      await loginFailures.add("a", NOW);
    });
    expect(await since("a\0💚", NOW)).toEqual({ count: 3, lastAt: NOW + 2.5 });
    await write(({ loginFailures }) => loginFailures.removeBefore(NOW + 1, 100));
    expect(await since("a\0💚", 0)).toEqual({ count: 1, lastAt: NOW + 2.5 });
    expect(await since("a", 0)).toEqual({ count: 0, lastAt: 0 });
    await write(({ loginFailures }) => loginFailures.clear("a\0💚"));
    expect((await since("a\0💚", 0)).count).toBe(0);
  });

  const counts = async (...names: string[]): Promise<number[]> =>
    Promise.all(names.map(async (name) => (await since(name, 0)).count));

  test("the newest subjects of a prefix are kept", async () => {
    await write(async ({ loginFailures }) => {
      for (const [index, name] of [
        "agent:b 1",
        "agent:b 2",
        "agent:b 3",
        "agent:bc 1",
        "agent:b",
      ].entries())
        await loginFailures.add(name, NOW + index);
      await loginFailures.keepNewest("agent:b", 3);
    });
    expect(await counts("agent:b 1", "agent:b 2", "agent:b 3", "agent:bc 1", "agent:b")).toEqual([
      1, 1, 1, 1, 1,
    ]);
    await write(({ loginFailures }) => loginFailures.keepNewest("agent:b", 1));
    expect(await counts("agent:b 1", "agent:b 2", "agent:b 3", "agent:bc 1", "agent:b")).toEqual([
      0, 0, 1, 1, 1,
    ]);
  });

  test("settings are set and replaced", async () => {
    expect(await read(({ settings }) => settings.get("x"))).toBeUndefined();
    for (const value of ["", "1", "two\nlines 💚 \0 \uFFFF \uFFFF0 '"]) {
      await write(({ settings }) => settings.set("x", value));
      expect(await read(({ settings }) => settings.get("x"))).toBe(value);
    }
  });

  test("due messages are claimed once, oldest first, until they are due again", async () => {
    await write(async ({ outbox }) => {
      for (const [id, dueAt] of [
        ["late", NOW + 9],
        ["b", NOW],
        ["a", NOW],
        ["old", NOW - 1],
      ] as const) {
        await outbox.insert(messageOf(id, dueAt));
      }
    });
    const claim = (now: number, atMost: number) =>
      write(({ outbox }) => outbox.claim(now, now + 5, atMost));
    expect((await claim(NOW, 2)).map(({ id }) => id)).toEqual(["old", "a"]);
    expect(await claim(NOW, 10)).toEqual([messageOf("b", NOW)]);
    expect(await claim(NOW, 10)).toEqual([]);
    await write(async ({ outbox }) => {
      await outbox.update({ ...messageOf("a", NOW + 6), attempts: 1 });
      await outbox.remove("b");
    });
    expect((await claim(NOW + 5, 10)).map(({ id }) => id)).toEqual(["old"]);
    expect(await claim(NOW + 6, 10)).toEqual([{ ...messageOf("a", NOW + 6), attempts: 1 }]);
    expect(await read(({ outbox }) => outbox.count())).toBe(3);
  });

  test("the outbox accepts one message per kind, sender and recipient", async () => {
    const insert = (message: EmailMessage) => write(({ outbox }) => outbox.insert(message));
    const first = messageOf("a", NOW);
    expect(await insert(first)).toBe(true);
    expect(await insert({ ...first, id: "again", dueAt: NOW - 1 })).toBe(false);
    expect(await insert({ ...first, id: "other", from: EVE })).toBe(true);
    expect(await insert({ ...first, id: "kind", kind: "confirmation" })).toBe(true);
    expect(await write(({ outbox }) => outbox.claim(NOW, NOW + 1, 10))).toHaveLength(3);
  });
});
