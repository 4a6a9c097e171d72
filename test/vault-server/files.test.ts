import { createHash, randomBytes } from "node:crypto";
import { Agent, request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestVault } from "../support/vault/test-vault.ts";
import { multipartBody, scopeString, sendRequest, type VaultClient } from "../support/vault/vault-client.ts";
import { operationPath } from "../../src/protocol/operation-paths.ts";

const FILE_LIMIT = 700_000;

let vault: TestVault;
let ann: VaultClient;
let bob: VaultClient;
let freshNumber = 0;
const freshName = (): string => `file-${(freshNumber += 1)}.bin`;
beforeAll(async () => {
  vault = await TestVault.start({ limits: { fileBytes: FILE_LIMIT } });
  ann = await vault.client("ann@example.com");
  bob = await vault.client("bob@example.com");
});
afterAll(() => vault[Symbol.asyncDispose]());

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const download = (caller: VaultClient, filename: string, more = {}, headers = {}) =>
  caller.call("download_file", { filename, ...more }, headers);
const filenames = async (caller: VaultClient): Promise<string[]> =>
  (await caller.call("list_file")).json().files.map((file: { filename: string }) => file.filename);

const rawPart = (disposition: string, headers = "", encoding: BufferEncoding = "utf8"): Buffer =>
  Buffer.from(
    `--test-boundary\r\nContent-Disposition: ${disposition}\r\n${headers}\r\ncontent\r\n--test-boundary--\r\n`,
    encoding,
  );

describe("protect_file", () => {
  test.each([0, 1, 17, 262_143, 262_144, 262_145, 524_288, FILE_LIMIT])("returns %d bytes unchanged", async (size) => {
    const [filename, bytes] = [freshName(), randomBytes(size)];
    const uploaded = await ann.upload([{ filename, bytes }]);
    expect([uploaded.status, uploaded.json()]).toEqual([200, { files: [{ filename, version: 1, size, sha256: sha256(bytes) }] }]);
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
  });

  test("keeps content that resembles delimiters", async () => {
    const bytes = Buffer.from("\r\n--test-boundar\r\n--test\r\n\r\n--\r--test-boundary\n--test-boundary--\r\r\n\r");
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
    expect([response.status, response.json().files[0].filename]).toEqual([200, filename]);
    expect((await download(ann, filename)).bytes.toString()).toBe("content");
  });

  test.each(["", ".", "..", "a/..", "dir/", "a\u0001b", "n".repeat(257)])(
    "rejects the filename %j and stores nothing",
    async (filename) => {
      const other = freshName();
      const response = await ann.upload([
        { filename: other, bytes: Buffer.from("x") },
        { filename, bytes: Buffer.from("y") },
      ]);
      expect([response.status, response.code()]).toEqual([400, "invalid_request"]);
      expect(await filenames(ann)).not.toContain(other);
    },
  );

  test("rejects a duplicate filename and stores nothing", async () => {
    const [twice, other] = [freshName(), freshName()];
    const response = await ann.upload(
      [other, twice, `dir/${twice}`].map((filename) => ({ filename, bytes: Buffer.from(filename) })),
    );
    expect([response.status, response.code()]).toEqual([400, "invalid_request"]);
    const stored = await filenames(ann);
    expect([stored.includes(twice), stored.includes(other)]).toEqual([false, false]);
  });

  test.each(["1", "3", "0", "-1", "1.5", "x", "101", ""])(
    "rejects two files with CountOfFiles %j and stores nothing",
    async (count) => {
      const files = [freshName(), freshName()].map((filename) => ({ filename, bytes: Buffer.from("x") }));
      const response = await ann.upload(files, { countoffiles: count });
      expect([response.status, response.code()]).toEqual([400, "invalid_request"]);
      expect(response.json().error.details[0].path).toBe("CountOfFiles");
      const stored = await filenames(ann);
      expect(files.some(({ filename }) => stored.includes(filename))).toBe(false);
    },
  );

  test("rejects a file above the limit, announced or while streaming, and stores nothing", async () => {
    const [big, small] = [freshName(), freshName()];
    const files = [
      { filename: small, bytes: Buffer.from("x") },
      { filename: big, bytes: Buffer.alloc(FILE_LIMIT + 1) },
    ];
    const response = await ann.upload(files);
    expect([response.status, response.code()]).toEqual([413, "too_large"]);
    const announced = await new Promise((resolve, reject) => {
      const headers = { "content-type": "multipart/form-data; boundary=b", "content-length": "99999999999" };
      const request = httpRequest(vault.url + operationPath.protect_file, { method: "POST", headers }, (response) => {
        resolve(response.statusCode);
        request.destroy();
      });
      request.on("error", reject);
      request.flushHeaders();
    });
    expect(announced).toBe(413);
    expect(await filenames(ann)).not.toContain(small);
  });

  test.each([
    ["no boundary in the header", { "content-type": "multipart/form-data" }, multipartBody([])],
    [
      "another boundary",
      { "content-type": "multipart/form-data; boundary=other" },
      multipartBody([{ filename: "a", bytes: Buffer.from("x") }]),
    ],
    ["nothing", {}, Buffer.alloc(0)],
    ["no closing delimiter", {}, Buffer.from('--test-boundary\r\nContent-Disposition: form-data; filename="cut"\r\n\r\nabc')],
    ["an end inside a header", {}, Buffer.from("--test-boundary\r\nContent-Dispo")],
    ["an end after a delimiter", {}, Buffer.from("--test-boundary")],
    ["a header without a colon", {}, Buffer.from("--test-boundary\r\nnonsense\r\n\r\nabc\r\n--test-boundary--\r\n")],
    [
      "text after a delimiter",
      {},
      Buffer.from(
        '--test-boundary\r\nContent-Disposition: form-data; filename="cut"\r\n\r\nabc\r\n--test-boundary-x\r\ndef\r\n--test-boundary--\r\n',
      ),
    ],
    ["a header without a colon after the filename", {}, rawPart('form-data; filename="a"', "nonsense\r\n")],
    ["a filename that is not UTF-8", {}, rawPart('form-data; filename="\xff"', "", "latin1")],
    ["an endless header", {}, Buffer.from(`--test-boundary\r\nA: ${"x".repeat(100_000)}\r\n\r\n`)],
    [
      "too much data that is not a file",
      {},
      Buffer.concat([Buffer.alloc(2_000_000, "x"), multipartBody([{ filename: "a", bytes: Buffer.from("x") }])]),
    ],
    ["a transfer encoding", {}, rawPart('form-data; filename="b64"', "Content-Transfer-Encoding: base64\r\n")],
    ["no file parts", {}, rawPart('form-data; name="field"')],
    ["another disposition", {}, rawPart('attachment; filename="a"')],
  ])("rejects a multipart body with %s", async (_what, headers, body) => {
    const response = await ann.upload([], { countoffiles: "1", ...headers }, body);
    expect([response.status, response.code()]).toEqual([400, "invalid_request"]);
  });

  test("checks shape, then token, then email, which is case-insensitive", async () => {
    const files = [{ filename: freshName(), bytes: Buffer.from("x") }];
    expect((await ann.upload(files, { authorization: "unknown", email: "" })).code()).toBe("invalid_request");
    expect((await ann.upload(files, { authorization: "unknown", email: "bob@example.com" })).code()).toBe("invalid_token");
    expect((await ann.upload(files, { email: "bob@example.com" })).code()).toBe("email_mismatch");
    expect((await ann.upload(files, { email: "ANN@EXAMPLE.com" })).status).toBe(200);
  });

  test("stores nothing when the client disconnects, and serves the next request", async () => {
    const filename = freshName();
    await new Promise<void>((resolve) => {
      const headers = {
        "content-type": "multipart/form-data; boundary=test-boundary",
        authorization: ann.token,
        email: ann.email,
        countoffiles: "1",
      };
      const request = httpRequest(vault.url + operationPath.protect_file, { method: "POST", headers });
      request.on("error", () => undefined).on("close", resolve);
      request.write(multipartBody([{ filename, bytes: randomBytes(400_000) }]).subarray(0, 300_000), () => request.destroy());
    });
    expect(await filenames(ann)).not.toContain(filename);
    const again = await ann.upload([{ filename, bytes: Buffer.from("whole") }]);
    expect(again.json().files).toMatchObject([{ filename, version: 1 }]);
  });

  test("keeps the connection usable after a rejected upload by draining the body", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const send = (body: Buffer) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = {
          "content-type": "multipart/form-data; boundary=test-boundary",
          authorization: ann.token,
          email: ann.email,
          countoffiles: "1",
          "content-length": body.length,
        };
        const request = httpRequest(vault.url + operationPath.protect_file, { method: "POST", headers, agent }, (response) => {
          response.resume().on("end", () => resolve(response.statusCode));
        });
        request.on("error", reject);
        request.end(body);
      });
    const refused = multipartBody([
      { filename: "..", bytes: Buffer.alloc(600_000) },
      { filename: "b", bytes: Buffer.alloc(600_000) },
    ]);
    expect(await send(refused)).toBe(400);
    expect(await send(multipartBody([{ filename: freshName(), bytes: Buffer.from("x") }]))).toBe(200);
    agent.destroy();
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
});

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
    expect([again.status, again.bytes.length, again.headers.etag, again.headers["x-file-version"]]).toEqual([304, 0, etag, "1"]);
    await ann.upload([{ filename, bytes: Buffer.from("y") }]);
    expect((await download(ann, filename, {}, { "if-none-match": etag })).bytes.toString()).toBe("y");
  });

  test("unknown names and versions are not found; files are per user and ignore scopes", async () => {
    const filename = freshName();
    await ann.upload([{ filename, bytes: Buffer.from("x") }]);
    expect((await download(ann, "nowhere")).code()).toBe("file_not_found");
    expect((await download(bob, filename)).code()).toBe("file_not_found");
    expect((await download(ann, filename, { version: 2 })).code()).toBe("version_not_found");
    expect((await download(ann, filename, { version: "1" })).code()).toBe("invalid_request");
    expect(await filenames(bob)).not.toContain(filename);
    const narrowed = await vault.client("ann@example.com", scopeString({ secret_name: ["nothing"] }));
    expect((await download(narrowed, filename)).status).toBe(200);
  });

  test("a binary download is never compressed", async () => {
    const filename = freshName();
    await ann.upload([{ filename, bytes: Buffer.alloc(10_000) }]);
    const response = await download(ann, filename, {}, { "accept-encoding": "gzip, br" });
    expect([response.headers["content-encoding"], response.headers["content-length"]]).toEqual([undefined, "10000"]);
  });

  test("a client that disconnects during a download does not affect other requests", async () => {
    const filename = freshName();
    await ann.upload([{ filename, bytes: randomBytes(FILE_LIMIT) }]);
    await new Promise<void>((resolve) => {
      const headers = { "content-type": "application/json", authorization: ann.token };
      const request = httpRequest(vault.url + operationPath.download_file, { method: "POST", headers }, (response) => {
        response.once("data", () => request.destroy());
      });
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
