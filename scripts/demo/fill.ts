import { text } from "node:stream/consumers";
import { loginSecret } from "./login-secret.ts";
import { VaultAccount } from "./vault-account.ts";
import { fillVault, newValue } from "./vault-content.ts";
import { account, parseReadyLine } from "./vault-program.ts";

/**
 * For a demo by hand (README, "By hand"): standard input is the line that `vaultsync vault serve --dev` printed; this fills that vault with
 * what examples/demo refers to, and prints the Secret that logs in to it, for `kubectl create -f -`.
 */
const deleteTimeMinutes = 5;

const { url, password } = parseReadyLine(await text(process.stdin));
const vault = await VaultAccount.logIn(url, account, password);
await fillVault(vault);
await vault.protect("guest-pass", newValue(), { deleteTimeMinutes });
process.stderr.write(`The vault holds shop-db, guest-pass (for ${deleteTimeMinutes} minutes), app.conf and logo.png.\n`);
process.stdout.write(loginSecret(password));
