import { operationPath } from "../../../../src/protocol/operation-paths.ts";
import type { AttackCase } from "../attack-case.ts";
import type { Shot } from "../attacks.ts";
import { shotLoop } from "../shot-loop.ts";

const LOOPS = 64;
const LOGINS = 4;
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
      Array.from({ length: LOGINS }, () => site.logIn("attacker0")),
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
          shotLoop(site.url, [shots[loop % LOGINS]!], site.address(loop), round),
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
