import { stat, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { VaultsyncProcess, type ProcessResult } from "../lab/real/processes/vaultsync-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { useVault } from "../lab/vault/use-vault.ts";

const { vault, ann } = await useVault();
const directory = new TestDirectory();

/** Runs a command as Ann, through another one. */
async function run(
  args: readonly string[],
  through: readonly string[] = [],
): Promise<ProcessResult> {
  const env = {
    VAULTSYNC_ACCOUNT: directory.join("account.json"),
    NODE_DISABLE_COMPILE_CACHE: "1",
  };
  await using command = new VaultsyncProcess(args, { env, through });
  return await command.result;
}

test.each([[[]], [["--force"]]])(
  "a new file that cannot be written is not left: %j",
  async (force) => {
    // Given a file of 1 KiB in the vault.
    const [password, path] = [directory.join("password"), directory.join("kibibyte")];
    await writeFile(password, `${vault.passwords.get(ann.email)}\n`);
    await run(["login", "--url", vault.url, "--email", ann.email, "--password-file", password]);
    await writeFile(path, Buffer.alloc(1_024));
    expect(await run(["file", "put", path])).toMatchObject({ code: 0 });
    // When it is downloaded where files have at most 512 bytes.
    const to = directory.join("new");
    const through = ["sh", "-c", 'exec prlimit --fsize=512 "$@"', "sh"];
    const result = await run(["file", "get", "kibibyte", "--to", to, ...force], through);
    // Then no part of it is left.
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining("EFBIG") });
    await expect(stat(to)).rejects.toThrow("ENOENT");
  },
);
