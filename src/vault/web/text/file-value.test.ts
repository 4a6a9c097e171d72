import { expect, test } from "vitest";
import { fileValue } from "./file-value.ts";

test.each(["", "one\r\ntwo\n", "\uFEFFwith a mark", "nul \0 and 💚"])(
  "text %j keeps its bytes",
  (text) => {
    expect(fileValue(new TextEncoder().encode(text))).toEqual({ text, format: "text" });
  },
);

test("other bytes become Base64", () => {
  const bytes = Uint8Array.of(0, 0xff, 0xfe, 0x80, 10);
  expect(fileValue(bytes)).toEqual({ text: "AP/+gAo=", format: "base64" });
});
