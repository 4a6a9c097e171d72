import { Readable } from "node:stream";
import type { JsonRequest, OperationDefinition } from "../../src/protocol/define-operation.ts";
import {
  canonicalEmail,
  isEmailAddress,
  isPlainEmailAddress,
} from "../../src/protocol/email-address.ts";
import { nameProblem } from "../../src/protocol/names.ts";
import { operations } from "../../src/protocol/operations.ts";
import { scopeString } from "../../src/protocol/schemas/scope-string.ts";
import { sessionOperations } from "../../src/protocol/session-operations.ts";
import { clientNetwork } from "../../src/vault/server/http/client-network.ts";
import { sealLine } from "../../src/vault/server/audit/audit-line.ts";
import {
  boundedForStranger,
  describeRequest,
  inBrief,
  inFull,
} from "../../src/vault/server/audit/describe-request.ts";
import { headerParameters, partFilename } from "../../src/vault/server/files/disposition.ts";
import { multipartParts } from "../../src/vault/server/files/multipart.ts";
import { isKnown } from "../../src/vault/server/http/etag.ts";
import { parseJsonBody } from "../../src/vault/server/http/json-body.ts";
import { defaultLimits } from "../../src/vault/server/limits.ts";
import { isDeliverable } from "../../src/vault/server/mail/email-transport.ts";
import { mediaType, parseBody } from "../../src/vault/server/routes/operation.ts";
import { preferredWaitMs } from "../../src/vault/server/protection/waiting-lists.ts";
import type { FuzzTarget } from "./search.ts";
import type { Piece } from "./shape.ts";
import { formatScope, parseScope } from "../../src/protocol/scope.ts";

const MIB = 1024 * 1024;
/** Sum of the headers of a request that Node.js accepts. */
const HEADER_BYTES = 16 * 1024;
const CHUNK_BYTES = 64 * 1024;

const utf8 = (text: string): string => Buffer.from(text).toString("latin1");
const once = (text: string): Piece => ({ text, pumped: false });
const pumped = (text: string): Piece => ({ text, pumped: true });

/**
 * Texts that matter to every parser: controls, white space, the ends of ranges, bytes that are not
 * UTF-8.
 */
const ODD = [
  "a",
  "A",
  "0",
  " ",
  "\t",
  "\0",
  "\x7f",
  "\xff",
  "\xc3",
  utf8("é"),
  utf8("\u2028"),
  utf8("\u{E000}"),
  utf8("\u{1F600}"),
];
const PERCENT = ["%", "%4", "%41", "%2C", "%00", "%E2%82%AC", "%FF", "%25", "%2a"];

const JSON_TEXTS = [
  "[",
  "]",
  "{",
  "}",
  '"',
  ":",
  ",",
  "[]",
  "{}",
  "[:]",
  '"a":',
  '"§":0,',
  '"§":[],',
  '{"§":',
  '"§",',
  '""',
  "\\",
  '\\"',
  "\\\\",
  "\\u0041",
  "\\ud800",
  "\\u00",
  "0",
  "-",
  "1e999",
  "1e-999",
  "0.1",
  "9007199254740993",
  "true",
  "null",
  " ",
  "\n",
  "\xef\xbb\xbf",
  '"__proto__":',
  '"constructor":{"prototype":',
  "A",
];

/** Returns `parse` without its rejections. */
function tolerant(parse: (input: Buffer) => unknown): (input: Buffer) => unknown {
  return (input) => {
    try {
      return parse(input);
    } catch {
      return undefined;
    }
  };
}

/** Returns a target for a header that the server parses, decoded as Node.js does. */
function header(
  name: string,
  fragments: readonly string[],
  parse: (value: string) => unknown,
): FuzzTarget {
  const whole = [...ODD, ...PERCENT, ...fragments];
  return {
    name,
    maxBytes: HEADER_BYTES,
    fragments: whole,
    parse: tolerant((input) => parse(input.toString("latin1"))),
  };
}

const jsonBody: FuzzTarget = {
  name: "JSON body",
  maxBytes: MIB,
  fragments: [...JSON_TEXTS, ...ODD],
  shapes: [
    [once('"'), pumped("A"), once('"'), pumped("[:]")],
    [pumped("["), pumped("]")],
    [once("{"), pumped('"§":0,'), once('"":0}')],
    [once("["), pumped("[],"), once("0]")],
    [once('"'), pumped("\\u0041"), once('"')],
  ],
  parse: tolerant((input) => parseJsonBody(input, defaultLimits)),
};

type JsonOperation = OperationDefinition & { readonly request: JsonRequest };

function isJsonOperation(operation: OperationDefinition): operation is JsonOperation {
  return typeof operation.request === "function";
}

/**
 * Returns a target for the body of an operation: its JSON, its schema, and the line that the audit
 * log has of it.
 */
function requestTarget({
  name,
  request,
  example,
  authentication,
  audit,
  path,
}: JsonOperation): FuzzTarget {
  const schema = request(defaultLimits);
  const fields = Object.keys({ ...example.request, email: "" });
  const isOpen = authentication === "none" || path.startsWith("/app/") || path.endsWith("token");
  const head = { log: "", seq: 0, hash: "" };
  const about = (body: unknown) => describeRequest(body, ["email", ...audit.fields]);
  return {
    name: `request ${name}`,
    maxBytes: isOpen ? defaultLimits.unauthenticatedBodyBytes : MIB,
    fragments: [
      ...JSON_TEXTS,
      ...ODD,
      ...fields.flatMap((field) => [
        `"${field}":`,
        `{"${field}":"`,
        `{"${field}":["`,
        `,"${field}":[`,
      ]),
    ],
    shapes: fields.flatMap((field) => [
      [once(`{"${field}":["`), pumped('§","'), once('"]}')],
      [once(`{"${field}":[`), pumped("0,"), once("0]}")],
      [once(`{"${field}":{`), pumped('"§":1e999,'), once('"":0}}')],
      [once(`{"${field}":"`), pumped(utf8("\u{E000}")), once('"}')],
    ]),
    parse: (input) => {
      try {
        const body = parseJsonBody(input, defaultLimits);
        sealLine(head, "", inBrief(about(body)).about);
        sealLine(head, "", boundedForStranger(about(body)));
        const parsed = JSON.stringify(parseBody(schema, body));
        sealLine(head, "", inFull(about(body)).about);
        return parsed;
      } catch {
        return undefined;
      }
    },
  };
}

async function* chunks(input: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < input.length; at += CHUNK_BYTES)
    yield Buffer.from(input.subarray(at, at + CHUNK_BYTES));
}

const multipart: FuzzTarget = {
  name: "multipart body",
  maxBytes: MIB,
  fragments: [
    ...ODD,
    ...PERCENT,
    "\r\n",
    "\r",
    "\n",
    "--b",
    "\r\n--b\r\n",
    "\r\n--b--",
    "\r\n\r\n",
    "-",
    "b",
    "content-disposition: form-data;",
    "x:§\r\n",
    '; filename="a§"',
    "; filename*=utf-8''",
    '\\"',
    "; name=",
    "content-transfer-encoding: 7bit\r\n",
  ],
  shapes: [
    [once("--b\r\n"), pumped("a:b\r\n\r\n\r\n--b\r\n"), once("a:b\r\n\r\n\r\n--b--")],
    [
      once("--b\r\ncontent-disposition: form-data; filename=a\r\n\r\n"),
      pumped("\r\n--"),
      once("\r\n--b--"),
    ],
    [
      once("--b\r\n"),
      pumped("content-disposition: form-data; filename=a§\r\n\r\n\r\n--b\r\n"),
      once(""),
    ],
    [once("--b--\r\n"), pumped("a")],
  ],
  parse: async (input) => {
    try {
      for await (const part of multipartParts(Readable.from(chunks(input)), "b")) {
        if (partFilename(part.headers.get("content-disposition") ?? "") === undefined) continue;
        for await (const _ of part.content);
      }
    } catch {
      // Rejected.
    }
  },
};

const PARAMETERS = [
  ";",
  "; ",
  "; a=",
  '; a="',
  '"',
  '\\"',
  "=",
  "form-data;",
  "filename=",
  "filename*=utf-8''",
  "boundary=",
  "/",
  "\\",
  "'",
];
const request = (headers: object): never => ({ headers }) as never;

const headers: readonly FuzzTarget[] = [
  header("content-type", ["multipart/form-data", "application/json", ...PARAMETERS], (value) => {
    mediaType(request({ "content-type": value }));
    headerParameters(value);
  }),
  header("content-disposition", ["form-data", "filename", ...PARAMETERS], partFilename),
  header("if-none-match", ['"', 'W/"', '"1-a"', ",", ", ", "*", "W/"], (value) => {
    isKnown(request({ "if-none-match": value }), 'W/"1-a"');
  }),
  header("prefer", ["wait", "wait=", "=", ",", ";", '"', "respond-async", "1"], (value) =>
    preferredWaitMs({ prefer: value }),
  ),
  header(
    "forwarded address",
    ["::", ":", "[", "]", ".", "1.", "ffff:", "::ffff:", "0", "f", "/", "]:"],
    clientNetwork,
  ),
  header("email", ["@", ".", "a@b.c", "-", '"', "<", "(", "a.", "b-"], (value) => {
    isEmailAddress(value);
    isPlainEmailAddress(value);
    isDeliverable(value);
    return nameProblem(canonicalEmail(value), 320);
  }),
];

const scope: FuzzTarget = {
  name: "scope",
  maxBytes: defaultLimits.unauthenticatedBodyBytes,
  fragments: [
    ...ODD,
    ...PERCENT,
    ":",
    ",",
    "*",
    "all",
    "cloud_type:",
    "secret_name:§,",
    "classification:a,",
    "environment_type:*,",
  ],
  shapes: [
    [
      once("cloud_type:*,environment_type:*,application_type:*,classification:*"),
      pumped(",secret_name:§"),
    ],
    [
      once("cloud_type:*,environment_type:*,application_type:*,classification:*,secret_name:"),
      pumped("%41"),
    ],
  ],
  parse: tolerant((input) => {
    const text = input.toString("utf8");
    scopeString.safeParse(text);
    return formatScope(parseScope(text));
  }),
};

/** Everything of the server that parses what a stranger sends, except the HTTP itself. */
export function parserTargets(): FuzzTarget[] {
  const definitions: readonly OperationDefinition[] = [
    ...Object.values(operations),
    ...Object.values(sessionOperations),
  ];
  return [
    jsonBody,
    multipart,
    scope,
    ...headers,
    ...definitions.filter(isJsonOperation).map(requestTarget),
  ];
}
