import { describe, expect, test } from "vitest";
import { InvalidProxyHeaderError, parseProxyHeader } from "./proxy-protocol.ts";

const SIGNATURE = "\r\n\r\n\0\r\nQUIT\n";
const V4 = [192, 0, 2, 1, 203, 0, 113, 9, 0xdc, 0x04, 0x20, 0x08];
const V6 = [
  0x20,
  0x01,
  0x0d,
  0xb8,
  ...Array(11).fill(0),
  1,
  ...Array(16).fill(0),
  0xdc,
  0x04,
  0x20,
  0x08,
];

/** Returns a header of version 2; the length defaults to the length of the block. */
function binary(
  command: number,
  family: number,
  block: readonly number[],
  length = block.length,
): Buffer {
  return Buffer.from([
    ...Buffer.from(SIGNATURE, "latin1"),
    command,
    family,
    length >> 8,
    length & 255,
    ...block,
  ]);
}

const headers: [string, Buffer, unknown][] = [
  [
    "TCP4",
    Buffer.from("PROXY TCP4 192.0.2.1 203.0.113.9 56324 8200\r\n"),
    { address: "192.0.2.1", family: "IPv4", port: 56_324 },
  ],
  [
    "TCP6",
    Buffer.from("PROXY TCP6 2001:DB8:0:0:0:0:0:1 ::1 56324 8200\r\n"),
    { address: "2001:db8::1", family: "IPv6", port: 56_324 },
  ],
  ["UNKNOWN", Buffer.from("PROXY UNKNOWN\r\n"), undefined],
  ["UNKNOWN with addresses", Buffer.from(`PROXY UNKNOWN ${"f".repeat(91)}\r\n`), undefined],
  [
    "PROXY over IPv4",
    binary(0x21, 0x11, V4),
    { address: "192.0.2.1", family: "IPv4", port: 56_324 },
  ],
  [
    "PROXY over IPv6",
    binary(0x21, 0x21, V6),
    { address: "2001:db8::1", family: "IPv6", port: 56_324 },
  ],
  [
    "PROXY with extensions",
    binary(0x21, 0x11, [...V4, 4, 0, 2, 0, 0]),
    { address: "192.0.2.1", family: "IPv4", port: 56_324 },
  ],
  [
    "PROXY of the largest size",
    binary(0x21, 0x11, [...V4, ...Array(996).fill(0)]),
    expect.anything(),
  ],
  ["PROXY without addresses", binary(0x21, 0x00, []), undefined],
  ["LOCAL", binary(0x20, 0x00, []), undefined],
  ["LOCAL with a block", binary(0x20, 0x31, [1, 2, 3]), undefined],
];

describe.each(headers)("a header %s", (_, header, client) => {
  test("is complete with its last byte, whatever follows", () => {
    for (let length = 0; length < header.length; length += 1)
      expect(parseProxyHeader(header.subarray(0, length))).toBeUndefined();
    const complete = { length: header.length, client };
    expect(parseProxyHeader(header)).toEqual(complete);
    expect(
      parseProxyHeader(Buffer.concat([header, Buffer.from("GET / HTTP/1.1\r\n\r\n")])),
    ).toEqual(complete);
  });
});

test.each<[string, string | Buffer]>([
  ["HTTP", "GET / HTTP/1.1\r\n\r\n"],
  ["TLS", Buffer.from([22, 3, 1, 2, 0])],
  ["lower case", "proxy TCP4 192.0.2.1 192.0.2.2 1 2\r\n"],
  ["two spaces", "PROXY  TCP4 192.0.2.1 192.0.2.2 1 2\r\n"],
  ["a trailing space", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 \r\n"],
  [
    "a line feed alone",
    "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\nPROXY TCP4 192.0.2.3 192.0.2.2 1 2\r\n",
  ],
  ["IPv6 as TCP4", "PROXY TCP4 ::1 ::1 1 2\r\n"],
  ["IPv4 as TCP6", "PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n"],
  ["a zone", "PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n"],
  ["no address", "PROXY TCP4\r\n"],
  ["a host name", "PROXY TCP4 localhost 192.0.2.2 1 2\r\n"],
  ["an octet with a leading zero", "PROXY TCP4 192.0.02.1 192.0.2.2 1 2\r\n"],
  ["a port with a leading zero", "PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n"],
  ["a port of 65536", "PROXY TCP4 192.0.2.1 192.0.2.2 65536 2\r\n"],
  ["another protocol", "PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n"],
  ["a line of 108 bytes", `PROXY UNKNOWN ${"f".repeat(92)}\r\n`],
  ["a line without an end", `PROXY UNKNOWN ${"f".repeat(93)}`],
  ["version 1 in binary", binary(0x11, 0x11, V4)],
  ["an unknown command", binary(0x22, 0x11, V4)],
  ["UDP", binary(0x21, 0x12, V4)],
  ["a UNIX socket", binary(0x21, 0x31, Array(216).fill(0))],
  ["too few addresses for IPv4", binary(0x21, 0x11, V4.slice(1))],
  ["too few addresses for IPv6", binary(0x21, 0x21, V4)],
  ["a length of 65535", binary(0x21, 0x11, V4, 65_535)],
  ["a length of 1009", binary(0x20, 0x11, V4, 1009)],
  ["a wrong signature", Buffer.from("\r\n\r\n\0\r\nQUIT\r")],
])("%s is rejected", (_, bytes) => {
  expect(() => parseProxyHeader(Buffer.from(bytes))).toThrow(InvalidProxyHeaderError);
});
