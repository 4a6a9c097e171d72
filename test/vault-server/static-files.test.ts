import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import zlib, { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { sendRequest } from "../lab/vault/vault-client.ts";

const script = `console.log(${JSON.stringify("compressible ".repeat(200))});`;
const files = {
  "index.html": "<!doctype html><title>Vaultsync</title>",
  "assets/main-Abc123.js": script,
  "assets/main-Abc123.css": "body { color: CanvasText }",
  "assets/icon-Abc123.svg": '<svg xmlns="http://www.w3.org/2000/svg"/>',
  "notes.txt": "next to the application",
};

describe("the web application's files", () => {
  let directory: string;
  let vault: TestVault;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "vaultsync-test-"));
    await mkdir(join(directory, "assets"));
    for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
    vault = await TestVault.start({ webDirectory: pathToFileURL(`${directory}/`) });
  });
  afterAll(async () => {
    await vault[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  const get = (path: string, headers = {}, method = "GET") =>
    sendRequest(vault.url + path, { method, headers });

  test.each([
    ["/", "text/html; charset=utf-8", "index.html"],
    ["/assets/main-Abc123.js", "text/javascript; charset=utf-8", "assets/main-Abc123.js"],
    ["/assets/main-Abc123.css", "text/css; charset=utf-8", "assets/main-Abc123.css"],
    ["/assets/icon-Abc123.svg", "image/svg+xml", "assets/icon-Abc123.svg"],
  ] as const)("%s is served as %s, to GET and HEAD", async (path, type, name) => {
    const response = await get(path);
    expect(response.status).toBe(200);
    expect(response.headers["content-type"]).toEqual(type);
    expect(response.bytes.toString()).toEqual(files[name]);
    expect(response.headers["x-content-type-options"]).toBe("nosniff");
    const head = await get(path, {}, "HEAD");
    expect(head.status).toBe(200);
    expect(head.headers["content-type"]).toEqual(type);
    expect(head.headers.etag).toEqual(response.headers.etag);
    expect(head.bytes.length).toBe(0);
  });

  test("assets are cached as immutable, the page is revalidated", async () => {
    expect((await get("/assets/main-Abc123.js")).headers["cache-control"]).toBe(
      "public, max-age=31536000, immutable",
    );
    expect((await get("/")).headers["cache-control"]).toBe("no-cache");
  });

  test.each(["/", "/assets/main-Abc123.js"])("%s returns 304 for a known etag", async (path) => {
    const { etag = "" } = (await get(path)).headers;
    const again = await get(path, { "if-none-match": etag });
    expect(again.status).toBe(304);
    expect(again.bytes.length).toBe(0);
    expect(again.headers.etag).toEqual(etag);
    expect((await get(path, { "if-none-match": '"other"' })).status).toBe(200);
  });

  test("files are compressed on request", async () => {
    const response = await get("/assets/main-Abc123.js", { "accept-encoding": "br" });
    expect(response.headers["content-encoding"]).toBe("br");
    expect(response.headers.vary).toBe("accept-encoding");
    expect(brotliDecompressSync(response.bytes).toString()).toBe(script);
    const gzip = await get("/assets/main-Abc123.js", { "accept-encoding": "br;q=0, GZIP;q=0.5" });
    expect(gzip.headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(gzip.bytes).toString()).toEqual(script);
    for (const headers of [{}, { "accept-encoding": "deflate, br;q=0.000" }]) {
      const plain = await get("/assets/main-Abc123.js", headers);
      expect(plain.headers["content-encoding"]).toBeUndefined();
      expect(plain.bytes.toString()).toEqual(script);
    }
    expect(
      (await get("/assets/main-Abc123.css", { "accept-encoding": "br" })).headers[
        "content-encoding"
      ],
    ).toBeUndefined();
  });

  test("files are compressed at the start, not for each request", async () => {
    const compress = vi.spyOn(zlib, "createBrotliCompress");
    try {
      for (const path of ["/", "/assets/main-Abc123.js", "/v1/openapi.json"]) {
        expect((await get(path, { "accept-encoding": "br" })).status, path).toBe(200);
      }
      expect(compress).not.toHaveBeenCalled();
    } finally {
      compress.mockRestore();
    }
  });

  test("serves the built files only", async () => {
    for (const path of [
      "/notes.txt",
      "/index.html",
      "/assets/",
      "/assets/../notes.txt",
      "/assets/%2e%2e/notes.txt",
      "/assets/..%2fnotes.txt",
      "/assets/constructor",
    ]) {
      expect((await get(path)).outcome(), path).toBe("404 not_found");
    }
  });

  test.each(["/", "/assets/main-Abc123.js", "/healthz"])(
    "%s accepts GET and HEAD only",
    async (path) => {
      for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
        const response = await get(path, {}, method);
        expect(response.outcome(), method).toBe("405 method_not_allowed");
        expect(response.headers.allow, method).toBe("GET, HEAD");
      }
    },
  );

  test("the page may load the application only and cannot be framed", async () => {
    const { headers } = await get("/");
    expect(headers).toMatchObject({
      "content-security-policy":
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
      "referrer-policy": "no-referrer",
      "x-frame-options": "DENY",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "permissions-policy": expect.stringContaining("camera=()"),
    });
    expect(headers["strict-transport-security"]).toBeUndefined();
  });

  test("sends Strict-Transport-Security with an https URL", async () => {
    await using secure = await TestVault.start({
      appUrl: "https://vault.example.com",
      webDirectory: pathToFileURL(`${directory}/`),
    });
    const { headers } = await sendRequest(`${secure.url}/`, { method: "GET" });
    expect(headers["strict-transport-security"]).toBe("max-age=31536000");
  });

  test("without the built files, / explains how to build them and the API works", async () => {
    await using bare = await TestVault.start({
      webDirectory: pathToFileURL(`${directory}/nowhere/`),
    });
    const response = await sendRequest(`${bare.url}/`, { method: "GET" });
    expect(response.status).toBe(503);
    expect(response.headers["content-type"]).toBe("text/plain; charset=utf-8");
    expect(response.bytes.toString()).toContain("npm run build -- web");
    expect((await bare.logIn("ann@example.com")).status).toBe(200);
  });
});

test("a network that requests many pages waits a second for each further one", async () => {
  const clock = new VirtualClock();
  const limits = { pagesPerSecond: 1, pageBurst: 3 };
  await using vault = await TestVault.start({ clock, limits });
  const page = () => sendRequest(`${vault.url}/v1/openapi.json`, { method: "GET" });
  for (let count = 0; count < 3; count += 1) expect((await page()).status).toBe(200);
  let status: number | undefined;
  const late = page().then((response) => (status = response.status));
  const account = await vault.client("ann@example.com");
  expect((await account.call("list_no_dup")).status).toBe(200);
  expect(status).toBeUndefined();
  await clock.advance(1_000);
  await late;
  expect(status).toBe(200);
});
