import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { readFiles } from "./read-files.ts";

const digest = "0123456789abcdef".repeat(4);
const plain = (version: number, size: number): object => ({ version, size, sha256: undefined });

test.each<[string, unknown]>([
  [
    "all versions inside the entry of the file",
    {
      files: [
        {
          filename: "f",
          version: 2,
          size: 20,
          versions: [
            { version: 1, size: 10 },
            { version: 2, size: 20 },
          ],
        },
      ],
    },
  ],
  [
    "one entry per version",
    {
      files: [
        { filename: "f", version: 2, size: 20 },
        { filename: "f", version: "1", size: "10" },
      ],
    },
  ],
  [
    "a latest version outside the versions",
    { files: [{ filename: "f", version: 2, size: 20, versions: [{ version: 1, size: 10 }] }] },
  ],
])("readFiles reads %s", (_, response) => {
  expect(readFiles(response)).toEqual([
    { filename: "f", ...plain(2, 20), versions: [plain(1, 10), plain(2, 20)] },
  ]);
});

test("readFiles returns a digest in lower case and ignores a malformed one", () => {
  const files = [digest.toUpperCase(), "abc", 7].map((sha256, at) => ({
    filename: `f${at}`,
    version: 1,
    size: 0,
    sha256,
  }));
  expect(readFiles({ files }).map(({ sha256 }) => sha256)).toEqual([digest, undefined, undefined]);
});

test.each<[unknown, string]>([
  [{}, "files"],
  [[], "files"],
  [{ data: [] }, "files"],
  [{ secrets: [] }, "files"],
  [{ files: {} }, "files"],
  [{ files: { f: { version: 1, size: 1 } } }, "files"],
  [[{ filename: "canary", version: 1, size: 1 }], "files"],
  [{ files: [{ version: 1, size: 1 }] }, "files[0].filename"],
  [{ files: [{ filename: "canary", size: 1 }] }, "files[0].version"],
  [{ files: [{ filename: "canary", version: 1 }] }, "files[0].size"],
  [{ files: [{ filename: "canary", version: 1, size: "1 kB" }] }, "files[0].size"],
  [{ files: [{ filename: "canary", version: 1, size: 1, versions: {} }] }, "files[0].versions"],
  [{ files: [{ filename: "canary", version: 1, size: 1, versions: [7] }] }, "files[0].versions[0]"],
  [
    { files: [{ filename: "canary", version: 1, size: 1, versions: [{ version: 1 }] }] },
    "files[0].versions[0].size",
  ],
])("readFiles rejects %j and names %s", async (response, field) => {
  const failure = await failureOf(Promise.resolve().then(() => readFiles(response)));
  expect(failure).toMatchObject({ kind: "unexpected-response", operation: "list_file", field });
  expect(String(failure)).not.toContain("canary");
});
