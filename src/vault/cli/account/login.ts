import { readFile } from "node:fs/promises";
import type { AccountFlags } from "../../../command-line/options.ts";
import { VaultClient, logIn } from "../../../protocol/client/vault-client.ts";
import { AccountFile } from "../../../protocol/client/account-file.ts";
import { tokenList, tokenRevoke } from "../../../protocol/operations/tokens.ts";
import { readPassword } from "../terminal.ts";
import { messageOf } from "../../../lib/errors.ts";

/** Flags of `vaultsync login`. */
export interface LoginFlags extends AccountFlags {
  readonly url: string;
  readonly email: string;
  readonly caFile?: string;
  readonly passwordFile?: string;
  readonly scope: string;
  readonly hours: number;
  readonly allowedNetworks?: readonly string[];
  readonly lifetimeHours?: number;
}

/** Logs in, and stores the login. */
export async function login({
  url,
  email,
  caFile,
  passwordFile,
  account,
  ...limits
}: LoginFlags): Promise<void> {
  const ca = caFile === undefined ? undefined : await readFile(caFile, "utf8");
  const password = await readPassword(passwordFile);
  const file = new AccountFile(account);
  await file.write(
    await logIn({ url, ...(ca !== undefined && { ca }) }, { email, password, ...limits }),
  );
  process.stderr.write(`logged in to ${url} as ${email}; the login is in ${file.path}\n`);
}

/** Ends the tokens of a login in the vault. A token of limited scope may not. */
async function revoke(path: string): Promise<void> {
  const client = await VaultClient.open(path);
  const { tokens } = await client.call(tokenList, {});
  const id = tokens.filter(({ current }) => current).map((token) => token.id);
  await client.call(tokenRevoke, { id });
}

/** Ends the tokens of a login, and removes it even if the vault does not respond. */
export async function logout({ account }: AccountFlags): Promise<void> {
  const failure = await revoke(account).catch((error: unknown) => error);
  await new AccountFile(account).remove();
  if (failure === undefined) process.stderr.write("logged out\n");
  else {
    const why = messageOf(failure);
    process.stderr.write(
      `removed the login from this machine; its tokens stay valid until they expire: ${why}\n`,
    );
  }
}
