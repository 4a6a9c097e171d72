import { isObject } from "../../../../src/lib/is-object.ts";
import { type Operation, operationPath } from "../../../../src/protocol/operation-paths.ts";
import { json, LoopbackServer } from "../../loopback-server.ts";
import type { InMemoryVault } from "./in-memory-vault.ts";

const operations: ReadonlyMap<string, Operation> = new Map(
  Object.entries(operationPath).map(([name, path]) => [path, name as Operation]),
);

/** Returns the versions of a secret as a vault lists them; the in-memory vault does not. */
function versionsOf(vault: InMemoryVault, email: string, name: string, owner: string): object {
  const list: { secrets?: { key_name: string; owner: string }[] } = vault.act(
    email,
    "list_no_dup",
    {},
  );
  const record = list.secrets?.find((one) => one.key_name === name && one.owner === owner);
  const stored = vault.backup().secrets.get(`${owner}\n${name}`);
  const versions = stored?.versions.map(({ version }) => ({ ...record, key_version: version }));
  return { key_name: name, versions };
}

/** Serves an in-memory vault over HTTP, for the client of the commands. */
export function serveVault(vault: InMemoryVault): Promise<LoopbackServer> {
  return LoopbackServer.start(({ path, headers, body: text }, response) => {
    const operation = operations.get(path);
    const body: unknown = JSON.parse(text);
    if (operation === undefined || !isObject(body)) return json(response, 404, {});
    const { email, key_name: name, owner = email } = body;
    if (operation.startsWith("version_list"))
      return json(response, 200, versionsOf(vault, String(email), String(name), String(owner)));
    const token = headers.authorization;
    const result = vault.respond({ operation, body, token });
    response.writeHead(result.status, result.headers).end(result.body);
  });
}
