import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInProcess } from "../../lab/real/processes/run-in-process.ts";
import { ACCOUNT, type World } from "../../lab/real/world.ts";

/** A login of the command line in the vault of a world. Disposing it removes its files. */
export async function cliLogin({
  vault,
}: Pick<World, "vault">): Promise<AsyncDisposable & { readonly account: string }> {
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-login-"));
  const account = join(directory, "account.json");
  const passwordFile = join(directory, "password");
  await writeFile(passwordFile, vault.passwords.get(ACCOUNT) ?? "");
  const login = ["login", "--url", vault.url, "--email", ACCOUNT, "--account", account];
  await runInProcess([...login, "--password-file", passwordFile]);
  return {
    account,
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}
