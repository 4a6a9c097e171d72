import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lastStage } from "./archive.ts";

test("the last stage of the Dockerfile has two directories and the settings of the image", () => {
  expect(lastStage(readFileSync("Dockerfile", "utf8"))).toEqual({
    copies: [
      { source: "/output/root/", owner: 0 },
      { source: "/output/volumes/", owner: 65_532 },
    ],
    config: {
      Env: ["NODE_ENV=production"],
      User: "65532:65532",
      Entrypoint: ["/usr/local/bin/node", "/app/dist/main.js"],
      Cmd: ["operator"],
    },
  });
});

test.each([
  ['FROM debian\nENTRYPOINT ["/a"]', "expected FROM scratch, found FROM debian"],
  ['FROM scratch\nRUN a\nENTRYPOINT ["/a"]', "unknown instruction: RUN a"],
  ["FROM scratch\nCOPY --from=root /output/root/app /app", "unknown instruction: COPY"],
  ["FROM scratch\nCOPY --from=root /output/root/ /", "expected an ENTRYPOINT"],
])("a last stage %j is rejected", (text, message) => {
  expect(() => lastStage(text)).toThrow(message);
});
