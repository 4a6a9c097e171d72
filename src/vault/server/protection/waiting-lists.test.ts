import { EventEmitter } from "node:events";
import type { FastifyReply } from "fastify";
import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { ChangeFeed } from "../store/change-feed.ts";
import type { Store } from "../store/store.ts";
import { WaitingLists } from "./waiting-lists.ts";

/** Starts waits whose lists have changed, on a store whose reads take 100 ms each. */
function startWaits() {
  const clock = new VirtualClock();
  const state = { sameTag: undefined, subjects: [], until: Infinity };
  const store = {
    changes: new ChangeFeed(),
    read: async () => {
      await clock.sleep(100);
      return { live: true, state };
    },
  } as unknown as Store;
  const waiting = new WaitingLists({
    store,
    clock,
    limits: { waitingLists: 100, waitingListsPerAccount: 100, waitingListsPerLogin: 100 },
    metrics: { waitingLists: { inc: () => undefined, dec: () => undefined } },
  });
  const read = async (): Promise<typeof state> => state;
  const ended: string[] = [];
  const wait = async (email: string, login: string): Promise<void> => {
    const reply = {
      request: { headers: { "if-none-match": "a", prefer: "wait=10" } },
      header: () => undefined,
      raw: new EventEmitter(),
    } as unknown as FastifyReply;
    const credential = { kind: "token", digest: login, login, expiresAt: Infinity } as const;
    await waiting.settle({ caller: { email, credential }, reply, subject: "list", read });
    ended.push(login);
  };
  return { clock, ended, wait };
}

test("a woken list does not wait for the many lists of another account or login", async () => {
  const { clock, ended, wait } = startWaits();
  const all = Array.from({ length: 20 }, () => wait("ann@example.com", "many"));
  all.push(wait("bob@example.com", "other account"), wait("ann@example.com", "other login"));
  await clock.advance(250);
  expect(ended).toEqual(expect.arrayContaining(["other account", "other login"]));
  expect(ended.length).toBeLessThan(8);
  await clock.advance(5_000);
  await Promise.all(all);
});
