import { readFile } from "node:fs/promises";
import { Command, InvalidArgumentError, Option } from "commander";
import { isLoopback } from "../../../lib/loopback.ts";
import { formatScope } from "../../../protocol/format-scope.ts";
import { parseScope } from "../../../protocol/parse-scope.ts";
import { tokenList } from "../../../protocol/operations/token-list.ts";
import { tokenRevoke } from "../../../protocol/operations/token-revoke.ts";
import { unlimitedScope } from "../../../protocol/scope.ts";
import { readPassword } from "../read-password.ts";
import { AccountClient, logIn } from "../../../protocol/client/account-client.ts";
import { AccountFile } from "../../../protocol/client/account-file.ts";
import { type AccountFlags, addAccountOption } from "../../../command-line/account-option.ts";

interface LoginFlags extends AccountFlags {
  readonly url: string;
  readonly email: string;
  readonly caFile?: string;
  readonly passwordFile?: string;
  readonly scope: string;
  readonly hours: number;
}

/** Checks the base address. A password is sent over plain HTTP to this machine only. */
function vaultUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !["https:", "http:"].includes(url.protocol))
    throw new InvalidArgumentError("expected https://HOST.");
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new InvalidArgumentError("expected a URL without credentials, query and fragment.");
  if (url.protocol === "http:" && !isLoopback(url.hostname.replace(/^\[|\]$/gu, "")))
    throw new InvalidArgumentError("http sends the password readable by others: use https.");
  return url.href.replace(/\/+$/u, "");
}

function scopeText(text: string): string {
  try {
    return formatScope(parseScope(text));
  } catch (error) {
    throw new InvalidArgumentError(
      error instanceof Error ? `${error.message}.` : "malformed scope.",
    );
  }
}

function wholeHours(text: string): number {
  const hours = Number(text);
  if (!Number.isSafeInteger(hours) || hours < 1)
    throw new InvalidArgumentError("expected a number of hours, at least 1.");
  return hours;
}

/** Returns the definition of `vaultsync login`. */
export function loginCommand(): Command {
  return addAccountOption(new Command("login"))
    .description(
      "Log in to a vault. The secret and file commands use the login, and refresh its token themselves.",
    )
    .requiredOption("--url <url>", "base address of the vault", vaultUrl)
    .requiredOption("--email <email>", "email of the account")
    .option(
      "--password-file <file>",
      "file with the password in its first line (default: standard input)",
    )
    .option("--ca-file <file>", "PEM bundle trusted instead of the public authorities")
    .addOption(
      new Option(
        "--scope <scope>",
        "limits the token to secrets with these attributes, as in the vault's API",
      )
        .default(formatScope(unlimitedScope), "every secret")
        .argParser(scopeText),
    )
    .option("--hours <hours>", "lifetime of each access token", wholeHours, 24)
    .action(async ({ url, email, caFile, passwordFile, scope, hours, account }: LoginFlags) => {
      const ca = caFile === undefined ? undefined : await readFile(caFile, "utf8");
      const password = await readPassword(passwordFile);
      const file = new AccountFile(account);
      await file.write(
        await logIn({ url, ...(ca !== undefined && { ca }) }, { email, password, scope, hours }),
      );
      process.stderr.write(`logged in to ${url} as ${email}; the login is in ${file.path}\n`);
    });
}

/** Ends the tokens of a login in the vault. A token of limited scope may not. */
async function revoke(file: AccountFile): Promise<void> {
  const client = await AccountClient.open(file);
  const { tokens } = await client.call(tokenList, {});
  const id = tokens.filter(({ current }) => current).map((token) => token.id);
  await client.call(tokenRevoke, { id });
}

/** Returns the definition of `vaultsync logout`. */
export function logoutCommand(): Command {
  return addAccountOption(new Command("logout"))
    .description(
      "End the tokens of the login in the vault, and remove the login from this machine.",
    )
    .action(async ({ account }: AccountFlags) => {
      const file = new AccountFile(account);
      const failure = await revoke(file).catch((error: unknown) => error);
      await file.remove();
      if (failure === undefined) process.stderr.write("logged out\n");
      else {
        const why = failure instanceof Error ? failure.message : "failed";
        process.stderr.write(
          `removed the login from this machine; its tokens stay valid until they expire: ${why}\n`,
        );
      }
    });
}
