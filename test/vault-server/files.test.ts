import { randomBytes } from "node:crypto";
import { request as httpRequest } from "node:http";
import { describe, expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, sendRequest } from "../lab/vault/vault-client.ts";
import { nameSequence, sha256, download, listFilenames, rawPart } from "../lab/vault/requests.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import { Redacted } from "../../src/lib/redacted.ts";
import { logIn, VaultClient as NodeClient } from "../../src/protocol/client/vault-client.ts";
import { utf8Header } from "../../src/protocol/headers.ts";
import { formatScope, unlimitedScope } from "../../src/protocol/scope.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { auditEntries } from "../lab/vault/audit-entries.ts";
import { operationPath } from "../../src/protocol/operation-paths.ts";

const FILE_LIMIT = 700_000;
const directory = new TestDirectory();

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

describe("protect_file", () => {
  test.each([0, 1, 17, 262_143, 262_144, 262_145, 524_288, FILE_LIMIT])(
    "returns %d bytes unchanged",
    async (size) => {
      const [filename, bytes] = [freshName(), randomBytes(size)];
      const uploaded = await ann.upload([{ filename, bytes }]);
      expect(uploaded.status).toBe(200);
      expect(uploaded.json()).toEqual({
        files: [{ filename, version: 1, size, sha256: sha256(bytes) }],
      });
      const response = await download(ann, filename);
      expect(response.status).toBe(200);
      expect(response.bytes.equals(bytes)).toBe(true);
      expect(response.headers).toMatchObject({
        "content-type": "application/octet-stream",
        "content-length": String(size),
        etag: `"${sha256(bytes)}"`,
        "x-file-version": "1",
        "cache-control": "no-store",
      });
    },
  );

  test("keeps content that resembles delimiters", async () => {
    const bytes = Buffer.from(
      "\r\n--test-boundar\r\n--test\r\n\r\n--\r--test-boundary\n--test-boundary--\r\r\n\r",
    );
    const filename = freshName();
    await ann.upload([{ filename, bytes }]);
    expect((await download(ann, filename)).bytes.equals(bytes)).toBe(true);
  });

  test("stores several files of one request, new and existing", async () => {
    const [known, fresh] = [freshName(), freshName()];
    await ann.upload([{ filename: known, bytes: Buffer.from("1") }]);
    const response = await ann.upload([
      { filename: known, bytes: Buffer.from("2") },
      { filename: fresh, bytes: Buffer.from("one") },
    ]);
    expect(response.json().files).toMatchObject([
      { filename: known, version: 2 },
      { filename: fresh, version: 1 },
    ]);
    expect((await download(ann, known)).bytes.toString()).toBe("2");
    expect((await download(ann, known, { version: 1 })).bytes.toString()).toBe("1");
  });

  test("accepts FormData as sent by fetch, including other form fields", async () => {
    const [one, two] = [freshName(), `ünï-💚-${freshName()}`];
    const form = new FormData();
    form.append("note", "not a file");
    form.append("__proto__", new Blob(["first"]), one);
    form.append("toString", new Blob(["second"], { type: "text/plain" }), two);
    const response = await fetch(vault.url + operationPath.protect_file, {
      method: "POST",
      headers: { authorization: ann.token, email: "Ann@Example.com", CountOfFiles: "2" },
      body: form,
    });
    expect(response.status).toBe(200);
    expect((await download(ann, two)).bytes.toString()).toBe("second");
  });

  test.each([
    ['form-data; name="f"; filename="/etc/dir/base-1.txt"', "base-1.txt"],
    ['form-data; name="f"; filename="C:\\\\dir\\\\base-2.txt"', "base-2.txt"],
    ["form-data; name=f; filename=bare.txt", "bare.txt"],
    ['form-data; filename="quo\\"ted.txt"', 'quo"ted.txt'],
    ['form-data; name="f"; filename="semi;colon.txt"', "semi;colon.txt"],
    ['form-data; name="f"; filename="kept%22as%20sent.txt"', "kept%22as%20sent.txt"],
    ['form-data; name="f"; filename="x"; filename*=UTF-8\'\'r%C3%A4tsel.txt', "rätsel.txt"],
    ['form-data; name="f"; filename="__proto__"', "__proto__"],
  ])("uses the base name of the part: %s", async (disposition, filename) => {
    const response = await ann.upload([], { countoffiles: "1" }, rawPart(disposition));
    expect(response.status).toBe(200);
    expect(response.json().files[0].filename).toEqual(filename);
    expect((await download(ann, filename)).bytes.toString()).toBe("content");
  });

  test("concurrent uploads of one name get distinct version numbers", async () => {
    const filename = freshName();
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, i) => ann.upload([{ filename, bytes: Buffer.from(`${i}`) }])),
    );
    const versions = responses.map((response) => response.json().files[0].version);
    expect(versions.sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1));
    for (const [i, response] of responses.entries()) {
      const { version } = response.json().files[0];
      expect((await download(ann, filename, { version })).bytes.toString()).toBe(String(i));
    }
  });

  test("accepts an address beyond ASCII as UTF-8, and one in Latin-1", async () => {
    const [latin, other] = ["jürgen@example.com", "иван@example.com"];
    const file = directory.join("audit.jsonl");
    await using server = await TestVault.start({ emails: [latin, other], auditLog: { file } });
    const upload = async (email: string, sent: string): Promise<string> => {
      const client = await server.client(email);
      const files = [{ filename: "a", bytes: Buffer.from("a") }];
      return (await client.upload(files, { email: sent })).outcome();
    };
    expect(await upload(latin, latin)).toBe("200");
    expect(await upload(latin, utf8Header(latin))).toBe("200");
    expect(await upload(other, utf8Header(other))).toBe("200");
    const last = (await auditEntries(file)).at(-1);
    expect(last).toMatchObject({ who: other, operation: "protect_file", status: 200 });
    expect(last).not.toHaveProperty("claimed");
    expect(await upload(other, utf8Header(latin))).toBe("403 email_mismatch");
  });

  test("is sent by the Node client for an address beyond ASCII", async () => {
    const email = "иван@example.com";
    await using server = await TestVault.start({ emails: [email] });
    const password = new Redacted(server.passwords.get(email) ?? "");
    const scope = formatScope(unlimitedScope);
    const account = await logIn({ url: server.url }, { email, password, scope, hours: 1 });
    const { files } = await new NodeClient(account).upload(new Map([["a", new Blob(["a"])]]));
    expect(files).toMatchObject([{ filename: "a", version: 1 }]);
  });
});
