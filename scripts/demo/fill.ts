import { text } from "node:stream/consumers";
import { Redacted } from "../../src/lib/redacted.ts";
import { readyLine } from "../../test/lab/real/processes/vault-server-process.ts";
import {
  account,
  fillVault,
  logInAsShop,
  loginSecret,
  newValue,
  protectValue,
} from "./vault-account.ts";

const deleteTimeMinutes = 5;

/**
 * Fills a vault for the manual setup in README.md. Reads the line that `vaultsync vault serve
 * --dev` printed from standard input, stores what examples/demo refers to, and prints the
 * credentials Secret for `kubectl create -f -`.
 */
export async function fillFromStandardInput(): Promise<void> {
  const { url, users } = readyLine.parse(JSON.parse(await text(process.stdin)));
  const user = users?.find(({ email }) => email === account);
  if (user === undefined)
    throw new Error(
      `the vault has no account ${account}: start it with --dev --dev-users ${account}`,
    );
  const password = new Redacted(user.password);
  const vault = await logInAsShop(url, password);
  await fillVault(vault);
  await protectValue(vault, "guest-pass", newValue(), deleteTimeMinutes);
  process.stderr.write(
    `stored shop-db, payments, guest-pass (removed after ${deleteTimeMinutes} minutes), app.conf and logo.png\n`,
  );
  process.stdout.write(loginSecret(password));
}
