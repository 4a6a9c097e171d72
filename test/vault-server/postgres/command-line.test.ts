import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PostgresDatabase } from "../../lab/postgres/postgres-database.ts";
import { VaultClient } from "../../lab/vault/vault-client.ts";
import { StoreLocation } from "../../lab/vault/store-location.ts";
import { VaultServerProcess } from "../../lab/real/processes/vault-server-process.ts";
import { VaultsyncProcess } from "../../lab/real/processes/vaultsync-process.ts";

test("user add creates the tables of an empty database; the account can log in at a server", async () => {
  await using database = await PostgresDatabase.create({ empty: true });
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-test-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const [password, file] = [randomUUID(), join(directory, "password")];
  await writeFile(file, `${password}\n`);
  await using place = await StoreLocation.create("postgres", database.url);
  const add = () =>
    VaultsyncProcess.run(["vault", "user", "add", "Ann@example.com", "--password-file", file], {
      env: {
        VAULTSYNC_VAULT_DATA: database.url,
        VAULTSYNC_VAULT_MASTER_KEY_FILE: place.masterKeyFile,
      },
    });
  expect(await add()).toEqual({ code: 0, stdout: "", stderr: "added ann@example.com\n" });
  expect((await add()).stderr).toContain("already exists");
  await using server = await VaultServerProcess.start(place.args);
  using ann = new VaultClient(server.url, "ann@example.com");
  expect((await ann.logIn(password)).status).toBe(200);
});
