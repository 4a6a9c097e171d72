import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestVault } from "../support/vault/test-vault.ts";
import { sendRequest, type VaultClient } from "../support/vault/vault-client.ts";
import { sessionOperationPath, operationPath } from "../../src/protocol/operation-paths.ts";

/** Those of the web application too. */
const servedPath = { ...operationPath, ...sessionOperationPath };
const operations = Object.keys(servedPath).filter((name): name is keyof typeof servedPath => name in servedPath);

describe("the transport rules of the contract", () => {
  let vault: TestVault;
  let ann: VaultClient;
  beforeAll(async () => {
    vault = await TestVault.start();
    ann = await vault.client("ann@example.com");
  });
  afterAll(() => vault[Symbol.asyncDispose]());

  test.each(operations)("%s refuses every method but POST, before anything else", async (operation) => {
    for (const method of ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"]) {
      const answer = await sendRequest(vault.url + servedPath[operation], { method, headers: { "content-type": "text/plain" } });
      expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, "POST"]);
      expect(answer.code()).toBe(method === "HEAD" ? undefined : "method_not_allowed");
    }
  });

  test("an unknown path is not_found for every method, whatever is sent", async () => {
    for (const path of ["/app", "/assets/nothing.js", "/v1/user/secret/nothing", "/v1/user/list_file/", "/v1/%zz"]) {
      for (const method of ["POST", "GET", "OPTIONS"]) {
        const answer = await sendRequest(vault.url + path, { method, headers: { "content-type": "text/plain" } });
        expect([path, method, answer.status, answer.code()]).toEqual([path, method, 404, "not_found"]);
        expect(answer.headers["x-request-id"]).toMatch(/./u);
      }
    }
  });

  test.each(operations.filter((operation) => operation !== "protect_file"))(
    "%s takes application/json only",
    async (operation) => {
      const send = (type: string | undefined, more = {}) =>
        sendRequest(vault.url + servedPath[operation], {
          headers: { ...(type !== undefined && { "content-type": type }), ...more },
          body: "{}",
        });
      for (const type of [
        undefined,
        "text/plain",
        "application/json-patch+json",
        "application/jsonx",
        "multipart/form-data; boundary=x",
      ]) {
        const answer = await send(type);
        expect([type, answer.status, answer.code()]).toEqual([type, 415, "unsupported_media_type"]);
      }
      expect((await send("application/json", { "content-encoding": "gzip" })).status).toBe(415);
      expect((await send("Application/JSON; charset=utf-8")).status).not.toBe(415);
    },
  );

  test("protect_file takes multipart/form-data only", async () => {
    const answer = await ann.call("protect_file");
    expect([answer.status, answer.code()]).toEqual([415, "unsupported_media_type"]);
  });

  test.each([
    ["no JSON", "{"],
    ["nothing", ""],
    ["an array", "[]"],
    ["null", "null"],
    ["broken UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ])("a body that is %s is an invalid request", async (_what, body) => {
    const headers = { "content-type": "application/json", authorization: ann.token };
    const answer = await sendRequest(vault.url + operationPath.list_no_dup, { headers, body });
    expect([answer.status, answer.code()]).toEqual([400, "invalid_request"]);
    expect(answer.json().error.details[0]).toEqual({ path: expect.any(String), reason: expect.any(String) });
  });

  test("what does not fit is listed with path and reason, without quoting what was sent", async () => {
    const canary = "canary-9c1f0f";
    const answer = await ann.call("protect", {
      key_name: `a\n${canary}`,
      key_value: 7,
      metadata: { expiration_time: canary, cloud_type: 1 },
    });
    expect(answer.status).toBe(400);
    const reported = answer.json().error.details.map((detail: { path: string }) => detail.path);
    expect(reported.sort()).toEqual(["key_name", "key_value", "metadata.cloud_type", "metadata.expiration_time"]);
    expect(answer.bytes.toString()).not.toContain(canary);
  });

  test("JSON may nest 64 levels, the body counted, and no deeper; brackets in strings do not count", async () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
    const protect = (levels: number) =>
      ann.call("protect", { key_name: "deep", key_value: "[".repeat(200), metadata: { x: nested(levels) } });
    expect((await protect(62)).status).toBe(200);
    const refused = await protect(63);
    expect([refused.status, refused.code()]).toEqual([400, "invalid_request"]);
    const bomb = await sendRequest(vault.url + operationPath.list_no_dup, {
      headers: { "content-type": "application/json" },
      body: "[".repeat(1_000_000),
    });
    expect(bomb.status).toBe(400);
  });

  const expose = async (body: string, headers: object) => {
    const answer = await sendRequest(vault.url + operationPath.expose, {
      headers: { "content-type": "application/json", ...headers },
      body,
    });
    return answer.code();
  };

  test("content type and size come before shape, shape before token, token before e-mail, e-mail before look-up", async () => {
    const tooLarge = `{"pad":"${"x".repeat(2 * 1024 * 1024)}`;
    expect(await expose(tooLarge, { "content-type": "text/plain" })).toBe("unsupported_media_type");
    expect(await expose(tooLarge, {})).toBe("too_large");
    expect(await expose("{}", {})).toBe("invalid_request");
    const wellFormed = JSON.stringify({ email: "bob@example.com", key_name: "nowhere" });
    expect(await expose(wellFormed, {})).toBe("invalid_token");
    expect(await expose(wellFormed, { authorization: ann.token })).toBe("email_mismatch");
    expect(await expose(JSON.stringify({ email: "ANN@Example.com", key_name: "nowhere" }), { authorization: ann.token })).toBe(
      "secret_not_found",
    );
  });

  test.each([
    ["missing", undefined],
    ["unknown", "A".repeat(43)],
    ["empty", ""],
  ])("a token that is %s is invalid", async (_what, authorization) => {
    const answer = await vault.post(
      operationPath.list_no_dup,
      { email: "ann@example.com" },
      authorization === undefined ? {} : { authorization },
    );
    expect([answer.status, answer.code()]).toEqual([401, "invalid_token"]);
  });

  test("a token with a scheme word is invalid", async () => {
    const answer = await ann.call("list_no_dup", {}, { authorization: `Bearer ${ann.token}` });
    expect([answer.status, answer.code()]).toEqual([401, "invalid_token"]);
  });

  test("every answer has its own request id; errors and values are not to be stored", async () => {
    const answers = [
      await ann.call("list_no_dup"),
      await ann.call("list_no_dup"),
      await ann.call("expose", { key_name: "nowhere" }),
    ];
    expect(new Set(answers.map((answer) => answer.headers["x-request-id"])).size).toBe(3);
    expect(answers[2]?.headers["cache-control"]).toBe("no-store");
    await ann.call("protect", { key_name: "stored", key_value: "v" });
    const exposed = await ann.call("expose", { key_name: "stored" });
    expect([exposed.headers["cache-control"], exposed.headers["x-content-type-options"]]).toEqual(["no-store", "nosniff"]);
  });

  test("listings carry an etag, and answer 304 to who has it", async () => {
    for (const name of ["tagged", "tagged and shared"]) await ann.call("protect", { key_name: name, key_value: "v" });
    const grant = { usr_id_from: ann.email, usr_id_to: "bob@example.com", permission: "R" };
    await ann.call("share", { key_name: "tagged and shared", ...grant });
    for (const [operation, body] of [
      ["list_no_dup", {}],
      ["list_file", {}],
      ["version_list", { key_name: "tagged" }],
      ["version_list_for_link", { key_name: "tagged and shared" }],
      ["team_list", {}],
    ] as const) {
      const first = await ann.call(operation, body);
      const etag = first.headers.etag ?? "";
      expect([operation, etag]).toEqual([operation, expect.stringMatching(/^W\/"[\w-]+"$/u)]);
      for (const header of [etag, etag.slice(2), `"other", ${etag}`, "*"]) {
        const again = await ann.call(operation, body, { "if-none-match": header });
        expect([header, again.status, again.bytes.length, again.headers.etag]).toEqual([header, 304, 0, etag]);
      }
      expect((await ann.call(operation, body, { "if-none-match": '"other"' })).status).toBe(200);
    }
    const before = (await ann.call("version_list", { key_name: "tagged" })).headers.etag ?? "";
    await ann.call("protect", { key_name: "tagged", key_value: "v" });
    expect((await ann.call("version_list", { key_name: "tagged" }, { "if-none-match": before })).status).toBe(200);
  });

  test("answers over 1 KiB are compressed when asked, smaller ones and unasked ones are not", async () => {
    const value = "compressible ".repeat(500);
    await ann.call("protect", { key_name: "big", key_value: value });
    await ann.call("protect", { key_name: "small", key_value: "v" });
    const gzip = await ann.call("expose", { key_name: "big" }, { "accept-encoding": "gzip" });
    expect([gzip.headers["content-encoding"], JSON.parse(gunzipSync(gzip.bytes).toString()).key_value]).toEqual(["gzip", value]);
    const brotli = await ann.call("expose", { key_name: "big" }, { "accept-encoding": "br" });
    expect(JSON.parse(brotliDecompressSync(brotli.bytes).toString()).key_value).toBe(value);
    for (const headers of [{}, { "accept-encoding": "identity" }, { "accept-encoding": "unheard-of" }]) {
      const plain = await ann.call("expose", { key_name: "big" }, headers);
      expect([plain.headers["content-encoding"], plain.json().key_value]).toEqual([undefined, value]);
    }
    const small = await ann.call("expose", { key_name: "small" }, { "accept-encoding": "gzip" });
    expect(small.headers["content-encoding"]).toBeUndefined();
  });

  test("what is not even HTTP gets the contract's error body", async () => {
    const socket = connect(Number(new URL(vault.url).port), "127.0.0.1");
    socket.end("NOT HTTP AT ALL\r\n\r\n");
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /u);
    expect(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n"))).error.code).toBe("invalid_request");
  });

  test("requests are counted by operation and status; health and readiness answer without a token", async () => {
    const sample = 'vaultsync_vault_requests_total{operation="version_list",status="404"}';
    const before = await vault.metric(sample);
    await ann.call("version_list", { key_name: "nowhere" });
    expect(await vault.metric(sample)).toBe(before + 1);
    for (const path of ["/healthz", "/readyz"]) {
      expect((await sendRequest(vault.url + path, { method: "GET" })).json()).toEqual({ status: "ok" });
    }
  });
});
