import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { z } from "zod";
import { describe, expect, test } from "vitest";
import { scopeString, sendRequest } from "../lab/vault/vault-client.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import { octetStream, type OperationDefinition } from "../../src/protocol/define-operation.ts";
import { sessionOperationPath, operationPath } from "../../src/protocol/operation-paths.ts";
import { operations as definitions } from "../../src/protocol/operations.ts";
import { sessionOperations } from "../../src/protocol/session-operations.ts";

/** The paths of the API and of the web application. */
const servedPath = { ...operationPath, ...sessionOperationPath };
const operations = Object.keys(servedPath).filter(
  (name): name is keyof typeof servedPath => name in servedPath,
);

const { vault, ann } = await useVault();

const tags = (count: number) => ({ "if-none-match": Array(count).fill('W/"1-other"').join(", ") });

const described = (bytes: Buffer) => JSON.parse(bytes.toString()).versions[0].metadata.description;

const expose = async (body: string, headers: object) => {
  const response = await sendRequest(vault.url + operationPath.expose, {
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  return response.code();
};

const statusOf = async (base: string, path: string) =>
  (await sendRequest(base + path, { method: "GET" })).status;

describe("transport", () => {
  test.each(operations)("%s rejects every method but POST first", async (operation) => {
    for (const method of ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"]) {
      const response = await sendRequest(vault.url + servedPath[operation], {
        method,
        headers: { "content-type": "text/plain" },
      });
      expect(response.status, method).toBe(405);
      expect(response.headers.allow, method).toBe("POST");
      expect(response.code()).toBe(method === "HEAD" ? undefined : "method_not_allowed");
    }
  });

  test("an unknown path is not_found for every method and body", async () => {
    for (const path of [
      "/app",
      "/assets/nothing.js",
      "/v1/user/secret/nothing",
      "/v1/user/list_file/",
      "/v1/%zz",
    ]) {
      for (const method of ["POST", "GET", "OPTIONS"]) {
        const response = await sendRequest(vault.url + path, {
          method,
          headers: { "content-type": "text/plain" },
        });
        expect(response.status, `${path} ${method}`).toBe(404);
        expect(response.code(), `${path} ${method}`).toBe("not_found");
        expect(response.headers["x-request-id"]).toMatch(/./u);
      }
    }
  });

  test.each(operations.filter((operation) => operation !== "protect_file"))(
    "%s accepts application/json only",
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
        const response = await send(type);
        expect(response.status, type).toBe(415);
        expect(response.code(), type).toBe("unsupported_media_type");
      }
      expect((await send("application/json", { "content-encoding": "gzip" })).status).toBe(415);
      expect((await send("Application/JSON; charset=utf-8")).status).not.toBe(415);
    },
  );

  test("protect_file accepts multipart/form-data only", async () => {
    const response = await ann.call("protect_file");
    expect(response.status).toBe(415);
    expect(response.code()).toBe("unsupported_media_type");
  });

  test.each([
    ["no JSON", "{"],
    ["nothing", ""],
    ["an array", "[]"],
    ["null", "null"],
    ["broken UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ])("a body that is %s is an invalid request", async (_what, body) => {
    const headers = { "content-type": "application/json", authorization: ann.token };
    const response = await sendRequest(vault.url + operationPath.list_no_dup, { headers, body });
    expect(response.status).toBe(400);
    expect(response.code()).toBe("invalid_request");
    expect(response.json().error.details[0]).toEqual({
      path: expect.any(String),
      reason: expect.any(String),
    });
  });

  test("details list the path and reason of each error without quoting the input", async () => {
    const canary = "canary-9c1f0f";
    const response = await ann.call("protect", {
      key_name: `a\n${canary}`,
      key_value: 7,
      metadata: { expiration_time: canary, cloud_type: 1 },
    });
    expect(response.status).toBe(400);
    const reported = response.json().error.details.map((detail: { path: string }) => detail.path);
    expect(reported.sort()).toEqual([
      "key_name",
      "key_value",
      "metadata.cloud_type",
      "metadata.expiration_time",
    ]);
    expect(response.bytes.toString()).not.toContain(canary);
  });

  test("JSON may nest 64 levels, including the body; brackets in strings do not count", async () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
    const protect = (levels: number) =>
      ann.call("protect", {
        key_name: "deep",
        key_value: "[".repeat(200),
        metadata: { x: nested(levels) },
      });
    expect((await protect(62)).status).toBe(200);
    const refused = await protect(63);
    expect(refused.status).toBe(400);
    expect(refused.code()).toBe("invalid_request");
    const bomb = await sendRequest(vault.url + operationPath.list_no_dup, {
      headers: { "content-type": "application/json", authorization: ann.token },
      body: "[".repeat(1_000_000),
    });
    expect(bomb.status).toBe(400);
  });

  test("checks media type, size, shape, token, email and existence, in this order", async () => {
    const tooLarge = `{"pad":"${"x".repeat(2 * 1024 * 1024)}`;
    expect(await expose(tooLarge, { "content-type": "text/plain" })).toBe("unsupported_media_type");
    expect(await expose(tooLarge, { authorization: ann.token })).toBe("too_large");
    // A large body is not read before the token.
    expect(await expose(tooLarge, {})).toBe("invalid_token");
    expect(await expose("{}", {})).toBe("invalid_request");
    const wellFormed = JSON.stringify({ email: "bob@example.com", key_name: "nowhere" });
    expect(await expose(wellFormed, {})).toBe("invalid_token");
    expect(await expose(wellFormed, { authorization: ann.token })).toBe("email_mismatch");
    expect(
      await expose(JSON.stringify({ email: "ANN@Example.com", key_name: "nowhere" }), {
        authorization: ann.token,
      }),
    ).toBe("secret_not_found");
  });

  test.each([
    ["missing", undefined],
    ["unknown", "A".repeat(43)],
    ["empty", ""],
  ])("a token that is %s is invalid", async (_what, authorization) => {
    const response = await vault.post(
      operationPath.list_no_dup,
      { email: "ann@example.com" },
      authorization === undefined ? {} : { authorization },
    );
    expect(response.status).toBe(401);
    expect(response.code()).toBe("invalid_token");
  });

  test("a token with a scheme is invalid", async () => {
    const response = await ann.call("list_no_dup", {}, { authorization: `Bearer ${ann.token}` });
    expect(response.status).toBe(401);
    expect(response.code()).toBe("invalid_token");
  });

  test("metrics and health are on a listener of their own, and health on both", async () => {
    for (const path of ["/healthz", "/readyz"]) {
      expect(await statusOf(vault.url, path)).toBe(200);
      expect(await statusOf(vault.metricsUrl, path)).toBe(200);
    }
    expect(await statusOf(vault.url, "/metrics")).toBe(404);
    expect(await statusOf(vault.metricsUrl, "/metrics")).toBe(200);
    expect(await statusOf(vault.metricsUrl, operationPath.list_no_dup)).toBe(404);
  });

  test("every response has a request id; errors and values are not cacheable", async () => {
    const responses = [
      await ann.call("list_no_dup"),
      await ann.call("list_no_dup"),
      await ann.call("expose", { key_name: "nowhere" }),
    ];
    expect(new Set(responses.map((response) => response.headers["x-request-id"])).size).toBe(3);
    expect(responses[2]?.headers["cache-control"]).toBe("no-store");
    await ann.call("protect", { key_name: "stored", key_value: "v" });
    const exposed = await ann.call("expose", { key_name: "stored" });
    expect(exposed.headers["cache-control"]).toBe("no-store");
    expect(exposed.headers["x-content-type-options"]).toBe("nosniff");
  });

  test("lists have an etag and return 304 for a known one", async () => {
    for (const name of ["tagged", "tagged and shared"])
      await ann.call("protect", { key_name: name, key_value: "v" });
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
      expect(etag, operation).toEqual(expect.stringMatching(/^W\/"[\w-]+"$/u));
      for (const header of [etag, etag.slice(2), `"other", ${etag}`, "*"]) {
        const again = await ann.call(operation, body, { "if-none-match": header });
        expect(again.status, header).toBe(304);
        expect(again.bytes.length, header).toBe(0);
        expect(again.headers.etag, header).toEqual(etag);
      }
      expect((await ann.call(operation, body, { "if-none-match": '"other"' })).status).toBe(200);
    }
    const before = (await ann.call("version_list", { key_name: "tagged" })).headers.etag ?? "";
    await ann.call("protect", { key_name: "tagged", key_value: "v" });
    expect(
      (await ann.call("version_list", { key_name: "tagged" }, { "if-none-match": before })).status,
    ).toBe(200);
  });

  test("more than 10 entity tags are invalid for every list and download", async () => {
    await ann.call("protect", { key_name: "with tags", key_value: "v" });
    await ann.upload([{ filename: "with tags", bytes: Buffer.from("v") }]);
    for (const [operation, body] of [
      ["list_no_dup", {}],
      ["list_file", {}],
      ["version_list", { key_name: "with tags" }],
      ["team_list", {}],
      ["download_file", { filename: "with tags" }],
    ] as const) {
      expect((await ann.call(operation, body, tags(10))).outcome()).toBe("200");
      expect((await ann.call(operation, body, tags(11))).outcome(), operation).toBe(
        "400 invalid_request",
      );
    }
  });

  const gzipped = { "accept-encoding": "gzip" };

  test("lists over 1 KiB are compressed on request, smaller ones are not", async () => {
    const description = "compressible ".repeat(500);
    await ann.call("protect", { key_name: "big", key_value: "v", metadata: { description } });
    await ann.call("protect", { key_name: "small", key_value: "v" });
    const gzip = await ann.call("version_list", { key_name: "big" }, gzipped);
    expect(gzip.headers["content-encoding"]).toBe("gzip");
    expect(described(gunzipSync(gzip.bytes))).toEqual(description);
    const brotli = await ann.call("version_list", { key_name: "big" }, { "accept-encoding": "br" });
    expect(described(brotliDecompressSync(brotli.bytes))).toBe(description);
    for (const headers of [
      {},
      { "accept-encoding": "identity" },
      { "accept-encoding": "unheard-of" },
    ]) {
      const plain = await ann.call("version_list", { key_name: "big" }, headers);
      expect(plain.headers["content-encoding"]).toBeUndefined();
      expect(described(plain.bytes)).toEqual(description);
    }
    const small = await ann.call("version_list", { key_name: "small" }, gzipped);
    expect(small.headers["content-encoding"]).toBeUndefined();
  });

  test("a response with a value or a token is not compressed, whatever its length", async () => {
    const value = "compressible ".repeat(500);
    for (const name of ["exposed", "exposed and shared"])
      await ann.call("protect", { key_name: name, key_value: value });
    const grant = { usr_id_from: ann.email, usr_id_to: "bob@example.com", permission: "R" };
    await ann.call("share", { key_name: "exposed and shared", ...grant });
    for (const [operation, body] of [
      ["expose", { key_name: "exposed" }],
      ["version_expose", { key_name: "exposed", key_version: 1 }],
      ["expose_link", { key_name: "exposed and shared" }],
      ["version_expose_link", { key_name: "exposed and shared", key_version: 1 }],
    ] as const) {
      const response = await ann.call(operation, body, gzipped);
      expect(response.headers["content-encoding"], operation).toBeUndefined();
      expect(response.json().key_value, operation).toEqual(value);
    }
    const scope = scopeString({ secret_name: ["compressible".repeat(200)] });
    const password = vault.passwords.get(ann.email);
    const login = { email: ann.email, password, scope, expiration_hours: 1 };
    const tokens = await vault.post(operationPath.generate_access_token, login, gzipped);
    expect(tokens.headers["content-encoding"]).toBeUndefined();
    expect(tokens.json().scope).toEqual(scope);
    const { refresh_token, access_token: used_access_token } = tokens.json();
    const refreshed = await vault.post(
      operationPath.refresh_token,
      { refresh_token, used_access_token },
      gzipped,
    );
    expect(refreshed.headers["content-encoding"]).toBeUndefined();
    expect(refreshed.json().scope).toEqual(scope);
  });

  test("only lists of records without values and tokens are compressible", () => {
    const all: readonly OperationDefinition[] = Object.values({
      ...definitions,
      ...sessionOperations,
    });
    const compressible = all.filter((operation) => operation.compressible === true);
    expect(compressible.map(({ name }) => name).sort()).toEqual([
      "list_file",
      "list_no_dup",
      "protect_link",
      "share_list",
      "team_list",
      "trash_list",
      "version_list",
      "version_list_for_link",
    ]);
    for (const { response } of compressible) {
      const schema = JSON.stringify(response === octetStream ? response : z.toJSONSchema(response));
      expect(schema).not.toMatch(/key_value|_token|octet-stream/u);
    }
  });

  test("malformed HTTP gets an error body", async () => {
    const socket = connect(Number(new URL(vault.url).port), "127.0.0.1");
    socket.end("NOT HTTP AT ALL\r\n\r\n");
    const response = await text(socket);
    expect(response).toMatch(/^HTTP\/1\.1 400 /u);
    expect(JSON.parse(response.slice(response.indexOf("\r\n\r\n"))).error.code).toBe(
      "invalid_request",
    );
  });

  test("counts requests by operation and status; health checks need no token", async () => {
    const sample = 'vaultsync_vault_requests_total{operation="version_list",status="404"}';
    const before = await vault.metric(sample);
    await ann.call("version_list", { key_name: "nowhere" });
    expect(await vault.metric(sample)).toBe(before + 1);
    for (const path of ["/healthz", "/readyz"]) {
      expect((await sendRequest(vault.url + path, { method: "GET" })).json()).toEqual({
        status: "ok",
      });
    }
  });
});
