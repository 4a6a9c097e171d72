import { sendRequest } from "../../../../test/lab/vault/vault-client.ts";
import type { AttackCase } from "../attack-case.ts";
import { prepared } from "../patient.ts";

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
