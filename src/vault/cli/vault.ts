import { Command, InvalidArgumentError, Option } from "commander";
import { addAuditOptions } from "./audit-options.ts";
import { dataOption, addMasterKeyOptions } from "./data-options.ts";
import { parseListenAddress } from "../../command-line/options.ts";
import { addAdministration } from "./commands.ts";
import { addIdentityCommands } from "./identity-commands.ts";
import { addIdentityOptions } from "./identity-options.ts";
import { addMailOptions } from "./mail-options.ts";
import { keepVersionsOption, quotasOption, trashDaysOption } from "./quota-option.ts";
import type { VaultServeFlags } from "./serve.ts";
import { addUserCommands } from "./user-commands.ts";
import { addWebAppOptions } from "./web-app-options.ts";

const SERVE_EXAMPLES = `
Examples:
  vaultsync vault serve --dev --dev-users a@example.com,b@example.com
  vaultsync vault key generate master.key
  vaultsync vault user add a@example.com --data vault.db \\
    --master-key-file master.key
  vaultsync vault serve --data vault.db --master-key-file master.key
  vaultsync vault serve --master-key-file master.key \\
    --data postgres://vault@db.example.com/vault?sslmode=verify-full`;

const LOW_SPACE_BYTES = 64 * 1024 * 1024;

function byteCount(text: string): number {
  if (/^[0-9]{1,15}$/u.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a number of bytes, or 0 to turn it off");
}

function lowSpaceOption(): Option {
  return new Option(
    "--low-space <bytes>",
    "free disk space below which requests that add data are rejected, and an 8 MiB reserve file is kept; 0 turns it off",
  )
    .env("VAULTSYNC_VAULT_LOW_SPACE")
    .argParser(byteCount)
    .default(LOW_SPACE_BYTES, "64 MiB");
}

function addPolicyOptions(command: Command): void {
  command
    .addOption(
      new Option("--expired <policy>", "policy for values whose expiration_time has passed")
        .choices(["serve", "deny"])
        .default("serve")
        .env("VAULTSYNC_VAULT_EXPIRED"),
    )
    .addOption(
      new Option(
        "--scope-attributes-by <who>",
        "users who may change the metadata that scopes match, and expiration_time",
      )
        .choices(["writer", "creator"])
        .default("writer")
        .env("VAULTSYNC_VAULT_SCOPE_ATTRIBUTES_BY"),
    )
    .addOption(
      new Option(
        "--seal-rights <confirmation>",
        "seal the accounts, tokens, teams and shares of an earlier release, which a refused start has named",
      ).env("VAULTSYNC_VAULT_SEAL_RIGHTS"),
    )
    .addOption(quotasOption())
    .addOption(keepVersionsOption())
    .addOption(trashDaysOption())
    .addOption(lowSpaceOption())
    .addOption(
      new Option("--max-token-hours <hours>", "maximum lifetime of an access token (default: none)")
        .env("VAULTSYNC_VAULT_MAX_TOKEN_HOURS")
        .argParser(parseHours),
    );
}

function serveCommand(parent: Command): void {
  const serve = parent
    .command("serve")
    .description(
      "Run the reference vault server. Prints a JSON line with its url when it is ready, and logs to standard error.",
    )
    .addOption(
      new Option("--listen <host:port>", "address to listen on; port 0 selects a free port")
        .env("VAULTSYNC_VAULT_LISTEN")
        .argParser(parseListenAddress)
        .default({ host: "127.0.0.1", port: 8200 }, "127.0.0.1:8200"),
    )
    .addOption(
      new Option(
        "--metrics-listen <host:port>",
        "address for metrics, which need no token; none disables it (with --dev: a free port)",
      )
        .env("VAULTSYNC_VAULT_METRICS_LISTEN")
        .argParser((text) => (text === "none" ? text : parseListenAddress(text)))
        .default({ host: "127.0.0.1", port: 9464 }, "127.0.0.1:9464"),
    )
    .addOption(dataOption());
  addMasterKeyOptions(
    serve,
    "file with the base64-encoded 32-byte master key; one key per line while rotating",
  )
    .addOption(
      new Option(
        "--allow-missing-keys",
        "start although a master key that records need is lost; they are unreadable",
      ).env("VAULTSYNC_VAULT_ALLOW_MISSING_KEYS"),
    )
    .addOption(
      new Option("--dev", "ephemeral server: in memory, with a generated master key").env(
        "VAULTSYNC_VAULT_DEV",
      ),
    )
    .addOption(
      new Option(
        "--dev-users <emails>",
        "users of the ephemeral server, comma-separated; the JSON line contains their passwords",
      )
        .env("VAULTSYNC_VAULT_DEV_USERS")
        .argParser((text) => text.split(",").map((email) => email.trim())),
    )
    .addOption(
      new Option(
        "--tls-cert-file <file>",
        "PEM file with the certificate chain; enables https",
      ).env("VAULTSYNC_VAULT_TLS_CERT_FILE"),
    )
    .addOption(
      new Option("--tls-key-file <file>", "PEM file with the private key").env(
        "VAULTSYNC_VAULT_TLS_KEY_FILE",
      ),
    )
    .addOption(
      new Option(
        "--allow-http-listen",
        "serve plain http on a non-loopback address, behind a proxy that terminates TLS",
      ).env("VAULTSYNC_VAULT_ALLOW_HTTP_LISTEN"),
    )
    .addOption(
      new Option("--log-level <level>", "minimum log level")
        .choices(["debug", "info", "warn", "error"])
        .default("info")
        .env("VAULTSYNC_VAULT_LOG_LEVEL"),
    )
    .addHelpText("after", SERVE_EXAMPLES)
    .action(async (flags: VaultServeFlags, command: Command) =>
      (await import("./serve.ts")).vaultServe(flags, command),
    );
  addPolicyOptions(serve);
  addMailOptions(serve);
  addWebAppOptions(serve);
  addAuditOptions(serve);
  addIdentityOptions(serve);
}

/** @throws InvalidArgumentError */
function parseHours(text: string): number {
  if (/^[1-9][0-9]{0,8}$/u.test(text)) return Number(text);
  throw new InvalidArgumentError("expected whole hours, at least 1");
}

/**
 * Returns the `vaultsync vault` command. A wrong flag throws a CommanderError; any other error of
 * an action is fatal.
 */
export function vaultCommand(): Command {
  // Set first, because the subcommands inherit it.
  const vault = new Command("vault")
    .description("Run and administer the reference vault server.")
    .exitOverride();
  serveCommand(vault);
  addUserCommands(vault);
  addIdentityCommands(vault);
  addAdministration(vault);
  return vault;
}
