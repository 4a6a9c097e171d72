import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";
import { sendRequest, type VaultResponse } from "../lab/vault/vault-client.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import { operationPath, type Operation } from "../../src/protocol/operation-paths.ts";

/** Returns status and error code of a raw response. */
function outcomeOf(response: string): string {
  const body: unknown = JSON.parse(response.slice(response.indexOf("\r\n\r\n")));
  const { error } = body as { error?: { code?: string } };
  return [response.split(" ", 2)[1], error?.code].join(" ");
}

/** A request for a list with something odd in it. */
function list(more: string | Buffer = ""): Buffer {
  return Buffer.concat([
    Buffer.from('{"email":"ann@example.com"'),
    Buffer.from(more),
    Buffer.from("}"),
  ]);
}

function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from("\r\n"),
  ]);
}

const { vault, ann } = await useVault();

/** Sends a raw body with ann's token. */
const raw = (
  operation: Operation,
  body: string | Uint8Array,
  headers = {},
): Promise<VaultResponse> =>
  sendRequest(vault.url + operationPath[operation], {
    headers: { "content-type": "application/json", authorization: ann.token, ...headers },
    body,
  });
/** Sends bytes on a separate connection and reads until the server ends it. */
const speak = async (...pieces: (string | Buffer)[]): Promise<string> => {
  const socket = connect(Number(new URL(vault.url).port), "127.0.0.1");
  // The server may respond and close the connection before everything is sent.
  socket.on("error", () => undefined);
  for (const piece of pieces) socket.write(piece);
  return text(socket);
};
const head = (...lines: string[]): string =>
  [
    `POST ${operationPath.list_no_dup} HTTP/1.1`,
    "host: localhost",
    "connection: close",
    "content-type: application/json",
    `authorization: ${ann.token}`,
    ...lines,
    "\r\n",
  ].join("\r\n");

describe("bad input", () => {
  describe("JSON", () => {
    test.each([
      ["a member twice", `,"email":"bob@example.com"`],
      ["a member twice, once with an escape", `,"e\\u006dail":"bob@example.com"`],
      ["a member twice deep inside", `,"x":[{"a":{"b":1,"c":[],"b":2}}]`],
      ["__proto__ twice", `,"__proto__":1,"__proto__":2`],
      ["an empty name twice", `,"":1,"":1`],
    ])("with %s is rejected", async (_what, more) => {
      const response = await raw("list_no_dup", list(more));
      expect(response.outcome()).toBe("400 invalid_request");
      expect(response.json().error.details).toEqual([
        { path: "", reason: "an object has two members of one name" },
      ]);
    });

    test("may repeat a name in other objects, in strings, and as a value", async () => {
      const more = `,"a":{"email":1},"b":[{"email":2},{"email":3},"email"],"c":"{\\"email\\":1,\\"email\\":2}","d":"email"`;
      expect((await raw("list_no_dup", list(more))).status).toBe(200);
    });

    test("may begin with a byte order mark", async () => {
      expect(
        (await raw("list_no_dup", Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), list()]))).status,
      ).toBe(200);
    });

    test.each([
      ["UTF-16", Buffer.from(`\ufeff${list().toString()}`, "utf16le")],
      ["a byte that no UTF-8 has", list(Buffer.from([0x2c, 0x22, 0xff, 0x22, 0x3a, 0x31]))],
      ["an overlong encoding", list(Buffer.from([0x2c, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31]))],
      ["an encoded surrogate", list(Buffer.from([0x2c, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31]))],
      ["a bare control character", list(`,"x":"a\nb"`)],
      ["NaN", list(`,"x":NaN`)],
      ["a comma too many", list(",")],
      ["something behind it", Buffer.concat([list(), Buffer.from("{}")])],
      ["an open string", list(`,"x":"`)],
      ["brackets that do not match", list(`,"x":[1}`)],
    ])("with %s is rejected as not JSON in UTF-8", async (_what, body) => {
      const response = await raw("list_no_dup", body);
      expect(response.outcome()).toBe("400 invalid_request");
      expect(response.json().error.details).toEqual([
        { path: "", reason: "not valid JSON in UTF-8" },
      ]);
    });

    test.each([
      ["null", "null"],
      ["a number", "7"],
      ["a string", `"x"`],
      ["a list of the right thing", `[{"email":"ann@example.com"}]`],
    ])("that is %s is rejected", async (_what, body) => {
      expect((await raw("list_no_dup", body)).outcome()).toBe("400 invalid_request");
    });
  });

  describe("values", () => {
    const long = "n".repeat(257);
    test.each<[string, Operation, object, string]>([
      ["a lone surrogate in a name", "protect", { key_name: "\ud800", key_value: "v" }, "key_name"],
      [
        "a lone surrogate in a value",
        "protect",
        { key_name: "n", key_value: "\udc00" },
        "key_value",
      ],
      ["a lone surrogate in an address", "list_no_dup", { email: "\ud800@example.com" }, "email"],
      ["a NUL in an address", "list_no_dup", { email: "ann\u0000@example.com" }, "email"],
      ["a NUL in an owner", "expose_link", { key_name: "n", owner: "\u0000" }, "owner"],
      ["C1 in a filename", "download_file", { filename: "a\u0085b" }, "filename"],
      ["DEL in a team's name", "team_create", { group_id: "\u007f" }, "group_id"],
      ["a name that is too long", "expose", { key_name: long }, "key_name"],
      ["a list where there is one name", "expose", { key_name: ["n"] }, "key_name"],
      ["an empty list of names", "delete", { key_name: [] }, "key_name"],
      ["too many names", "delete", { key_name: Array(10_001).fill("n") }, "key_name"],
      ["a name in a list that is none", "delete", { key_name: ["a", ""] }, "key_name.1"],
      ["a number for a value", "protect", { key_name: "n", key_value: 1 }, "key_value"],
      ["null for a value", "protect", { key_name: "n", key_value: null }, "key_value"],
      [
        "a string for a version",
        "version_expose",
        { key_name: "n", key_version: "1" },
        "key_version",
      ],
      ["a part of a version", "version_expose", { key_name: "n", key_version: 1.5 }, "key_version"],
      ["version 0", "version_expose", { key_name: "n", key_version: 0 }, "key_version"],
      [
        "a version beyond what doubles tell apart",
        "version_expose",
        { key_name: "n", key_version: 2 ** 53 },
        "key_version",
      ],
      [
        "a word for a count of minutes",
        "protect",
        { key_name: "n", key_value: "v", delete_time: "soon" },
        "delete_time",
      ],
      [
        "a truth for a switch",
        "protect_link",
        { key_name: "n", key_value: "v", without_list: true },
        "without_list",
      ],
    ])("%s is rejected with its path", async (_what, operation, body, path) => {
      const response = await ann.call(operation, body);
      expect(response.outcome()).toBe("400 invalid_request");
      expect(response.json().error.details.map((detail: { path: string }) => detail.path)).toEqual([
        path,
      ]);
    });

    test.each([
      ["a version", "version_expose", `,"key_name":"n","key_version":1e400`, "key_version"],
      [
        "a count of minutes",
        "protect",
        `,"key_name":"n","key_value":"v","delete_time":1e400`,
        "delete_time",
      ],
      [
        "metadata",
        "protect",
        `,"key_name":"n","key_value":"v","metadata":{"x":[-1e400]}`,
        "metadata.x",
      ],
      [
        "a version of many digits",
        "version_expose",
        `,"key_name":"n","key_version":${"9".repeat(400)}`,
        "key_version",
      ],
    ] as const)(
      "a number beyond a double is rejected: %s",
      async (_what, operation, more, path) => {
        const response = await raw(operation, list(more));
        expect(response.outcome()).toBe("400 invalid_request");
        expect(response.json().error.details[0].path).toBe(path);
      },
    );

    test.each(["1e400", "1e308", "-1", "0", "1.5", '"1"'])(
      "a token for %s hours is rejected",
      async (hours) => {
        const response = await raw(
          "generate_access_token",
          list(`,"password":"p","scope":"s","expiration_hours":${hours}`),
        );
        expect(response.outcome()).toBe("400 invalid_request");
      },
    );

    test.each([
      ["a NUL", "secret_name:a\u0000"],
      ["a lone surrogate", "secret_name:\ud800"],
      ["a line break", "secret_name:a\nb"],
      ["an escape that is no UTF-8", "secret_name:%ff"],
    ])("a scope with %s is rejected", async (_what, pair) => {
      const others = "cloud_type:*,environment_type:*,application_type:*,classification:*,";
      expect((await vault.logIn(ann.email, { scope: others + pair })).outcome()).toBe(
        "400 invalid_scope",
      );
    });

    test.each(["\u0000", "\ud800", "ann\u0000@example.com"])(
      "a login as %j is rejected without a lookup",
      async (email) => {
        expect((await vault.logIn(email, { password: "p" })).outcome()).toBe("400 invalid_request");
      },
    );

    test("unusual metadata is returned unchanged", async () => {
      const odd = `{"__proto__":{"__proto__":null},"":"","\\u0000":"\\u0000","\\ud800":"\\udfff","n":1e308,"deep":[[[[]]]]}`;
      await raw("protect", list(`,"key_name":"odd","key_value":"\\u0000","metadata":${odd}`));
      const { metadata, key_value: value } = (await ann.call("expose", { key_name: "odd" })).json();
      expect(value).toBe("\u0000");
      const kept = Object.entries(metadata).filter(([name]) =>
        Object.hasOwn(JSON.parse(odd), name),
      );
      expect(Object.fromEntries(kept)).toEqual(JSON.parse(odd));
    });

    test("__proto__ is a valid name of a secret, a file and a team", async () => {
      const name = "__proto__";
      await ann.call("protect", { key_name: name, key_value: "v" });
      expect((await ann.upload([{ filename: name, bytes: Buffer.from("bytes") }])).status).toBe(
        200,
      );
      expect(
        (await ann.call("team_create", { group_id: name, members: [] })).json().team.group_id,
      ).toBe(name);
      const grant = {
        key_name: [name],
        permission: "R",
        usr_id_from: ann.email,
        group_id_to: name,
      };
      expect((await ann.call("share", grant)).json().shared).toMatchObject([
        { key_name: name, to: name },
      ]);
      expect((await ann.call("download_file", { filename: name })).bytes.toString()).toBe("bytes");
      expect(
        (await ann.call("unshare", { key_name: name, group_id_to: name })).json().unshared,
      ).toHaveLength(1);
      expect((await ann.call("delete", { key_name: [name] })).json()).toEqual({ deleted: [name] });
      expect((await ann.call("team_delete", { group_id: name })).status).toBe(200);
    });
  });

  describe("HTTP", () => {
    test("accepts a chunked body", async () => {
      const half = list().length >> 1;
      const pieces = [chunk(list().subarray(0, half)), chunk(list().subarray(half)), "0\r\n\r\n"];
      expect(await speak(head("transfer-encoding: chunked"), ...pieces)).toMatch(
        /^HTTP\/1\.1 200 /u,
      );
    });

    test("rejects a chunked body once it is too large", async () => {
      const mebibyte = chunk(Buffer.alloc(0x100000, "x"));
      const response = await speak(
        head("transfer-encoding: chunked"),
        mebibyte,
        mebibyte,
        mebibyte,
        "0\r\n\r\n",
      );
      expect(outcomeOf(response)).toBe("413 too_large");
    });

    test.each([
      ["two lengths", ["content-length: 2", "content-length: 3"], "{}"],
      ["a length and chunks", ["content-length: 2", "transfer-encoding: chunked"], "0\r\n\r\n"],
      ["a length that is none", ["content-length: -1"], "{}"],
      ["a chunk without a size", ["transfer-encoding: chunked"], "x\r\n"],
      ["a control character in a header", ["x-odd: a\u0001b"], ""],
      ["a header without a name", [": x"], ""],
    ])("rejects %s as malformed HTTP", async (_what, lines, body) => {
      expect(outcomeOf(await speak(head(...lines), body))).toBe("400 invalid_request");
    });

    test.each([
      ["one long header", [`x-long: ${"x".repeat(20_000)}`]],
      ["many headers", Array.from({ length: 3000 }, (_, index) => `x-${index}: y`)],
    ])("rejects %s with 431", async (_what, lines) => {
      expect(outcomeOf(await speak(head(...lines)))).toBe("431 invalid_request");
    });

    test("rejects an empty body, with and without content-length", async () => {
      for (const lines of [[], ["content-length: 0"]]) {
        expect(outcomeOf(await speak(head(...lines)))).toBe("400 invalid_request");
      }
    });
  });

  describe("slow requests", () => {
    test.each([
      ["in its headers", (start: string) => start.slice(0, 40)],
      ["in its body", (start: string) => `${start}{"email":`],
    ])(
      "a request that stalls %s is rejected with 408 while others are served",
      async (_what, cut) => {
        await using slow = await TestVault.start({ limits: { requestTimeoutMs: 200 } });
        const socket: Socket = connect(Number(new URL(slow.url).port), "127.0.0.1");
        await once(socket, "connect");
        socket.write(cut(head("content-length: 100")));
        const caller = await slow.client("ann@example.com");
        expect((await caller.call("list_no_dup")).status).toBe(200);
        expect(outcomeOf(await text(socket))).toBe("408 invalid_request");
      },
    );

    test("a stalled upload stores nothing", async () => {
      await using slow = await TestVault.start({ limits: { requestTimeoutMs: 300 } });
      const caller = await slow.client("ann@example.com");
      const socket: Socket = connect(Number(new URL(slow.url).port), "127.0.0.1");
      const lines = [
        `POST ${operationPath.protect_file} HTTP/1.1`,
        "host: localhost",
        `authorization: ${caller.token}`,
        `email: ${caller.email}`,
        "countoffiles: 1",
        "content-type: multipart/form-data; boundary=b",
        "content-length: 1000",
      ];
      socket.write(
        `${lines.join("\r\n")}\r\n\r\n--b\r\nContent-Disposition: form-data; filename="f"\r\n\r\nsome`,
      );
      expect(outcomeOf(await text(socket))).toMatch(/^40[08] invalid_request$/u);
      expect((await caller.call("list_file")).json()).toEqual({ files: [] });
    });
  });
});
