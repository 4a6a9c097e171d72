import { Command, Option } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { openStore } from "../../vault-server/store/open-store.ts";
import { addUser } from "../../vault-server/accounts/users.ts";
import { addAuditOptions } from "./audit-options.ts";
import { dataOption, refusePassword } from "./data-option.ts";
import { parseListenAddress } from "../listen-address.ts";
import { addMailOptions } from "./mail-options.ts";
import { masterKeysOption } from "./master-keys-option.ts";
import { readPassword } from "../read-password.ts";
import { auditCommand } from "./audit.ts";
import { backupCommand } from "./backup.ts";
import { keyCommand } from "./key.ts";
import { restoreCommand } from "./restore.ts";
import { rotateKeyCommand } from "./rotate-key.ts";
import { addWebAppOptions } from "./web-app-options.ts";
import { vaultServe, type VaultServeFlags } from "./serve.ts";

const SERVE_EXAMPLES = `
Examples:
  vaultsync vault serve --dev --dev-users a@example.com,b@example.com
  vaultsync vault key generate master.key
  vaultsync vault user add a@example.com --data vault.db
  vaultsync vault serve --data vault.db --master-key-file master.key
  vaultsync vault serve --data postgres://vault@db.example.com/vault?sslmode=verify-full --master-key-file master.key`;

function serveCommand(parent: Command): void {
  const serve = parent
    .command("serve")
    .description("Runs the reference vault server; prints one JSON line with its url when it is ready, logs to standard error.")
    .addOption(
      new Option("--listen <host:port>", "where to listen; port 0 takes a free one")
        .env("VAULTSYNC_VAULT_LISTEN")
        .argParser(parseListenAddress)
        .default({ host: "127.0.0.1", port: 8200 }, "127.0.0.1:8200"),
    )
    .addOption(dataOption())
    .addOption(masterKeysOption("32 bytes in base64 above all keys; several, one a line, while they are rotated"))
    .addOption(new Option("--dev", "a throw-away server: in memory, with a key of its own").env("VAULTSYNC_VAULT_DEV"))
    .addOption(
      new Option(
        "--dev-users <emails>",
        "accounts of the throw-away server, comma-separated; their passwords are in the JSON line",
      )
        .env("VAULTSYNC_VAULT_DEV_USERS")
        .argParser((text) => text.split(",").map((email) => email.trim())),
    )
    .addOption(
      new Option("--expired <policy>", "what happens to a value whose expiration_time is over")
        .choices(["serve", "deny"])
        .default("serve")
        .env("VAULTSYNC_VAULT_EXPIRED"),
    )
    .addOption(new Option("--tls-cert-file <file>", "certificate chain, PEM: serves https").env("VAULTSYNC_VAULT_TLS_CERT_FILE"))
    .addOption(new Option("--tls-key-file <file>", "its private key, PEM").env("VAULTSYNC_VAULT_TLS_KEY_FILE"))
    .addOption(
      new Option("--allow-http-listen", "serve plain http beyond this machine, behind something that terminates TLS").env(
        "VAULTSYNC_VAULT_ALLOW_HTTP_LISTEN",
      ),
    )
    .addOption(
      new Option("--log-level <level>", "least important lines to log")
        .choices(["debug", "info", "warn", "error"])
        .default("info")
        .env("VAULTSYNC_VAULT_LOG_LEVEL"),
    )
    .addHelpText("after", SERVE_EXAMPLES)
    .action((flags: VaultServeFlags, command: Command) => {
      refusePassword(command);
      return vaultServe(flags, command);
    });
  addMailOptions(serve);
  addWebAppOptions(serve);
  addAuditOptions(serve);
}

function userCommand(parent: Command): void {
  parent
    .command("user")
    .description("Accounts of a vault.")
    .command("add")
    .description("Adds an account. The password comes from a file or from standard input, never from the command line.")
    .argument("<email>", "the account's e-mail address")
    .addOption(dataOption().makeOptionMandatory())
    .option("--password-file <file>", "its first line is the password; without it, standard input is asked")
    .action(async (email: string, flags: { readonly data: string; readonly passwordFile?: string }, command: Command) => {
      refusePassword(command);
      process.umask(0o077);
      const password = await readPassword(flags.passwordFile);
      await using store = await openStore(flags.data);
      const user = await addUser(store, email, password, systemClock.now());
      process.stderr.write(`added ${user.email}\n`);
    });
}

/** `vaultsync vault …`. A wrong flag is thrown as CommanderError; whatever else an action throws is fatal. */
export function vaultCommand(): Command {
  // Set before the sub-commands are made: they inherit it.
  const vault = new Command("vault").description("The reference vault server.").exitOverride();
  serveCommand(vault);
  userCommand(vault);
  keyCommand(vault);
  auditCommand(vault);
  rotateKeyCommand(vault);
  backupCommand(vault);
  restoreCommand(vault);
  return vault;
}
