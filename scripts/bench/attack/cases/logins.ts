import { operationPath } from "../../../../src/protocol/operation-paths.ts";
import { scopeString } from "../../../../test/lab/vault/vault-client.ts";
import { accountEmail, type AttackCase } from "../attack-case.ts";
import type { Shot } from "../attacks.ts";
import { shotLoop } from "../shot-loop.ts";

const name = "logins";
const LOOPS = 20;
/** Address of the ordinary clients and of the owner, as behind a proxy that is not trusted. */
const SHARED_ADDRESS = "127.0.0.1";

/** Wrong passwords of strangers who have the same address as the owner of the account. */
export const logins: AttackCase = {
  name,
  title: "wrong passwords from the owner's address",
  prepare: async (site) => {
    let next = 0;
    const shot = (email: string): Shot => {
      next += 1;
      const body = {
        email,
        password: `wrong-password-${next}`,
        scope: scopeString(),
        expiration_hours: 1,
      };
      const headers = { "x-forwarded-for": `192.0.2.${next % 250}`, "user-agent": "stranger/1.0" };
      return { path: operationPath.generate_access_token, headers, body: JSON.stringify(body) };
    };
    const shots = [
      () => shot(accountEmail(name, "owner")),
      () => shot(`unknown${next}@example.com`),
    ];
    return {
      run: async (round) => {
        await Promise.all(
          Array.from({ length: LOOPS }, () => shotLoop(site.url, shots, SHARED_ADDRESS, round)),
        );
      },
    };
  },
  probe: {
    name: "the owner's login",
    intervalMs: 2_500,
    open: async (site) => {
      const { email } = await site.logIn("owner");
      const owner = await site.logIn("owner");
      const body = { email, password: email, scope: scopeString(), expiration_hours: 1 };
      const headers = { "user-agent": "owner/1.0", authorization: undefined };
      await owner.call("generate_access_token", body, headers);
      return async () => (await owner.call("generate_access_token", body, headers)).outcome();
    },
  },
};
