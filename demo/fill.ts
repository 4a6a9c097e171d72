import { text } from "node:stream/consumers";
import { loginSecret } from "./kubectl.ts";
import { account, parseReadyLine } from "./processes.ts";
import { fillVault, newValue, VaultAccount } from "./vault-account.ts";

/**
 * Fills a vault for the manual setup in README.md. Reads the line that `vaultsync vault serve --dev` printed from standard
 * input, stores what examples/demo refers to, and prints the credentials Secret for `kubectl create -f -`.
 */
const deleteTimeMinutes = 5;

const { url, password } = parseReadyLine(await text(process.stdin));
const vault = await VaultAccount.login(url, account, password);
await fillVault(vault);
await vault.protect("guest-pass", newValue(), { deleteTimeMinutes });
process.stderr.write(`stored shop-db, guest-pass (removed after ${deleteTimeMinutes} minutes), app.conf and logo.png\n`);
process.stdout.write(loginSecret(password));
