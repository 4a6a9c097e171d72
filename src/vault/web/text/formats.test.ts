import { expect, test } from "vitest";
import { sizeText } from "./formats.ts";

test.each([
  [0, "0 bytes"],
  [1, "1 byte"],
  [1023, "1023 bytes"],
  [1024, "1 KiB"],
  [1_234_567, "1.18 MiB"],
  [67_108_864, "64 MiB"],
  [67_108_865, "64.1 MiB"],
  [5 * 1024 ** 5, "5,120 TiB"],
])("sizeText formats %d as %s", (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});
