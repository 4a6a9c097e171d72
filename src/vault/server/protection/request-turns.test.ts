import { expect, test } from "vitest";
import { systemClock } from "../../../lib/clock.ts";
import { RequestTurns } from "./request-turns.ts";

test("a request of another account passes the queue of one that sends many", async () => {
  const turns = new RequestTurns(systemClock);
  const served: string[] = [];
  const request = async (account: string): Promise<void> => {
    await turns.next(account);
    served.push(account);
  };
  await Promise.all([...Array.from({ length: 100 }, () => request("busy")), request("ordinary")]);
  expect(served.indexOf("ordinary")).toBeLessThan(3);
});
