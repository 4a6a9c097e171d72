import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Redacted } from "../../lib/redacted.ts";
import {
  byKey,
  bytesDigest,
  type Content,
  contentDigest,
  readContent,
  renderContent,
} from "./content.ts";
import type { TargetKind } from "./sync-resource.ts";
import type { SyncedKey } from "./target.ts";

const KINDS: readonly TargetKind[] = ["Secret", "ConfigMap"];
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

/** Serializes and parses an object, as a request to the API server and its response do. */
const overTheWire = (object: object): Record<string, unknown> => JSON.parse(JSON.stringify(object));

/** Formats a content as `key=hex`, for comparison and output. */
const plain = (content: Content): string[] =>
  [...content].sort(byKey).map(([key, value]) => `${key}=${Buffer.from(value).toString("hex")}`);

const legalKey = fc.oneof(
  fc.constantFrom(
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "-",
    "_",
    "a.b",
    "0",
    "1",
  ),
  fc.stringMatching(/^[-._a-zA-Z0-9]{1,40}$/),
);

const awkwardBytes = fc.constantFrom(
  bytes(),
  bytes(0),
  bytes(0xef, 0xbb, 0xbf), // a byte order mark and nothing else
  bytes(0xef, 0xbb, 0xbf, 0x61),
  bytes(0xff, 0xfe, 0x61, 0x00), // UTF-16
  bytes(0xed, 0xa0, 0x80), // what a lone surrogate would be in UTF-8
  bytes(0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80), // a pair of them (CESU-8)
  bytes(0xc0, 0x80), // an overlong NUL
  bytes(0xf4, 0x90, 0x80, 0x80), // beyond Unicode
  bytes(0xe2, 0x82), // cut off in the middle
  text("line\r\nline\rline\n"),
  text("\u{1f512} ключ 鍵"),
  text("\ufffd"), // the replacement character itself is text like any other
  text("\u2028\u2029\u0085"),
  text(" \t leading and trailing \n"),
  text('{"a":"b"}'),
);

const content: fc.Arbitrary<Content> = fc
  .uniqueArray(fc.tuple(legalKey, fc.oneof(awkwardBytes, fc.uint8Array({ maxLength: 64 }))), {
    selector: ([key]) => key,
    maxLength: 6,
  })
  .map((entries) => new Map(entries));

describe("readContent returns the rendered content byte for byte", () => {
  test.each(KINDS)("for a %s with any valid keys, serialized as JSON", (kind) => {
    fc.assert(
      fc.property(content, (given) => {
        const sent = overTheWire(renderContent(kind, given));
        expect(plain(readContent(kind, sent))).toEqual(plain(given));
      }),
      { numRuns: 500 },
    );
  });

  test("for bytes that are a view of a larger buffer", () => {
    const buffer = Uint8Array.from([1, 2, 3, 255, 5, 6]).subarray(2, 5);
    for (const kind of KINDS) {
      const sent = overTheWire(renderContent(kind, new Map([["k", buffer]])));
      expect(plain(readContent(kind, sent))).toEqual(["k=03ff05"]);
    }
  });

  test("for 1 MiB with all byte values", () => {
    const large = Uint8Array.from({ length: 1024 * 1024 }, (_, at) => at % 251);
    for (const kind of KINDS) {
      const back = readContent(kind, overTheWire(renderContent(kind, new Map([["k", large]])))).get(
        "k",
      );
      expect(Buffer.from(large).equals(back ?? bytes())).toBe(true);
    }
  });
});

describe("renderContent", () => {
  test("orders the keys by their code units", () => {
    const keys = ["b", "a", "é", "Z", "c", "_"];
    const rendered = renderContent("Secret", new Map(keys.map((name) => [name, text(name)])));
    expect(Object.keys(rendered.data ?? {})).toEqual(["Z", "_", "a", "b", "c", "é"]);
  });

  test("encodes the content of a Secret as base64 in data, ordered by key", () => {
    expect(
      JSON.stringify(
        renderContent(
          "Secret",
          new Map([
            ["b", text("2")],
            ["a", bytes(255)],
          ]),
        ),
      ),
    ).toBe('{"data":{"a":"/w==","b":"Mg=="}}');
  });

  test("stores text of a ConfigMap in data and other bytes in binaryData, and always sets both", () => {
    expect(
      overTheWire(
        renderContent(
          "ConfigMap",
          new Map([
            ["t", text("a\0b")],
            ["b", bytes(0xc0, 0x80)],
          ]),
        ),
      ),
    ).toEqual({
      data: { t: "a\0b" },
      binaryData: { b: "wIA=" },
    });
    expect(overTheWire(renderContent("ConfigMap", new Map()))).toEqual({
      data: {},
      binaryData: {},
    });
  });

  test("keeps a byte order mark in text", () => {
    const rendered = renderContent("ConfigMap", new Map([["t", bytes(0xef, 0xbb, 0xbf, 0x61)]]));
    expect(rendered.data?.t).toBe("\ufeffa");
  });

  test("treats keys named like members of Object.prototype as ordinary keys", () => {
    for (const kind of KINDS) {
      const rendered = renderContent(
        kind,
        new Map([
          ["__proto__", text("x")],
          ["constructor", text("y")],
        ]),
      );
      expect(Object.keys(rendered.data ?? {})).toEqual(["__proto__", "constructor"]);
    }
  });
});

test.each<[string, Record<string, unknown>]>([
  ["no fields", {}],
  ["null", { data: null, binaryData: null }],
  ["texts", { data: "abc", binaryData: 7 }],
  ["values that are no texts", { data: { a: 1, b: null, c: {} } }],
])("readContent returns no content for an object with malformed data: %s", (_, object) => {
  for (const kind of KINDS) expect(plain(readContent(kind, object))).toEqual([]);
});

describe("contentDigest", () => {
  const key = new Redacted(text("key of the installation"));
  const keysOf = (given: Content, by = key) =>
    new Map([...given].map(([name, value]) => [name, bytesDigest(by, value)]));
  const digest = (given: Content): string =>
    contentDigest(key, { type: "Opaque", keys: keysOf(given), synced: new Map() });

  // A release that computed another digest would rewrite every target.
  test("is the same in every release", () => {
    const given: Content = new Map([
      ["b", text("2")],
      ["a", bytes(255)],
    ]);
    const synced = new Map<string, SyncedKey>([
      ["b", { version: 2, source: "t", createdAt: 5 }],
      ["a", { version: 1, source: "s" }],
    ]);
    const digestOf = (type: string | undefined): string =>
      contentDigest(key, { type, keys: keysOf(given), synced });
    expect(bytesDigest(key, text("2")).digest).toBe("vMq1js0mDE35LucpV-ZSgV86ptRVFLXc_QwQPJ0ctSU");
    expect(digestOf("Opaque")).toBe("wIFzRPRxLrwoaLoBYsnXdUFbntf3ftcPi3qZQ1TjE0Y");
    expect(digestOf(undefined)).toBe("Rei0zTR1CZ9vaZjkES4SlDQ51iwti8LBHX384xjKCig");
  });

  test("is independent of the order of the keys, and of the claims about them", () => {
    fc.assert(
      fc.property(content, (given) => {
        const claims = [...given.keys()].map(
          (name, at) => [name, { version: at + 1, source: "s" }] as const,
        );
        const claimed = (synced: typeof claims) =>
          contentDigest(key, { type: "Opaque", keys: keysOf(given), synced: new Map(synced) });
        expect(claimed(claims.toReversed())).toBe(claimed(claims));
        expect(digest(new Map([...given].toReversed()))).toBe(digest(given));
        expect(digest(new Map([...given].map(([name, value]) => [name, Buffer.from(value)])))).toBe(
          digest(given),
        );
      }),
    );
  });

  test("differs for different contents", () => {
    fc.assert(
      fc.property(content, content, (one, other) => {
        const same = JSON.stringify(plain(one)) === JSON.stringify(plain(other));
        expect(digest(one) === digest(other)).toBe(same);
      }),
    );
  });

  test("differs if bytes move between a key and its value, or between two values", () => {
    const contents: Content[] = [
      new Map([["ab", text("c")]]),
      new Map([["a", text("bc")]]),
      new Map([["abc", text("")]]),
      new Map([
        ["a", text("b")],
        ["c", text("")],
      ]),
      new Map([
        ["a", text("")],
        ["c", text("b")],
      ]),
      new Map([
        ["a", text("")],
        ["bc", text("")],
      ]),
      new Map([["a1", text(":b")]]),
      new Map([["a", text("1::b")]]),
      new Map([["a", text("1:b0:")]]),
      new Map([
        ["a", text("")],
        ["b", text("")],
      ]),
      new Map([["a", text("0:1:b0:")]]),
      new Map(),
    ];
    expect(new Set(contents.map(digest)).size).toBe(contents.length);
  });

  test("differs for contents that are equal without their length prefixes", () => {
    expect(digest(new Map([["a", text("1:c")]]))).not.toBe(
      digest(
        new Map([
          ["a", text("")],
          ["c", text("")],
        ]),
      ),
    );
    expect(digest(new Map([["a", text("xb7:1234567")]]))).not.toBe(
      digest(
        new Map([
          ["a1", text("x")],
          ["b", text("1234567")],
        ]),
      ),
    );
  });

  test("differs for another type, and for another version, source or creation time of a key", () => {
    const given: Content = new Map([["a", text("x")]]);
    const claims: [string, SyncedKey][][] = [
      [],
      [["a", { version: 1, source: "s" }]],
      [["a", { version: 2, source: "s" }]],
      [["a", { version: 1, source: "t" }]],
      [["a", { version: 1, source: "s", createdAt: 1_763_700_000_000 }]],
      [["b", { version: 1, source: "s" }]],
    ];
    const digests = ["Opaque", "kubernetes.io/tls", undefined].flatMap((type) =>
      claims.map((claimed) =>
        contentDigest(key, { type, keys: keysOf(given), synced: new Map(claimed) }),
      ),
    );
    expect(new Set(digests).size).toBe(digests.length);
  });

  test("differs for another HMAC key and from a plain hash", () => {
    const given: Content = new Map([["a", text("hunter2")]]);
    const other = new Redacted(text("another"));
    expect(
      contentDigest(other, { type: "Opaque", keys: keysOf(given, other), synced: new Map() }),
    ).not.toBe(digest(given));
    expect(digest(given)).toMatch(/^[\w-]{43}$/);
  });

  test("of the bytes of one key contains their size and neither the bytes nor a plain hash of them", () => {
    const one = bytesDigest(key, text("hunter2"));
    expect(one).toEqual({ digest: expect.stringMatching(/^[\w-]{43}$/), size: 7 });
    expect(one.digest).not.toBe(createHash("sha256").update("hunter2").digest("base64url"));
    expect(bytesDigest(key, text("hunter3")).digest).not.toBe(one.digest);
    expect(bytesDigest(new Redacted(text("another")), text("hunter2")).digest).not.toBe(one.digest);
  });
});
