import { expect, test } from "vitest";
import type { Operation } from "../../src/protocol/operation-paths.ts";
import { Lanes } from "./support/lanes.ts";
import type { Fault } from "../lab/real/fault-proxy.ts";
import * as faults from "./support/faults.ts";

/**
 * Responses that are no responses of the vault. Each row: the operator reports it, the Secret keeps
 * its bytes, and once the fault has ended, the next version is synced.
 */
const shared = Lanes.use(() => ({ accounts: 60 }));

interface Row {
  readonly row: string;
  readonly what: string;
  readonly fault: Fault;
  readonly reason: string;
  readonly message?: RegExp;
}

const lists: readonly Operation[] = ["list_no_dup", "list_file"];
const reads: readonly Operation[] = ["expose", "version_expose"];
const deep = "[".repeat(100_000) + "]".repeat(100_000);

const onLists: readonly Row[] = [
  {
    row: "V2",
    what: "a body of one byte a second",
    fault: faults.drip,
    reason: "VaultUnreachable",
    message: /no response from .* in time/,
  },
  {
    row: "V2",
    what: "headers of one byte a second",
    fault: faults.slowHeaders,
    reason: "VaultUnreachable",
    message: /no response from .* in time/,
  },
  {
    row: "V3",
    what: "status 500",
    fault: faults.page(500),
    reason: "VaultUnreachable",
    message: /500/,
  },
  {
    row: "V3",
    what: "status 502",
    fault: faults.page(502),
    reason: "VaultUnreachable",
    message: /502/,
  },
  {
    row: "V3",
    what: "status 504",
    fault: faults.page(504),
    reason: "VaultUnreachable",
    message: /504/,
  },
  {
    row: "V5",
    what: "a login page with status 200",
    fault: faults.page(200),
    reason: "UnexpectedResponse",
  },
  { row: "V5", what: "an empty body", fault: faults.body(""), reason: "UnexpectedResponse" },
  { row: "V5", what: "an array", fault: faults.body("[]"), reason: "UnexpectedResponse" },
  {
    row: "V5",
    what: "an entry with two versions",
    fault: faults.body('{"secrets":[{"key_name":"a","key_version":1,"key_version":2}]}'),
    reason: "UnexpectedResponse",
  },
  { row: "V5", what: "null", fault: faults.body("null"), reason: "UnexpectedResponse" },
  {
    row: "V5",
    what: "a list of another type",
    fault: faults.body('{"secrets":"none"}'),
    reason: "UnexpectedResponse",
  },
  {
    row: "V5",
    what: "NaN as a version",
    fault: faults.body('{"secrets":[{"key_name":"a","key_version":NaN}]}'),
    reason: "UnexpectedResponse",
  },
  {
    row: "V5",
    what: "a list with a lone surrogate",
    fault: faults.body('{"secrets":[{"key_name":"\\ud800","key_version":1}]}'),
    reason: "UnexpectedResponse",
  },
  {
    row: "V5",
    what: "bytes that are not UTF-8",
    fault: faults.body(Buffer.from('{"secrets":[{"key_name":"\xff"}]}', "latin1")),
    reason: "UnexpectedResponse",
  },
  {
    row: "V5",
    what: "100,000 nested arrays",
    fault: faults.body(`{"secrets":${deep}}`),
    reason: "UnexpectedResponse",
  },
  { row: "V5", what: "a body of 1 GiB", fault: faults.gibibyte, reason: "TooLarge" },
  { row: "V5", what: "a body without end", fault: faults.endless, reason: "TooLarge" },
  {
    row: "V6",
    what: "a body shorter than its content-length",
    fault: faults.truncated,
    reason: "VaultUnreachable",
    message: /closed the connection/,
  },
  {
    row: "V6",
    what: "a chunked body that is cut",
    fault: faults.chunkedCut,
    reason: "VaultUnreachable",
    message: /closed the connection/,
  },
  { row: "V6", what: "a compressed body", fault: faults.compressed, reason: "UnexpectedResponse" },
  { row: "V6", what: "a gzip bomb", fault: faults.gzipBomb(), reason: "UnexpectedResponse" },
  {
    row: "V6",
    what: "a body that is compressed twice",
    fault: faults.chainedEncoding,
    reason: "UnexpectedResponse",
  },
  {
    row: "V7",
    what: "status 400",
    fault: faults.error(400, "invalid_request"),
    reason: "UnexpectedResponse",
  },
  {
    row: "V7",
    what: "status 404 with a page",
    fault: faults.page(404),
    reason: "UnexpectedResponse",
  },
  {
    row: "V7",
    what: "status 404 with JSON",
    fault: faults.error(404, "not_found"),
    reason: "UnexpectedResponse",
  },
  {
    row: "V7",
    what: "status 410 with a page",
    fault: faults.page(410),
    reason: "UnexpectedResponse",
  },
];

test.concurrent.each(onLists)(
  "$row: $what instead of a list",
  async ({ row, what, fault, reason, message }) => {
    const { world } = shared;
    await using lane = await world.lane(laneName(`${row} list ${what}`));
    lane.proxy.inject(faults.on(lists, fault));
    const value = await lane.protect();
    const reported = await lane.connectionReports(reason, message);
    expect(reported.message).not.toContain("Please log in");
    expect(lane.written).toEqual([lane.values[0]]);
    await lane.proxy.heal();
    // A list that is too long is requested again after 5 minutes, or after a change of the
    // connection.
    if (reason === "TooLarge")
      await world.patch("VaultConnection", lane.name, { spec: { refreshInterval: "6s" } });
    await lane.inSync();
    expect(lane.written).toEqual([lane.values[0], value]);
  },
);

const onReads: readonly Row[] = [
  {
    row: "V1",
    what: "a reset connection",
    fault: faults.reset,
    reason: "VaultUnreachable",
    message: /closed the connection/,
  },
  {
    row: "V1",
    what: "no response",
    fault: faults.silence,
    reason: "VaultUnreachable",
    message: /did not respond in time/,
  },
  {
    row: "V3",
    what: "status 503",
    fault: faults.page(503),
    reason: "VaultUnreachable",
    message: /503/,
  },
  {
    row: "V5",
    what: "a login page with status 200",
    fault: faults.page(200),
    reason: "UnexpectedResponse",
  },
  {
    row: "V5",
    what: "another schema",
    fault: faults.body('{"value":1}'),
    reason: "UnexpectedResponse",
  },
  {
    row: "V5",
    what: "two values",
    fault: faults.changedBytes((bytes) => withValue(bytes, '"other","key_value":')),
    reason: "UnexpectedResponse",
  },
  {
    row: "V5",
    what: "a lone surrogate",
    fault: faults.changedBytes((bytes) => withValue(bytes, '"\\ud800","replaced":')),
    reason: "UnexpectedResponse",
  },
  {
    row: "V6",
    what: "a truncated body",
    fault: faults.truncated,
    reason: "VaultUnreachable",
    message: /closed the connection/,
  },
  { row: "V6", what: "a gzip bomb", fault: faults.gzipBomb(), reason: "UnexpectedResponse" },
  { row: "V7", what: "status 403", fault: faults.error(403, "forbidden"), reason: "ScopeDenied" },
  {
    row: "V7",
    what: "status 404 with JSON",
    fault: faults.error(404, "secret_not_found"),
    reason: "SourceMissing",
  },
  {
    row: "V7",
    what: "status 404 with a page",
    fault: faults.page(404),
    reason: "UnexpectedResponse",
  },
  {
    row: "V7",
    what: "status 409",
    fault: faults.error(409, "conflict"),
    reason: "UnexpectedResponse",
  },
  { row: "V7", what: "status 410", fault: faults.error(410, "secret_expired"), reason: "Expired" },
  {
    row: "V7",
    what: "status 422",
    fault: faults.error(422, "invalid_request"),
    reason: "UnexpectedResponse",
  },
];

test.concurrent.each(onReads)(
  "$row: $what instead of a value",
  async ({ row, what, fault, reason, message }) => {
    const { world } = shared;
    await using lane = await world.lane(laneName(`${row} value ${what}`));
    lane.proxy.inject(faults.on(reads, fault));
    await lane.protect();
    await lane.secretReports(reason, message);
    expect(lane.written).toEqual([lane.values[0]]);
    await lane.proxy.heal();
    // A permanent failure is retried when the vault shows a change.
    const value = await lane.protect();
    await lane.inSync();
    expect(lane.written.filter((written) => written !== lane.values[1])).toEqual([
      lane.values[0],
      value,
    ]);
  },
);

/** Inserts JSON directly before the value of a response. */
function withValue(bytes: Buffer, inserted: string): Buffer {
  return Buffer.from(bytes.toString().replace('"key_value":', `"key_value":${inserted}`));
}

test.concurrent("V5: a byte order mark before a list is ignored", async () => {
  await using lane = await shared.world.lane("v5-mark");
  lane.proxy.inject(
    faults.on(
      lists,
      faults.changedBytes((bytes) => Buffer.concat([Buffer.from("\uFEFF"), bytes])),
    ),
  );
  const value = await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);
});

test.concurrent("V2: a slow vault delays no other connection", async () => {
  const { world } = shared;
  await using slow = await world.lane("v2-slow");
  await using other = await world.lane("v2-other");
  slow.proxy.inject(faults.drip);
  await slow.protect();
  await slow.connectionReports("VaultUnreachable", /in time/);
  const value = await other.protect();
  await other.inSync();
  expect(other.written).toEqual([other.values[0], value]);
  expect(slow.written).toEqual([slow.values[0]]);
});

function laneName(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}

test("no value appears in the log of the operator", () => {
  expect(shared.world.canaries.tracesIn({ log: shared.world.operator.log })).toEqual([]);
});
