import { expect, test } from "vitest";
import { type Report, reportOf, withUnreported } from "./report.ts";

const of = (effect: Report["effect"], changed: boolean): Report =>
  reportOf(undefined, { effect, changed });

test.each<[string, Report, Report | undefined, Report]>([
  ["nothing, without an earlier one", of("none", false), undefined, of("none", false)],
  [
    "the earlier write, after a reconcile that wrote nothing",
    of("none", false),
    of("created", true),
    of("created", true),
  ],
  ["the later write", of("updated", false), of("created", false), of("updated", false)],
  [
    "a change of the content by either: the earlier",
    of("updated", false),
    of("created", true),
    of("updated", true),
  ],
  [
    "a change of the content by either: the later",
    of("updated", true),
    of("repaired", false),
    of("updated", true),
  ],
])("a report after one that could not be written has %s", (_, report, earlier, expected) => {
  expect(withUnreported(report, earlier)).toEqual(expected);
});
