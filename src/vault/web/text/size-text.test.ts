import { expect, test } from "vitest";
import { limitText, sizeText } from "./size-text.ts";

test.each([
  [0, "0 bytes"],
  [1, "1 byte"],
  [999, "999 bytes"],
  [1000, "1 kB"],
  [1_234_567, "1.23 MB"],
  [67_108_864, "67.1 MB"],
  [5e15, "5,000 TB"],
])("sizeText formats %d as %s", (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});

test("limitText formats a limit in whole megabytes", () => {
  expect(limitText(67_108_864)).toBe("64 MB");
});
