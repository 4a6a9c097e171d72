import type { JSONWebKeySet } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lineLogger } from "../../../../test/lab/assertions/recording-logger.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { LoopbackServer } from "../../../../test/lab/loopback-server.ts";
import { TestDirectory } from "../../../../test/lab/test-directory.ts";
import { TestIssuer } from "../../../../test/lab/vault/identity-vault.ts";
import { IssuerKeys, IssuerUnavailableError, readKeySet } from "./issuer-keys.ts";

const MINUTE = 60_000;

let clock: VirtualClock;
let issuer: TestIssuer;
let reads: number;
let isDown: boolean;
let keys: IssuerKeys;
let lines: string[];
beforeEach(async () => {
  [clock, issuer, reads, isDown] = [new VirtualClock(), await TestIssuer.create(), 0, false];
  lines = [];
  const logger = lineLogger((line) => void lines.push(line));
  const read = async (): Promise<JSONWebKeySet> => {
    reads += 1;
    if (isDown) throw new Error("connection refused");
    return issuer.keySet();
  };
  keys = new IssuerKeys({ source: "https://issuer.example.com/keys", clock, logger, read });
});

/** Returns whether the key of this id is found, or the name of the error. */
const find = async (kid: string): Promise<string> => {
  try {
    await keys.find({ alg: "ES256", kid }, { payload: "", signature: "" });
    return "found";
  } catch (error) {
    return error instanceof IssuerUnavailableError ? "unavailable" : (error as Error).name;
  }
};

describe("IssuerKeys", () => {
  test("reads the keys once for all tokens of five minutes", async () => {
    expect(await Promise.all([find("key-1"), find("key-1")])).toEqual(["found", "found"]);
    await clock.advance(5 * MINUTE);
    await find("key-1");
    expect(reads).toBe(1);
    await clock.advance(1);
    await find("key-1");
    expect(reads).toBe(2);
  });

  test("reads them again for an unknown key, every ten seconds at most", async () => {
    await find("key-1");
    await issuer.addKey();
    for (let number = 0; number < 3; number += 1)
      expect(await find("key-2")).toBe("JWKSNoMatchingKey");
    expect(reads).toBe(1);
    await clock.advance(10_000);
    expect(await find("key-2")).toBe("found");
    expect(reads).toBe(2);
  });

  test("forgets a key that the issuer removed, within five minutes", async () => {
    await find("key-1");
    issuer = await TestIssuer.create();
    await issuer.addKey();
    const { keys: both } = await issuer.keySet();
    issuer.keySet = async () => ({ keys: both.slice(1) });
    await clock.advance(5 * MINUTE + 1);
    expect(await find("key-1")).toBe("JWKSNoMatchingKey");
  });

  test("uses the last keys for an hour while they cannot be read", async () => {
    await find("key-1");
    isDown = true;
    await clock.advance(60 * MINUTE);
    expect(await find("key-1")).toBe("found");
    await clock.advance(10_000);
    expect(await find("key-1")).toBe("unavailable");
    expect(lines.join("\n")).toContain("connection refused");
    isDown = false;
    await clock.advance(10_000);
    expect(await find("key-1")).toBe("found");
  });
});

describe("readKeySet", () => {
  const directory = new TestDirectory();
  let server: LoopbackServer;
  beforeEach(async () => {
    server = await LoopbackServer.start((_request, response) => void response.end("{}"));
  });
  afterEach(() => server[Symbol.asyncDispose]());

  test("reads a file", async () => {
    await issuer.publish(directory.join("keys.json"));
    expect(await readKeySet(directory.join("keys.json"))).toEqual(await issuer.keySet());
  });

  test.each<[string, number, string, string]>([
    ["another status", 404, '{"keys":[{}]}', "status 404"],
    ["no keys", 200, '{"keys":[]}', "expected a JWKS"],
    ["no JSON", 200, "<html>", "expected a JWKS"],
    ["more than 256 KiB", 200, " ".repeat(256 * 1024 + 1), "more than 262144 bytes"],
  ])("rejects a response with %s", async (_, status, body, message) => {
    server.handler = (_request, response) => void response.writeHead(status).end(body);
    await expect(readKeySet(server.url.href)).rejects.toThrow(message);
  });

  test("follows no redirect", async () => {
    server.handler = ({ path }, response) =>
      void response.writeHead(path === "/keys" ? 200 : 302, { location: "/keys" }).end("{}");
    await expect(readKeySet(`${server.url.href}moved`)).rejects.toThrow("fetch failed");
    expect(server.requests.map(({ path }) => path)).toEqual(["/moved"]);
  });
});
