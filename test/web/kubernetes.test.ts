import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { connectionSpec } from "../../src/operator/api/vault-connection.ts";
import { vaultFileSpec } from "../../src/operator/api/vault-file.ts";
import { vaultSecretSpec } from "../../src/operator/api/vault-secret.ts";
import { VaultClient } from "../lab/vault/vault-client.ts";
import { accessibilityViolations } from "./support/accessibility.ts";
import { AnnAndBob, ann, bob, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

const permissions = ["clipboard-read", "clipboard-write"];

/** Returns the manifest that the dialog shows. */
async function manifestIn(page: Page) {
  return parse((await page.getByLabel("Manifest").textContent()) ?? "");
}

const clipboard = (page: Page): Promise<string> =>
  page.evaluate(() => navigator.clipboard.readText());

describe("manifest for Kubernetes", () => {
  test("of a secret has chosen properties and the chosen version, and never the value", async () => {
    const value = JSON.stringify({ user: "u", password: "hidden-part", pool: { size: 3 } });
    await users.ann.call("protect", { key_name: "prod/shop-db", key_value: value });
    const { page, go } = await browser.visit(users.vault, { as: ann, permissions });
    await go(secretRoute(ann, "prod/shop-db"));
    await page.getByRole("button", { name: "Use in Kubernetes" }).click();
    const dialog = page.getByRole("dialog", { name: "Use it in Kubernetes" });
    await dialog.getByLabel("Namespace").fill("shop");
    await dialog.getByLabel("Connection").fill("eu");
    await dialog.getByLabel("Version").selectOption("Stays at version 1");
    await dialog.getByRole("button", { name: "Choose properties" }).click();
    await dialog.getByLabel("/password").check();
    await dialog.getByLabel("/pool/size").check();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await page.content()).not.toContain("hidden-part");
    const remoteRef = { key: "prod/shop-db", owner: ann, version: 1 };
    const manifest = await manifestIn(page);
    expect(manifest).toEqual({
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "VaultSecret",
      metadata: { name: "shop-db", namespace: "shop" },
      spec: {
        connectionRef: { name: "eu" },
        data: [
          { secretKey: "password", remoteRef: { ...remoteRef, property: "/password" } },
          { secretKey: "size", remoteRef: { ...remoteRef, property: "/pool/size" } },
        ],
      },
    });
    expect(vaultSecretSpec.safeParse(manifest.spec).success).toBe(true);
    await dialog.getByRole("button", { name: "Copy manifest" }).click();
    await expect.poll(async () => parse(await clipboard(page))).toEqual(manifest);
    await dialog.getByLabel("Namespace").fill("Not A Name");
    await dialog.getByText("Lower-case letters, digits, - and .").waitFor();
  });

  test("of a received secret that the user may only read names its owner", async () => {
    await users.bob.call("protect", { key_name: "mail", key_value: "v" });
    const share = { key_name: "mail", permission: "R", usr_id_from: bob, usr_id_to: ann };
    await users.bob.call("share", share);
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(bob, "mail"));
    await page.getByRole("button", { name: "Use in Kubernetes" }).click();
    await page.getByLabel("Manifest").waitFor();
    const { data } = (await manifestIn(page)).spec;
    expect(data).toEqual([{ secretKey: "mail", remoteRef: { key: "mail", owner: bob } }]);
  });

  test("of a selection has each secret once", async () => {
    for (const key_name of ["a/password", "b/password"])
      await users.ann.call("protect", { key_name, key_value: "v" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    await page.getByLabel("Select all on this page").check();
    await page.getByRole("button", { name: "Use in Kubernetes" }).click();
    await page.getByRole("dialog", { name: "Use 2 secrets in Kubernetes" }).waitFor();
    const { data } = vaultSecretSpec.parse((await manifestIn(page)).spec);
    expect(data?.map(({ secretKey, remoteRef: { key } }) => [secretKey, key])).toEqual([
      ["password", "a/password"],
      ["password-2", "b/password"],
    ]);
  });

  test("of a file has the chosen target", async () => {
    await users.ann.upload([{ filename: "app config.txt", bytes: Buffer.from("a") }]);
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/files");
    await page.getByRole("button", { name: "app config.txt", exact: true }).click();
    await page.getByRole("button", { name: "Use in Kubernetes: app config.txt" }).click();
    await page.getByLabel("Target").selectOption("Into a ConfigMap");
    const { spec } = await manifestIn(page);
    expect(vaultFileSpec.parse(spec)).toEqual({
      connectionRef: { name: "vault" },
      files: [{ filename: "app config.txt", key: "app_config.txt" }],
      target: { kind: "ConfigMap" },
    });
  });
});

test("a cluster is connected with five clicks, and no command contains a token", async () => {
  for (const environment_type of ["prod", "dev"])
    await users.ann.call("protect", {
      key_name: `${environment_type}/db`,
      key_value: "v",
      metadata: { environment_type },
    });
  const { page, go } = await browser.visit(users.vault, { as: ann, permissions });
  await go("/secrets");
  await page.getByLabel("Select prod/db").waitFor();
  await page.getByRole("link", { name: "API tokens" }).click();
  await page.getByRole("link", { name: "Connect a cluster" }).click();
  await page.getByLabel("Namespace").fill("shop");
  await page.getByLabel("What the cluster reads").selectOption("Only the environment prod");
  await page.getByText("This token reads 1 of 2 secrets").waitFor();
  await page
    .getByLabel("Confirm your password", { exact: true })
    .fill(users.vault.passwords.get(ann) ?? "");
  const url = page.getByLabel("URL of the vault");
  expect(await url.inputValue()).toBe(users.vault.url);
  await url.fill("https://vault.shop.svc/v1");
  await page.keyboard.press("Enter");
  await page.getByText("A URL without /v1").waitFor();
  await url.fill("https://vault.shop.svc");
  await page.getByRole("button", { name: "Create the token" }).click();
  await page.getByRole("button", { name: "Copy commands" }).waitFor();
  expect(await page.locator("h1:focus").count()).toBe(1);
  expect(await accessibilityViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Copy commands" }).click();
  await expect.poll(() => clipboard(page)).toContain("kubectl create secret generic");
  const commands = await clipboard(page);
  await page.getByRole("button", { name: "Copy credentials" }).click();
  await expect.poll(() => clipboard(page)).toContain("access_token=");
  const pair = new Map(
    (await clipboard(page))
      .trim()
      .split("\n")
      .map((line): [string, string] => {
        const at = line.indexOf("=");
        return [line.slice(0, at), line.slice(at + 1)];
      }),
  );
  const token = pair.get("access_token") ?? "";
  expect([...pair.keys()]).toEqual(["access_token", "refresh_token"]);
  for (const value of pair.values()) {
    expect(commands).not.toContain(value);
    expect(await page.content()).not.toContain(value);
  }
  const [, manifest = ""] = /<<'EOF'\n([^]+)EOF\n$/u.exec(commands) ?? [];
  expect(connectionSpec.parse(parse(manifest).spec)).toEqual({
    url: "https://vault.shop.svc",
    email: ann,
    auth: { tokenSecretRef: { name: "vault-credentials" } },
  });
  const program = new VaultClient(users.vault.url, ann, { token });
  expect((await program.call("list_no_dup")).json().secrets).toMatchObject([
    { key_name: "prod/db" },
  ]);
});
