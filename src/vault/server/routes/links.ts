import type { FastifyInstance } from "fastify";
import { operations } from "../../../protocol/operations.ts";
import { chargedByLength } from "../protection/token-buckets.ts";
import type { VaultContext } from "../context.ts";
import { textList } from "../http/json-list.ts";
import { sendJson } from "../http/json-stream.ts";
import { authenticatedOperation } from "./operation.ts";
import type { SecretAddress } from "../secrets/find-secret.ts";
import { openList } from "../secret-lists/list-secrets.ts";
import { checkValueSize, protectLinked } from "../secrets/protect.ts";
import { respondWithVersions } from "../secret-lists/list-versions.ts";
import { exposeInTurn } from "../secrets/read-secrets.ts";

function linked(body: {
  readonly key_name: string;
  readonly owner?: string | undefined;
}): SecretAddress {
  return { family: "link", name: body.key_name, owner: body.owner };
}

/**
 * Adds the `_link` operations, for shared secrets
 * (docs/design/vault-contract.md#families-of-operations).
 */
export function linkRoutes(app: FastifyInstance, context: VaultContext): void {
  authenticatedOperation(app, context, operations.expose_link, ({ body, ...to }) =>
    exposeInTurn(context, to, linked(body)),
  );

  authenticatedOperation(app, context, operations.version_expose_link, ({ body, ...to }) =>
    exposeInTurn(context, to, linked(body), body.key_version),
  );

  authenticatedOperation(
    app,
    context,
    operations.version_list_for_link,
    ({ body, caller, reply }) => respondWithVersions(context, caller, linked(body), reply),
  );

  authenticatedOperation(
    app,
    context,
    operations.protect_link,
    async ({ body, caller, reply }) => {
      const { key_value: value, expected_version: expectedVersion } = body;
      const listed = body.without_list !== 1;
      if (listed) await context.openLists.enterStream(caller.email, reply);
      const secret = await protectLinked(context, caller, linked(body), { value, expectedVersion });
      if (!listed) return { secret };
      const list = await openList(context, caller);
      return sendJson(
        context,
        reply,
        chargedByLength(context, caller, textList({ secret }, "secrets", list.pages())),
      );
    },
    { check: checkValueSize(context.limits) },
  );
}
