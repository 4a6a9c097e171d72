import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { z } from "zod";
import { launchChromium } from "../test/lab/chromium.ts";
import type { TestVault } from "../test/lab/vault/test-vault.ts";
import { CSRF_HEADER } from "../src/protocol/headers.ts";
import { sessionOperationPath } from "../src/protocol/operation-paths.ts";
import { unlimitedScope, formatScope } from "../src/protocol/scope.ts";
import { buildWeb } from "./build-web.ts";
import { owner, startExampleVault } from "./pictures/example-vault.ts";

const directory = join(import.meta.dirname, "../docs/images");

interface Picture {
  readonly name: string;
  readonly route: string;
  readonly width: number;
  readonly height: number;
  readonly colorScheme?: "dark";
  /** Text that appears once the page is complete. */
  readonly shows: string;
  /** Brings the page into the state of the picture. */
  readonly prepare?: (page: Page) => Promise<void>;
}

const secret = `/secrets/${encodeURIComponent(owner)}/${encodeURIComponent("prod/checkout/database")}`;

const pictures: readonly Picture[] = [
  { name: "web-secrets", route: "/secrets", width: 1280, height: 860, shows: "1 to 15 of 15" },
  {
    name: "web-environments",
    route: "/secrets?compared=yes",
    width: 1280,
    height: 640,
    shows: "1 to 7 of 7",
  },
  {
    name: "web-secret",
    route: secret,
    width: 1280,
    height: 860,
    shows: "robin@example.com",
    colorScheme: "dark",
  },
  {
    name: "web-sharing",
    route: secret,
    width: 1280,
    height: 960,
    shows: "robin@example.com",
    prepare: async (page) => {
      const field = page.getByLabel("User or team", { exact: true });
      await field.focus();
      await page.keyboard.type("mika@example.com,mira@exmaple.com,");
    },
  },
  {
    name: "web-files",
    route: "/files",
    width: 1280,
    height: 700,
    shows: "geo-ip.mmdb",
    prepare: async (page) => page.getByRole("button", { name: "nginx.conf", exact: true }).click(),
  },
  { name: "web-trash", route: "/trash", width: 1280, height: 480, shows: "1 to 4 of 4" },
  { name: "web-teams", route: "/teams", width: 1280, height: 620, shows: "on call" },
  {
    name: "web-account",
    route: "/account",
    width: 1280,
    height: 860,
    shows: "Blocked senders",
    colorScheme: "dark",
  },
  {
    name: "web-api-token",
    route: "/api-token",
    width: 1280,
    height: 760,
    shows: "Confirm your password",
  },
  {
    name: "web-kubernetes",
    route: secret,
    width: 1280,
    height: 860,
    shows: "Use in Kubernetes",
    prepare: async (page) => {
      await page.getByRole("button", { name: "Use in Kubernetes" }).click();
      await page.getByLabel("Manifest").waitFor();
    },
  },
  {
    name: "web-connect",
    route: "/connect",
    width: 1280,
    height: 740,
    shows: "15 of 15 secrets",
    colorScheme: "dark",
    prepare: async (page) => {
      await page.getByLabel("URL of the vault").fill("https://vault.example.com");
      await page.getByLabel("What the cluster reads").selectOption("prod");
      await page.getByLabel("URL of the vault").blur();
    },
  },
  {
    name: "web-import",
    route: "/new-secret",
    width: 1280,
    height: 960,
    shows: "Create secret",
    prepare: async (page) => {
      await page.getByRole("button", { name: "Import a .env file" }).click();
      const lines = ["database=postgres://…", "stripe-api-key=an example", "paypal-api-key=…"];
      await page.getByLabel("Content of the .env file").fill(lines.join("\n"));
      await page.getByLabel("Prefix of the names").fill("prod/checkout/");
      await page.getByRole("button", { name: "Compare", exact: true }).click();
      await page.getByLabel("Update: differs from version 3").check();
    },
  },
  { name: "web-phone", route: "/secrets", width: 360, height: 720, shows: "15 secrets" },
  {
    name: "web-new-secret",
    route: "/new-secret",
    width: 1280,
    height: 860,
    shows: "Create secret",
    prepare: async (page) => page.getByLabel("Name").fill("prod/checkout/paypal-client-secret"),
  },
];

/** API tokens of the owner. */
const tokens = [
  {
    name: "deployment of the shop",
    scope: formatScope({ ...unlimitedScope, environment_type: new Set(["prod"]) }),
    expiration_hours: 24 * 90,
  },
  { name: "backup script", expiration_hours: 24 * 30 },
];

/** Logs the owner of the example in, and returns the browser profile of the pictures. */
async function logIn(browser: Browser, vault: TestVault): Promise<BrowserContext> {
  const context = await browser.newContext({ locale: "en-GB", reducedMotion: "reduce" });
  const data = { email: owner, password: vault.passwords.get(owner) };
  const response = await context.request.post(`${vault.url}/app/log_in`, { data });
  if (!response.ok()) throw new Error(`login failed: ${response.status()}`);
  const { session } = z
    .object({ session: z.object({ csrf_token: z.string() }) })
    .parse(await response.json());
  for (const token of tokens) {
    const headers = { [CSRF_HEADER]: session.csrf_token };
    const issued = await context.request.post(vault.url + sessionOperationPath.app_api_token, {
      headers,
      data: { password: data.password, ...token },
    });
    if (!issued.ok()) throw new Error(`no token: ${issued.status()}`);
  }
  return context;
}

async function take(context: BrowserContext, url: string, picture: Picture): Promise<void> {
  // A page for each: one with typed text asks before it is left.
  const page = await context.newPage();
  const { name, route, width, height, colorScheme = "light", shows, prepare } = picture;
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme });
  await page.goto(`${url}/#${route}`);
  await page.getByText(shows).first().waitFor();
  await prepare?.(page);
  await page.waitForLoadState("networkidle");
  await page.screenshot({ path: join(directory, `${name}.png`) });
  await page.close();
}

/** Renews the pictures of the web application in `docs/images`, from an example vault. */
async function renewPictures(): Promise<void> {
  await buildWeb();
  await using vault = await startExampleVault();
  const browser = await launchChromium();
  try {
    const context = await logIn(browser, vault);
    for (const picture of pictures) await take(context, vault.url, picture);
  } finally {
    await browser.close();
  }
}

await renewPictures();
