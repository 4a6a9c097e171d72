import { randomBytes } from "node:crypto";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { mailTo } from "../lab/mail/smtp-server.ts";
import { multipartBody, VaultClient } from "../lab/vault/vault-client.ts";
import { nameSequence, listFilenames, rawPart } from "../lab/vault/requests.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import { operationPath, sessionOperationPath } from "../../src/protocol/operation-paths.ts";

const FILE_LIMIT = 700_000;

const freshName = nameSequence("file", ".bin");
const { vault, ann } = await useVault({ limits: { fileBytes: FILE_LIMIT } });

describe("protect_file with invalid requests", () => {
  test.each(["", ".", "..", "a/..", "dir/", "a\u0001b", "n".repeat(257)])(
    "rejects the filename %j and stores nothing",
    async (filename) => {
      const other = freshName();
      const response = await ann.upload([
        { filename: other, bytes: Buffer.from("x") },
        { filename, bytes: Buffer.from("y") },
      ]);
      expect(response.status).toBe(400);
      expect(response.code()).toBe("invalid_request");
      expect(await listFilenames(ann)).not.toContain(other);
    },
  );

  test("rejects a duplicate filename and stores nothing", async () => {
    const [twice, other] = [freshName(), freshName()];
    const response = await ann.upload(
      [other, twice, `dir/${twice}`].map((filename) => ({
        filename,
        bytes: Buffer.from(filename),
      })),
    );
    expect(response.status).toBe(400);
    expect(response.code()).toBe("invalid_request");
    const stored = await listFilenames(ann);
    expect(stored.includes(twice)).toBe(false);
    expect(stored.includes(other)).toBe(false);
  });

  test.each(["1", "3", "0", "-1", "1.5", "x", "101", ""])(
    "rejects two files with CountOfFiles %j and stores nothing",
    async (count) => {
      const files = [freshName(), freshName()].map((filename) => ({
        filename,
        bytes: Buffer.from("x"),
      }));
      const response = await ann.upload(files, { countoffiles: count });
      expect(response.status).toBe(400);
      expect(response.code()).toBe("invalid_request");
      expect(response.json().error.details[0].path).toBe("CountOfFiles");
      const stored = await listFilenames(ann);
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
    expect(response.status).toBe(413);
    expect(response.code()).toBe("too_large");
    const announced = await new Promise((resolve, reject) => {
      const headers = {
        "content-type": "multipart/form-data; boundary=b",
        "content-length": "99999999999",
      };
      const request = httpRequest(
        vault.url + operationPath.protect_file,
        { method: "POST", headers },
        ({ statusCode }) => {
          resolve(statusCode);
          request.destroy();
        },
      );
      request.on("error", reject);
      request.flushHeaders();
    });
    expect(announced).toBe(413);
    expect(await listFilenames(ann)).not.toContain(small);
  });

  test.each([
    ["no boundary in the header", { "content-type": "multipart/form-data" }, multipartBody([])],
    [
      "another boundary",
      { "content-type": "multipart/form-data; boundary=other" },
      multipartBody([{ filename: "a", bytes: Buffer.from("x") }]),
    ],
    ["nothing", {}, Buffer.alloc(0)],
    [
      "no closing delimiter",
      {},
      Buffer.from('--test-boundary\r\nContent-Disposition: form-data; filename="cut"\r\n\r\nabc'),
    ],
    ["an end inside a header", {}, Buffer.from("--test-boundary\r\nContent-Dispo")],
    ["an end after a delimiter", {}, Buffer.from("--test-boundary")],
    [
      "a header without a colon",
      {},
      Buffer.from("--test-boundary\r\nnonsense\r\n\r\nabc\r\n--test-boundary--\r\n"),
    ],
    [
      "text after a delimiter",
      {},
      Buffer.from(
        '--test-boundary\r\nContent-Disposition: form-data; filename="cut"\r\n\r\nabc\r\n--test-boundary-x\r\ndef\r\n--test-boundary--\r\n',
      ),
    ],
    [
      "a header without a colon after the filename",
      {},
      rawPart('form-data; filename="a"', "nonsense\r\n"),
    ],
    ["a filename that is not UTF-8", {}, rawPart('form-data; filename="\xff"', "", "latin1")],
    ["an endless header", {}, Buffer.from(`--test-boundary\r\nA: ${"x".repeat(100_000)}\r\n\r\n`)],
    [
      "too much data that is not a file",
      {},
      Buffer.concat([
        Buffer.alloc(2_000_000, "x"),
        multipartBody([{ filename: "a", bytes: Buffer.from("x") }]),
      ]),
    ],
    [
      "a transfer encoding",
      {},
      rawPart('form-data; filename="b64"', "Content-Transfer-Encoding: base64\r\n"),
    ],
    ["no file parts", {}, rawPart('form-data; name="field"')],
    ["another disposition", {}, rawPart('attachment; filename="a"')],
  ])("rejects a multipart body with %s", async (_what, headers, body) => {
    const response = await ann.upload([], { countoffiles: "1", ...headers }, body);
    expect(response.status).toBe(400);
    expect(response.code()).toBe("invalid_request");
  });

  test("checks shape, then token, then email, which is case-insensitive", async () => {
    const files = [{ filename: freshName(), bytes: Buffer.from("x") }];
    expect((await ann.upload(files, { authorization: "unknown", email: "" })).code()).toBe(
      "invalid_request",
    );
    expect(
      (await ann.upload(files, { authorization: "unknown", email: "bob@example.com" })).code(),
    ).toBe("invalid_token");
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
      const request = httpRequest(vault.url + operationPath.protect_file, {
        method: "POST",
        headers,
      });
      request.on("error", () => undefined).on("close", resolve);
      request.write(
        multipartBody([{ filename, bytes: randomBytes(400_000) }]).subarray(0, 300_000),
        () => request.destroy(),
      );
    });
    expect(await listFilenames(ann)).not.toContain(filename);
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
        const request = httpRequest(
          vault.url + operationPath.protect_file,
          { method: "POST", headers, agent },
          (response) => {
            response.resume().on("end", () => resolve(response.statusCode));
          },
        );
        request.on("error", reject);
        request.end(body);
      });
    const refused = multipartBody([
      { filename: "..", bytes: Buffer.alloc(600_000) },
      { filename: "b", bytes: Buffer.alloc(600_000) },
    ]);
    expect(await send(refused)).toBe(400);
    expect(await send(multipartBody([{ filename: freshName(), bytes: Buffer.from("x") }]))).toBe(
      200,
    );
    agent.destroy();
  });
});

test("stores nothing when the token is ended during the upload", async () => {
  const caller = await vault.client("bob@example.com");
  const body = multipartBody([{ filename: freshName(), bytes: randomBytes(1000) }]);
  const upload = httpRequest(vault.url + operationPath.protect_file, {
    method: "POST",
    headers: {
      "content-type": "multipart/form-data; boundary=test-boundary",
      "content-length": String(body.length),
      authorization: caller.token,
      email: caller.email,
      countoffiles: "1",
    },
  });
  const response = new Promise<IncomingMessage>((resolve, reject) =>
    upload.on("response", resolve).on("error", reject),
  );
  upload.write(body.subarray(0, 100));
  await vault.post(sessionOperationPath.app_request_password, { email: caller.email });
  const { token } = await mailTo(vault.mailDirectory, caller.email);
  await vault.post(sessionOperationPath.app_set_password, {
    token,
    password: "a-new-and-long-password",
  });
  upload.end(body.subarray(100));
  expect((await response).statusCode).toBe(401);
  const again = await vault.logIn(caller.email, { password: "a-new-and-long-password" });
  const next = new VaultClient(vault.url, caller.email, { token: again.json().access_token });
  expect(await listFilenames(next)).toEqual([]);
});
