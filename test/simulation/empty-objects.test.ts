import { expect, test } from "vitest";
import type { Command } from "./commands.ts";
import { advance, connection, ENTRY, resource } from "./scenes.ts";
import { runEpisode } from "./simulate.ts";
import { membersOf } from "./simulated-values.ts";

const write: Command = { type: "write-secret", ...ENTRY };
const key = { data: [{ secretKey: "k1", remoteRef: { key: "s2" } }] };
const member = membersOf("s1").always;

// All members left the target, and Ready was True.
test.each<[string, object]>([
  ["next to a key", key],
  ["next to another object", { data: undefined, dataFrom: [{ extract: { key: "s2" } }] }],
  ["alone", { data: undefined }],
  [
    "for a template",
    { target: { template: { data: { k1: `{{ vars["${member}"] | default: "none" }}` } } } },
  ],
])("a new version of an extracted object has no members (%s)", async (_, others) => {
  const { dataFrom = [] } = others as { readonly dataFrom?: readonly object[] };
  const commands: Command[] = [
    connection(),
    write,
    { ...write, name: "s2" },
    resource("alpha", { ...others, dataFrom: [{ extract: { key: "s1" } }, ...dataFrom] }),
    advance(60_000),
    { ...write, form: "empty" },
    advance(60_000),
  ];
  const endsWithRestart = 2;
  expect(await runEpisode(endsWithRestart, commands)).toBeUndefined();
  expect(await runEpisode(endsWithRestart, [...commands, write, advance(60_000)])).toBeUndefined();
});
