import { afterAll } from "vitest";
import { TestVault } from "../../lab/vault/test-vault.ts";
import { ann, bob, secretRoute } from "./ann-and-bob.ts";
import type { Dialog, Page } from "playwright-core";
import type { Visitor } from "./browser.ts";

/**
 * Starts the vault of a test file, with content for every page of Ann, and stops it after the
 * file's tests.
 */
export async function useFilledVault(): Promise<TestVault> {
  const vault = await TestVault.start({ trashDays: 30 });
  afterAll(() => vault[Symbol.asyncDispose]());
  await fillPages(vault);
  return vault;
}

async function fillPages(vault: TestVault): Promise<void> {
  const [anns, bobs] = [await vault.client(ann), await vault.client(bob)];
  const metadata = { description: "Orders and stock", team: "checkout", rotation: { days: 30 } };
  for (const key_value of ["one", "two"])
    await anns.call("protect", { key_name: "shop-db", key_value, metadata, delete_time: 50_000 });
  await anns.call("protect", {
    key_name: "a-rather-long-name-without-any-space-in-it-".repeat(4),
    key_value: "v",
    metadata: { expiration_time: 0 },
  });
  for (const key_name of ["prod/db", "prod/a-name-that-staging-lacks", "staging/db"])
    await anns.call("protect", { key_name, key_value: "v" });
  await anns.call("share", {
    key_name: "shop-db",
    permission: "R",
    usr_id_from: ann,
    usr_id_to: bob,
  });
  await bobs.call("protect", { key_name: "mail", key_value: "v" });
  await bobs.call("share", {
    key_name: "mail",
    permission: "RW",
    usr_id_from: bob,
    usr_id_to: ann,
  });
  await bobs.call("protect", { key_name: "box", key_value: "v" });
  await bobs.call("share", { key_name: "box", permission: "W", usr_id_from: bob, usr_id_to: ann });
  const longEmail = "user.with.a.long.address@department.example.com";
  await anns.call("team_create", { group_id: "checkout", members: [bob, longEmail] });
  for (const recipient of [{ usr_id_to: longEmail }, { group_id_to: "checkout" }])
    await anns.call("share", {
      key_name: "shop-db",
      permission: "RW",
      usr_id_from: ann,
      ...recipient,
    });
  for (const content of ["a", "b"])
    await anns.upload([{ filename: "app.conf", bytes: Buffer.from(content) }]);
  await anns.call("protect", { key_name: "old/shop-db", key_value: "v" });
  await anns.call("delete", { key_name: "old/shop-db" });
  await anns.upload([{ filename: "former.conf", bytes: Buffer.from("a") }]);
  await anns.call("delete_file", { filename: "former.conf" });
}

interface PageUnderTest {
  readonly route: string;
  /** Text that appears once the page is loaded. */
  readonly shows: string;
  readonly requiresLogin: boolean;
}

const accountPages: readonly PageUnderTest[] = [
  { route: "/login", shows: "Forgot your password?", requiresLogin: false },
  { route: "/sign-up", shows: "Request the link", requiresLogin: false },
  { route: "/forgot-password", shows: "Request the link", requiresLogin: false },
  { route: "/set-password?token=none", shows: "Request another email", requiresLogin: false },
];

const signedInPages: readonly PageUnderTest[] = [
  { route: "/secrets", shows: "shop-db", requiresLogin: true },
  { route: "/secrets?compared=yes", shows: "1 of them missing", requiresLogin: true },
  { route: "/new-secret", shows: "Custom metadata and automatic deletion", requiresLogin: true },
  { route: secretRoute(ann, "shop-db"), shows: "Some members not active", requiresLogin: true },
  { route: secretRoute(bob, "mail"), shows: "Remove from my list", requiresLogin: true },
  { route: secretRoute(bob, "nothing"), shows: "not shared with you", requiresLogin: true },
  { route: secretRoute(bob, "box"), shows: "Write-only access", requiresLogin: true },
  { route: "/files", shows: "2 versions", requiresLogin: true },
  { route: "/teams", shows: "Add members", requiresLogin: true },
  { route: "/api-token", shows: "Usage", requiresLogin: true },
  { route: "/connect", shows: "Create a token for the cluster", requiresLogin: true },
  { route: "/trash", shows: "old/shop-db", requiresLogin: true },
  { route: "/account", shows: "Blocked senders", requiresLogin: true },
  { route: "/nowhere", shows: "This page does not exist", requiresLogin: true },
];

export const allPages: readonly PageUnderTest[] = [...accountPages, ...signedInPages];

/** A dialog or a form that a page opens. */
interface StateUnderTest {
  readonly name: string;
  readonly route: string;
  readonly open: (page: Page) => Promise<void>;
}

/** Buttons that open a dialog or a form, by page. */
const openers: readonly (readonly [route: string, buttons: readonly string[]])[] = [
  [
    secretRoute(ann, "shop-db"),
    [
      "Edit value",
      "New version",
      "Use in Kubernetes",
      "Rename",
      "Delete version 1",
      "Compare version 2",
      "Make current: version 1",
      "Edit metadata",
      "Change permission of checkout",
      "Stop sharing with checkout",
      "Stop sharing with everyone",
      "Change the date",
      "Delete secret",
    ],
  ],
  [secretRoute(bob, "mail"), ["Remove from my list", "Block sender"]],
  ["/new-secret", ["Generate", "Custom metadata and automatic deletion"]],
  ["/files", ["Delete app.conf with all versions"]],
  ["/teams", ["New team", "Delete team checkout"]],
  ["/trash", ["Empty trash", "Delete old/shop-db permanently"]],
  ["/api-token", ["Limit what it can access", "Limit where and how long it can be used"]],
];

async function press(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name, exact: true }).click();
}

async function typeRecipients(page: Page): Promise<void> {
  await page.getByLabel("User or team", { exact: true }).focus();
  await page.keyboard.type(`${bob},a.stranger.with.a.long.address@department.example.com,`);
  await page.getByText("No account?", { exact: true }).first().waitFor();
}

async function selectAnd(page: Page, button: string): Promise<void> {
  await page.getByLabel("Select shop-db").check();
  await press(page, button);
  await page.getByRole("dialog").waitFor();
}

async function previewImport(page: Page): Promise<void> {
  await press(page, "Import a .env file");
  const text = "shop-db=two\nmail=v\nA=1\nA=2\nprod/db\na-rather-long-name-of-a-variable=x";
  await page.getByLabel("Content of the .env file").fill(text);
  await press(page, "Compare");
  await page.getByText("Equal to version 2").waitFor();
}

/** Every dialog and form of Ann's pages. */
export const allStates: readonly StateUnderTest[] = [
  ...openers.flatMap(([route, buttons]) =>
    buttons.map((name) => ({ name, route, open: (page: Page) => press(page, name) })),
  ),
  { name: "recipients", route: secretRoute(ann, "shop-db"), open: typeRecipients },
  { name: "share", route: "/secrets", open: (page) => selectAnd(page, "Share") },
  { name: "delete", route: "/secrets", open: (page) => selectAnd(page, "Delete") },
  { name: "manifest", route: "/secrets", open: (page) => selectAnd(page, "Use in Kubernetes") },
  { name: "import", route: "/new-secret", open: previewImport },
  { name: "keys", route: "/teams", open: (page) => page.keyboard.press("?") },
  { name: "find", route: "/teams", open: (page) => page.keyboard.press("Control+K") },
];

const accept = (dialog: Dialog): void => void dialog.accept();

/** Brings a page into a state, whatever it shows before. */
export async function openState({ page, go }: Visitor, state: StateUnderTest): Promise<void> {
  page.on("dialog", accept);
  await page.goto("about:blank");
  page.off("dialog", accept);
  await go(state.route);
  const { shows = "" } = allPages.find(({ route }) => route === state.route) ?? {};
  await page.getByText(shows).first().waitFor();
  await state.open(page);
  // Code that is loaded when it is needed.
  await page.waitForLoadState("networkidle");
}

/** Adds a version on the page of a secret with one version and waits until it is shown. */
export async function addSecondVersion(page: Page, value: string): Promise<void> {
  await page.getByRole("button", { name: "New version" }).click();
  await page.getByLabel("New value").fill(value);
  await page.getByRole("button", { name: "Add version" }).click();
  await page.getByRole("heading", { name: "Version 2" }).waitFor();
}
