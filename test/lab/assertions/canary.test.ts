import { expect, test } from "vitest";
import { Canaries } from "./canary.ts";

test("tracesIn finds a whole or partial value in any encoding, and nothing else", () => {
  const canaries = new Canaries();
  const value = canaries.text("pw");
  const within = (text: string): string[] => canaries.tracesIn({ log: text });
  expect(within(`{"msg":"${value}"}`)).toEqual(["pw in log"]);
  expect(within(`…${value.slice(5, 14)}…`)).toEqual(["pw in log"]);
  expect(within(Buffer.from(value).toString("hex"))).toEqual(["pw in log"]);
  for (const before of ["", "x", "xy"]) {
    expect(within(Buffer.from(`${before}${value} and more`).toString("base64"))).toEqual([
      "pw in log",
    ]);
  }
  expect(within("unrelated text ".repeat(100))).toEqual([]);
});
