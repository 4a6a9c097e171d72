import { randomBytes } from "node:crypto";
import { request as httpRequest } from "node:http";
import { describe, expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, sendRequest } from "../lab/vault/vault-client.ts";
import { nameSequence, sha256, download, listFilenames } from "../lab/vault/requests.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import { operationPath } from "../../src/protocol/operation-paths.ts";

const FILE_LIMIT = 700_000;

const freshName = nameSequence("file", ".bin");
const { vault, ann, bob } = await useVault({ limits: { fileBytes: FILE_LIMIT } });

const versionRecord = (number: number, content: string) => ({
  version: number,
  size: content.length,
  sha256: sha256(Buffer.from(content)),
  created_at: expect.stringMatching(/^\d{4}-.*Z$/u),
});

describe("list_file and download_file", () => {
  test("list_file has the latest version and all versions, in code point order", async () => {
    await using other = await TestVault.start();
    const caller = await other.client("ann@example.com");
    for (const [filename, content] of [
      ["b", "1"],
      ["a", "one"],
      ["B", ""],
      ["b", "two"],
    ] as const) {
      await caller.upload([{ filename, bytes: Buffer.from(content) }]);
    }
    const { files } = (await caller.call("list_file")).json();
    expect(files.map((file: { filename: string }) => file.filename)).toEqual(["B", "a", "b"]);
    expect(files[2]).toEqual({
      filename: "b",
      ...versionRecord(2, "two"),
      versions: [versionRecord(1, "1"), versionRecord(2, "two")],
    });
  });

  test("download_file responds 304 to a matching entity tag", async () => {
    const filename = freshName();
    await ann.upload([{ filename, bytes: Buffer.from("x") }]);
    const { etag = "" } = (await download(ann, filename)).headers;
    const again = await download(ann, filename, {}, { "if-none-match": etag });
    expect(again.status).toBe(304);
    expect(again.bytes.length).toBe(0);
    expect(again.headers.etag).toEqual(etag);
    expect(again.headers["x-file-version"]).toBe("1");
    await ann.upload([{ filename, bytes: Buffer.from("y") }]);
    expect((await download(ann, filename, {}, { "if-none-match": etag })).bytes.toString()).toBe(
      "y",
    );
  });

  test("unknown names and versions are not found; files are per user and ignore scopes", async () => {
    const filename = freshName();
    await ann.upload([{ filename, bytes: Buffer.from("x") }]);
    expect((await download(ann, "nowhere")).code()).toBe("file_not_found");
    expect((await download(bob, filename)).code()).toBe("file_not_found");
    expect((await download(ann, filename, { version: 2 })).code()).toBe("version_not_found");
    expect((await download(ann, filename, { version: "1" })).code()).toBe("invalid_request");
    expect(await listFilenames(bob)).not.toContain(filename);
    const narrowed = await vault.client(
      "ann@example.com",
      scopeString({ secret_name: ["nothing"] }),
    );
    expect((await download(narrowed, filename)).status).toBe(200);
  });

  test("a binary download is never compressed", async () => {
    const filename = freshName();
    await ann.upload([{ filename, bytes: Buffer.alloc(10_000) }]);
    const response = await download(ann, filename, {}, { "accept-encoding": "gzip, br" });
    expect(response.headers["content-encoding"]).toBeUndefined();
    expect(response.headers["content-length"]).toBe("10000");
  });

  test("a client that disconnects during a download does not affect other requests", async () => {
    const filename = freshName();
    await ann.upload([{ filename, bytes: randomBytes(FILE_LIMIT) }]);
    await new Promise<void>((resolve) => {
      const headers = { "content-type": "application/json", authorization: ann.token };
      const request = httpRequest(
        vault.url + operationPath.download_file,
        { method: "POST", headers },
        (response) => {
          response.once("data", () => request.destroy());
        },
      );
      request.on("error", () => undefined).on("close", resolve);
      request.end(JSON.stringify({ email: ann.email, filename }));
    });
    expect((await download(ann, filename)).bytes).toHaveLength(FILE_LIMIT);
  });

  test("a body that is not multipart is not read as one", async () => {
    const response = await sendRequest(vault.url + operationPath.protect_file, {
      headers: { "content-type": "multipart/mixed; boundary=x" },
      body: "x",
    });
    expect(response.code()).toBe("unsupported_media_type");
  });
});
