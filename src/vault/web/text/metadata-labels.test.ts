import { expect, test } from "vitest";
import { defaultMetadata } from "../../../protocol/metadata.ts";
import { metadataLabel } from "./metadata-labels.ts";

test("every standard name has a label that is not a word of the interface", () => {
  for (const name of Object.keys(defaultMetadata))
    expect(metadataLabel(name)).toMatch(/^[A-Z][a-z ]+$/u);
});

test("a custom name is its own label, whatever it is", () => {
  for (const name of ["team", "", "__proto__", "constructor", "Description"])
    expect(metadataLabel(name)).toBe(name);
});
