import { afterAll, beforeAll, expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";
import { sendRequest } from "../lab/vault/vault-client.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();

let vault: TestVault;
beforeAll(async () => {
  vault = await TestVault.start();
});
afterAll(() => vault[Symbol.asyncDispose]());

test("the page has no inline script or style and loads nothing from other origins", async () => {
  const { page, go } = await browser.visit(vault);
  const hosts = new Set<string>();
  page.on("request", (request) => hosts.add(new URL(request.url()).origin));
  await go("/login");
  await page.getByLabel("Email address").waitFor();
  const html = (await sendRequest(`${vault.url}/`, { method: "GET" })).bytes.toString();
  expect(html).not.toMatch(/<style|<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=/iu);
  expect([...hosts]).toEqual([vault.url]);
});

test("an injected inline script does not run", async () => {
  const { page, go } = await browser.visit(vault);
  await go("/login");
  await page.getByLabel("Email address").waitFor();
  const thrown = await page.evaluate(() => {
    const takeOver = "document.title = 'taken over'";
    const attempts = [
      () => (document.createElement("script").textContent = takeOver),
      () => (document.body.innerHTML = "<b>taken over</b>"),
      () => {
        const script = document.createElement("script");
        script.append(takeOver);
        document.body.append(script);
      },
      () => {
        const image = document.createElement("img");
        image.setAttribute("onerror", takeOver);
        image.setAttribute("src", "/assets/none.png");
        document.body.append(image);
      },
    ];
    return attempts.map((attempt) => {
      try {
        attempt();
        return "";
      } catch (error) {
        return String(error);
      }
    });
  });
  expect(thrown.slice(0, 2)).toEqual([
    expect.stringContaining("TrustedScript"),
    expect.stringContaining("TrustedHTML"),
  ]);
  await expect
    .poll(() =>
      browser
        .takeFaults()
        .filter((fault) => /Content Security Policy|requires 'Trusted/u.test(fault)),
    )
    .not.toEqual([]);
  expect(await page.title()).toBe("Log in · Vaultsync");
  // All were blocked; the last may be reported slightly later.
  await page.waitForTimeout(50);
  browser.takeFaults();
});

test("the compressed application is smaller than 60 kB", async () => {
  const html = (await sendRequest(`${vault.url}/`, { method: "GET" })).bytes.toString();
  const assets = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/gu)].map(
    ([, path]) => path ?? "",
  );
  expect(assets).toHaveLength(3);
  const sizeAs = async (encoding: string): Promise<number> => {
    let size = 0;
    for (const path of assets) {
      const headers = { "accept-encoding": encoding };
      size += (await sendRequest(vault.url + path, { method: "GET", headers })).bytes.length;
    }
    return size;
  };
  const gzip = await sizeAs("gzip");
  expect(gzip).toBeLessThan(60_000);
  expect(await sizeAs("br")).toBeLessThan(gzip * 0.95);
});
