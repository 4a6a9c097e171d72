import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInProcess } from "./processes/run-in-process.ts";

interface Login {
  readonly url: string;
  readonly email: string;
  readonly password: string;
  /** PEM of the authority of the vault's certificate, if it is not a public one. */
  readonly ca?: string;
}

/**
 * A login of the command line in a vault: the file for `--account`. Disposing it removes its files.
 * @throws Error if the vault refuses it
 */
export async function cliLogin({
  url,
  email,
  password,
  ca,
}: Login): Promise<AsyncDisposable & { readonly account: string }> {
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-login-"));
  const [account, passwordFile, caFile] = ["account.json", "password", "ca.crt"].map((name) =>
    join(directory, name),
  ) as [string, string, string];
  await writeFile(passwordFile, password);
  const args = ["login", "--url", url, "--email", email, "--account", account];
  if (ca !== undefined) {
    await writeFile(caFile, ca);
    args.push("--ca-file", caFile);
  }
  const { code, stderr } = await runInProcess([...args, "--password-file", passwordFile]);
  if (code !== 0) throw new Error(`the login failed: ${stderr}`);
  return {
    account,
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}
