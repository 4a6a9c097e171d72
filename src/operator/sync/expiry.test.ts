import { describe, expect, test } from "vitest";
import { certificate } from "../../../test/lab/certificates.ts";
import { candidate, syncItem } from "../../../test/lab/kube/sync-resource.ts";
import { certificateLifetime, expiriesOf } from "./expiry.ts";
import type { Resolution } from "./resolution.ts";

const DAY = 86_400_000;
const FROM = Date.UTC(2026, 0, 1);
const TO = FROM + 90 * DAY;
const { cert, keyPem } = certificate("shop", {
  hosts: ["shop.example.com"],
  notBefore: new Date(FROM),
  notAfter: new Date(TO),
});
const other = certificate("authority").cert;

const lifetimeOf = (text: string) => certificateLifetime(Buffer.from(text));

describe("certificateLifetime", () => {
  test.each([
    ["a certificate", cert],
    ["the first one of a chain", cert + other],
    ["one next to its key", keyPem + cert],
  ])("returns that of %s", (_, text) => {
    expect(lifetimeOf(text)).toEqual({ from: FROM, to: TO });
  });

  test.each([
    ["a password", "hunter2"],
    ["a key", keyPem],
    ["a damaged certificate", cert.replace("MII", "!!!").slice(0, 80)],
    ["an object that contains one", JSON.stringify({ cert })],
    ["a bundle of CAs", other.repeat(11)],
    ["a long text", cert + " ".repeat(64 * 1024)],
  ])("returns none of %s", (_, text) => {
    expect(lifetimeOf(text)).toBeUndefined();
  });

  test("returns none of bytes that are no text", () => {
    expect(certificateLifetime(Buffer.from([0xff, 0xfe]))).toBeUndefined();
  });
});

describe("expiriesOf", () => {
  const item = syncItem("a", { source: "db" });
  const found = (createdAt?: number): Resolution => ({
    state: "found",
    item,
    candidate: candidate(3, {
      createdAt: createdAt === undefined ? undefined : new Map([[3, createdAt]]),
    }),
    version: 3,
  });
  const expiresAtOf = (): number => TO;
  const noticeOf = (one: Resolution, expiryNoticeMs?: number): number | undefined => {
    const [first] = expiriesOf({ expiryNoticeMs }, [one], {
      certificateOf: () => undefined,
      expiresAtOf,
    });
    return first && (first.to - first.noticeAt) / DAY;
  };

  test.each([
    ["a week before the expiry", found(FROM), undefined, 7],
    ["as early as the spec asks", found(FROM), 20 * DAY, 20],
    ["in the last third of a lifetime", found(TO - 6 * DAY), undefined, 2],
    ["as early as the spec asks if nothing says how long it is valid", found(), 60 * DAY, 60],
  ])("reports %s", (_, one, noticeMs, days) => {
    expect(noticeOf(one, noticeMs)).toBeCloseTo(days);
  });

  test("names a version and its certificate, and the one that is kept of a missing source", () => {
    const known = { certificateOf: () => ({ from: FROM, to: TO - DAY }), expiresAtOf };
    expect(expiriesOf({}, [found(FROM)], known)).toMatchObject([
      { name: "db", to: TO },
      { name: "the certificate of db", to: TO - DAY, noticeAt: TO - 8 * DAY },
    ]);
    expect(expiriesOf({}, [{ state: "missing", item }], known)).toMatchObject([
      { name: "the certificate of db", to: TO - DAY },
    ]);
  });
});
