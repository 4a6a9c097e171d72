import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { isReady, condition } from "../lab/real/resources.ts";
import { KeptSecrets } from "./support/kept-secrets.ts";

/** Nothing that responds in place of the vault changes a Secret. */
let scene: KeptSecrets;
beforeAll(async () => {
  scene = await KeptSecrets.create();
});
afterAll(() => scene[Symbol.asyncDispose]());

const page = "<html><body>Please log in</body></html>";
const impostors: [what: string, respond: (response: ServerResponse) => void][] = [
  [
    "a login page with status 200",
    (response) => response.writeHead(200, { "content-type": "text/html" }).end(page),
  ],
  [
    "status 404 for every request",
    (response) => response.writeHead(404, { "content-type": "text/plain" }).end("no such page"),
  ],
  [
    "an empty body",
    (response) => response.writeHead(200, { "content-type": "application/json" }).end(),
  ],
  [
    "JSON of another schema",
    (response) => response.writeHead(200, { "content-type": "application/json" }).end("[]"),
  ],
  ["status 500", (response) => response.writeHead(500).end("oops")],
  ["a redirect", (response) => response.writeHead(302, { location: "http://127.0.0.1:9/" }).end()],
  [
    "a truncated response",
    (response) =>
      response.writeHead(200, { "content-length": "100" }).write('{"secrets":[') &&
      response.destroy(),
  ],
];

test.each(impostors)("%s instead of the vault changes nothing", async (_what, respond) => {
  const before = await scene.targets();
  await scene.persistent.stop();
  {
    let requests = 0;
    await using _impostor = await scene.impostor((_request, response) => {
      requests += 1;
      respond(response);
    });
    await waitUntil("the operator has sent several requests", () => requests >= 3, 60_000);
    const connection = await scene.world.until(
      "VaultConnection",
      "vault",
      (one) => condition(one, "Ready")?.status === "False",
    );
    expect(condition(connection, "Ready")?.message).not.toContain("Please log in");
    expect(await scene.targets()).toBe(before);
    expect((await scene.world.list("VaultSecret")).every(isReady)).toBe(true);
  }
  await scene.persistent.restart();
  await scene.world.until(
    "VaultConnection",
    "vault",
    (one) => condition(one, "Ready")?.status === "True",
    60_000,
  );
  expect(await scene.targets()).toBe(before);
});

test("no value appears in logs, events, statuses, annotations or metrics", async () => {
  expect(scene.world.canaries.tracesIn(await scene.world.operatorOutput())).toEqual([]);
});
