import { beforeEach, expect, test } from "vitest";
import { Redacted } from "../../src/lib/redacted.ts";
import { AccountFile } from "../../src/protocol/client/account-file.ts";
import { logIn, VaultClient } from "../../src/protocol/client/vault-client.ts";
import { protect } from "../../src/protocol/operations/secrets.ts";
import { formatScope, unlimitedScope } from "../../src/protocol/scope.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import type { TestVault } from "../lab/vault/test-vault.ts";
import { useVault } from "../lab/vault/use-vault.ts";

const [ann, bob] = ["ann@example.com", "bob@example.com"] as const;
const one = await useVault({});
const other = await useVault({});
const directory = new TestDirectory();
let file: AccountFile;
beforeEach(() => {
  file = new AccountFile(directory.join("account.json"));
});

/** Replaces the stored login. */
async function storeLogin({ url, passwords }: TestVault, email: string): Promise<void> {
  const password = new Redacted(passwords.get(email) ?? "");
  await file.write(
    await logIn({ url }, { email, password, scope: formatScope(unlimitedScope), hours: 1 }),
  );
}

test.each([
  ["another account", () => storeLogin(one.vault, bob)],
  ["another vault", () => storeLogin(other.vault, ann)],
])(
  "a value is not stored with a login to %s that replaced an ended one",
  async (_what, replace) => {
    await storeLogin(one.vault, ann);
    const client = await VaultClient.open(file.path);
    await runInProcess(["logout"], { VAULTSYNC_ACCOUNT: file.path });
    await replace();
    const body = { key_name: "of-one", key_value: "value of ann in one vault" };
    await expect(client.call(protect, body)).rejects.toThrow(
      "another login has replaced the stored one: run the command again",
    );
    await storeLogin(one.vault, ann);
    expect((await client.call(protect, body)).secret).toMatchObject({ owner: ann });
  },
);
