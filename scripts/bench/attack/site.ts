import { VaultClient } from "../../../test/lab/vault/vault-client.ts";
import { accountEmail, type Site } from "./attack-case.ts";
import { prepared } from "./patient.ts";

/** First loopback address of a case. Ordinary clients have lower addresses. */
const FIRST_ADDRESS = 100;

/** Returns the server as the case of an index sees it. Passwords are the emails. */
export function logInAs(url: string, caseName: string, index: number): Site {
  return {
    url,
    logIn: async (account) => {
      // The requests of a probe do not wait for each other.
      const client = new VaultClient(url, accountEmail(caseName, account), {
        keepAlive: account !== "owner",
      });
      await prepared(() => client.logIn(client.email));
      return client;
    },
    address: (number) => `127.0.${index}.${FIRST_ADDRESS + number}`,
  };
}
