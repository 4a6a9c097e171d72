import { expect, test } from "vitest";
import type { FileRecord } from "../../../../protocol/responses.ts";
import { fileViewQuery, parseFileView, selectFiles, type FileView } from "./file-view.ts";

function file(filename: string, size: number, day: number): FileRecord {
  return {
    filename,
    size,
    version: 1,
    sha256: "",
    created_at: `2026-11-0${day}T00:00:00.000Z`,
    versions: [],
  };
}

const files = [file("app.conf", 10, 2), file("Backup of app.tar", 30, 1), file("ca.pem", 20, 3)];
const first: FileView = { search: "", order: "name", page: 0 };

test.each<[Partial<FileView>, string[]]>([
  [{}, ["Backup of app.tar", "app.conf", "ca.pem"]],
  [{ search: "APP" }, ["Backup of app.tar", "app.conf"]],
  [{ search: "äpp cönf" }, ["app.conf"]],
  [{ search: "app conf" }, ["app.conf"]],
  [{ order: "uploaded" }, ["ca.pem", "app.conf", "Backup of app.tar"]],
  [{ order: "size" }, ["Backup of app.tar", "ca.pem", "app.conf"]],
])("the view %j shows %j", (changes, expected) => {
  expect(selectFiles(files, { ...first, ...changes }).map(({ filename }) => filename)).toEqual(
    expected,
  );
});

test.each<Partial<FileView>>([{}, { search: "a & b", order: "size", page: 2 }])(
  "the view %j is restored from its address",
  (changes) => {
    expect(parseFileView(fileViewQuery({ ...first, ...changes }))).toEqual({
      ...first,
      ...changes,
    });
  },
);
