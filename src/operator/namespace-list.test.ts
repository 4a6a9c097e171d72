import { expect, test } from "vitest";
import { recordingLogger } from "../../test/lab/assertions/recording-logger.ts";
import { VirtualClock } from "../../test/lab/clock/virtual-clock.ts";
import { followNamespaces, readNamespaces } from "./namespace-list.ts";

const read = (text: string): Promise<readonly string[]> =>
  readNamespaces(() => Promise.resolve(text));

test.each([
  ["shop", ["shop"]],
  ["shop,billing\n", ["shop", "billing"]],
  [" shop , billing,, shop\r\nhr\tit\n", ["shop", "billing", "hr", "it"]],
])("the names in %j are read once each", async (text, names) => {
  expect(await read(text)).toEqual(names);
});

test.each([
  ["", "is empty: expected names of namespaces, separated by commas or spaces"],
  [" ,\n", "is empty: expected names of namespaces, separated by commas or spaces"],
  ["shop,*", 'contains "*": expected names of namespaces'],
  ["Shop", 'contains "Shop": expected names of namespaces'],
  ["shop/billing", 'contains "shop/billing": expected names of namespaces'],
])("the file %j is rejected", async (text, message) => {
  await expect(read(text)).rejects.toThrow(`the file of --namespaces-file ${message}`);
});

test("a file that cannot be read is named with the code of the failure", async () => {
  const failing = readNamespaces(() =>
    Promise.reject(Object.assign(new Error("no such file"), { code: "ENOENT" })),
  );
  await expect(failing).rejects.toThrow(
    "the file of --namespaces-file cannot be read (ENOENT): check its path",
  );
});

test("a changed list is passed, and a problem is logged once until the file is valid again", async () => {
  const clock = new VirtualClock();
  const { logger, lines } = recordingLogger();
  const passed: (readonly string[])[] = [];
  const stop = new AbortController();
  let text = "shop";
  const onChange = (namespaces: readonly string[]): void => void passed.push(namespaces);
  const running = followNamespaces(
    { read: () => Promise.resolve(text), initial: ["shop"], onChange, clock, logger },
    stop.signal,
  );
  await clock.advance(30_000);
  expect(passed).toEqual([]);
  expect(lines).toEqual([]);
  for (const next of ["shop,hr", "", "hr", ""]) {
    text = next;
    await clock.advance(30_000);
  }
  expect(passed).toEqual([["shop", "hr"], ["hr"]]);
  expect(
    lines.map(
      ({ message, fields }) => `${message} ${String(fields["namespace"] ?? fields["count"])}`,
    ),
  ).toEqual([
    "namespace is served from now on hr",
    "list of namespaces cannot be used, keeping the last one 2",
    "namespace is not served any more shop",
    "list of namespaces cannot be used, keeping the last one 1",
  ]);
  stop.abort(new Error("stop"));
  await running;
});
