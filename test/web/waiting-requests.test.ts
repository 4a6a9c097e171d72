import { afterAll, beforeAll, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { ann, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const HOUR = 3_600_000;

let clock: VirtualClock;
let vault: TestVault;
beforeAll(async () => {
  clock = new VirtualClock();
  vault = await TestVault.start({ clock, emails: [ann] });
});
afterAll(() => vault[Symbol.asyncDispose]());

test("a date of deletion that waits for a login stays the date that was chosen", async () => {
  const client = await vault.client(ann, undefined, 1000);
  await client.call("protect", { key_name: "shop-db", key_value: "v" });
  const { page, go } = await browser.visit(vault, { as: ann, timezoneId: "UTC" });
  await page.clock.install({ time: clock.now() });
  await go(secretRoute(ann, "shop-db"));
  await page.getByRole("button", { name: "Set a date" }).click();
  await page.getByLabel("Delete at a date").check();
  const chosen = new Date(clock.now() + 72 * HOUR)
    .toISOString()
    .slice(0, "2026-11-21T12:00".length);
  await page.getByLabel("Date and time").fill(chosen);
  await page.context().clearCookies();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const login = page.getByRole("dialog", { name: "Your session has ended" });
  await login.getByLabel("Password", { exact: true }).fill(vault.passwords.get(ann) ?? "");
  clock.stepWall(48 * HOUR);
  await page.clock.fastForward(48 * HOUR);
  await login.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByText("Changed the date of the deletion.").waitFor();
  const { secrets } = (await client.call("list_no_dup")).json();
  expect(Math.abs(Date.parse(secrets[0].delete_at) - Date.parse(`${chosen}Z`))).toBeLessThan(
    60_001,
  );
});
