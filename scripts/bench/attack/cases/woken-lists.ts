import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { operationPath } from "../../../../src/protocol/operation-paths.ts";
import type { VaultClient } from "../../../../test/lab/vault/vault-client.ts";
import type { AttackCase, Round } from "../attack-case.ts";
import { storeLarge } from "../patient.ts";
import { fire } from "../shot-loop.ts";

const CLIENTS = 100;
/** One login has at most 50 waits. */
const LOGINS = 2;
const SECRETS = 100;
const CHANGE_INTERVAL_MS = 2_000;

/**
 * Follows a list as an operator does: waits for a change, reads the whole list, and waits again.
 */
async function follow(
  url: string,
  { email, token }: VaultClient,
  address: string,
  round: Round,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress: address });
  let tag: string | undefined;
  while (!round.signal.aborted) {
    const waiting = tag === undefined ? {} : { "if-none-match": tag, prefer: "wait=55" };
    const shot = {
      path: operationPath.list_no_dup,
      headers: { authorization: token, ...waiting },
      body: JSON.stringify({ email }),
    };
    const { outcome, headers } = await fire(url, shot, agent, round.signal);
    if (round.signal.aborted) break;
    round.count(outcome);
    if (outcome === "200" || outcome === "304") tag = headers.etag;
    else await sleep(Number(headers["retry-after"] ?? 1) * 1000);
  }
  agent.destroy();
}

/** One change that many clients of an account wait for, none of whom is an attacker. */
export const wokenLists: AttackCase = {
  name: "woken-lists",
  title: "100 clients that wait for changes of a list of 6 MB",
  prepare: async (site) => {
    const writer = await site.logIn("attacker0");
    await storeLarge(writer, SECRETS);
    const readers = await Promise.all(
      Array.from({ length: LOGINS }, () => site.logIn("attacker0")),
    );
    const change = async (round: Round): Promise<void> => {
      await round.measured;
      while (!round.signal.aborted) {
        await writer
          .call("protect", { key_name: "large-0", key_value: "w" })
          .catch(() => undefined);
        await sleep(CHANGE_INTERVAL_MS, undefined, { signal: round.signal }).catch(() => undefined);
      }
    };
    return {
      run: async (round) => {
        const followers = Array.from({ length: CLIENTS }, (_, index) =>
          follow(site.url, readers[index % LOGINS]!, site.address(index), round),
        );
        await Promise.all([change(round), ...followers]);
      },
    };
  },
};
