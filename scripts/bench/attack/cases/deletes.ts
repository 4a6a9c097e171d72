import { sendRequest } from "../../../../test/lab/vault/vault-client.ts";
import type { AttackCase } from "../attack-case.ts";
import { prepared } from "../patient.ts";
import { operationPath } from "../../../../src/protocol/operation-paths.ts";
import type { Shot } from "../attacks.ts";
import { shotLoop } from "../shot-loop.ts";

const MIB = 1024 * 1024;
const VERSIONS = 200;
const LOGINS = 4;

/** A deletion whose work is in proportion to what is deleted. */
export const largeDeletes: AttackCase = {
  name: "large-deletes",
  title: "delete of a secret with 200 MiB, once a round",
  prepare: async (site) => {
    const logins = await Promise.all(Array.from({ length: LOGINS }, () => site.logIn("attacker0")));
    const [first] = logins;
    const key_value = "x".repeat(MIB - 1);
    let round = 0;
    const write = async (login: number, key_name: string): Promise<void> => {
      for (let version = login; version < VERSIONS; version += LOGINS)
        await prepared(() => logins[login]!.call("protect", { key_name, key_value }));
    };
    return {
      arm: async () => {
        round += 1;
        // Created first: concurrent requests would conflict.
        await prepared(() =>
          first!.call("protect", { key_name: `large-${round}`, key_value: "v" }),
        );
        await Promise.all(logins.map((_, login) => write(login, `large-${round}`)));
      },
      run: async ({ measured, count }) => {
        await measured;
        count((await first!.call("delete", { key_name: `large-${round}` })).outcome());
      },
    };
  },
  probe: {
    name: "healthz",
    intervalMs: 50,
    open: async ({ url }) => {
      return async () => (await sendRequest(`${url}/healthz`, { method: "GET" })).outcome();
    },
  },
};

const LOOPS = 64;
const REFUSED_LOGINS = 4;
/** As many wide names as a body may have that counts as one request. */
const NAMES = 17;
/**
 * Bytes that the rate of one account permits: 200 requests with the KiB of the log that each
 * includes.
 */
const MAX_BYTES_PER_SECOND = 200 * 1024;

/** Requests that are rejected after the audit log has recorded their names. */
export const refusedDeletes: AttackCase = {
  name: "refused-deletes",
  title: "deletes of wide names that do not exist, for the audit log",
  prepare: async (site) => {
    const accounts = await Promise.all(
      Array.from({ length: REFUSED_LOGINS }, () => site.logIn("attacker0")),
    );
    let next = 0;
    const shots = accounts.map(({ email, token }) => (): Shot => {
      const key_name = Array.from({ length: NAMES }, () =>
        String((next += 1)).padStart(160, "\u{E000}"),
      );
      return {
        path: operationPath.delete,
        headers: { authorization: token },
        body: JSON.stringify({ email, key_name }),
      };
    });
    return {
      run: async (round) => {
        const loops = Array.from({ length: LOOPS }, (_, loop) =>
          shotLoop(site.url, [shots[loop % REFUSED_LOGINS]!], site.address(loop), round),
        );
        await Promise.all(loops);
      },
    };
  },
  misses: ({ logBytesPerSecond }) =>
    logBytesPerSecond <= MAX_BYTES_PER_SECOND
      ? []
      : [`the audit log grows by ${Math.round(logBytesPerSecond / 1024)} KiB/s`],
};
