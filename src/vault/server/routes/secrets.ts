import type { FastifyInstance } from "fastify";
import { givenMetadata } from "../../../protocol/metadata.ts";
import { operations } from "../../../protocol/operations.ts";
import { consumersAsJson, lengthOfConsumers } from "../consumers/list-consumers.ts";
import type { VaultContext } from "../context.ts";
import { authenticatedOperation } from "./operation.ts";
import { respondWithList } from "../secret-lists/list-response.ts";
import { ListValidityCache } from "../secret-lists/list-validity-cache.ts";
import { deleteSecrets, deleteVersion } from "../secrets/delete-secrets.ts";
import type { SecretAddress } from "../secrets/find-secret.ts";
import { checkValueSize, protect, protectLinked } from "../secrets/protect.ts";
import { respondWithVersions } from "../secret-lists/list-versions.ts";
import { exposeInTurn } from "../secrets/read-secrets.ts";
import { ListRenderings } from "../secret-lists/list-renderings.ts";
import { renameSecret } from "../renaming/rename-secret.ts";
import { updateMetadata } from "../secrets/update-metadata.ts";
import { chargedByLength } from "../protection/token-buckets.ts";
import { textList, sendJson } from "../http/json-stream.ts";
import { openList } from "../secret-lists/list-secrets.ts";

function unshared(body: { readonly key_name: string }): SecretAddress {
  return { family: "unshared", name: body.key_name };
}

/** Adds the operations on the caller's own secrets (docs/design/vault-contract.md#secrets). */
export function secretRoutes(app: FastifyInstance, context: VaultContext): void {
  authenticatedOperation(
    app,
    context,
    operations.protect,
    async ({ body, caller }) => {
      const {
        key_name: name,
        key_value: value,
        delete_time: deleteMinutes,
        expected_version: expectedVersion,
      } = body;
      const metadata = givenMetadata(body);
      return {
        secret: await protect(context, caller, {
          name,
          value,
          metadata,
          deleteMinutes,
          expectedVersion,
        }),
      };
    },
    { check: checkValueSize(context.limits) },
  );

  const validity = new ListValidityCache();
  const renderings = new ListRenderings(context, validity);
  authenticatedOperation(
    app,
    context,
    operations.list_no_dup,
    ({ caller, request, reply }) =>
      respondWithList(context, validity, renderings, { caller, request, reply }),
    { compresses: true },
  );

  authenticatedOperation(app, context, operations.expose, ({ body, ...to }) =>
    exposeInTurn(context, to, unshared(body)),
  );

  authenticatedOperation(app, context, operations.version_list, ({ body, caller, reply }) =>
    respondWithVersions(context, caller, unshared(body), reply),
  );

  authenticatedOperation(
    app,
    context,
    operations.consumer_list,
    async ({ body, caller, reply }) => {
      const { key_name, filename = "" } = body;
      const entries =
        key_name === undefined
          ? ({ kind: "file", names: [filename] } as const)
          : ({ kind: "secret", names: key_name } as const);
      await context.openLists.enterStream(caller.email, reply, lengthOfConsumers(entries));
      const list = consumersAsJson(context, caller, entries);
      return sendJson(context, reply, chargedByLength(context, caller, list));
    },
  );

  authenticatedOperation(app, context, operations.version_expose, ({ body, ...to }) =>
    exposeInTurn(context, to, unshared(body), body.key_version),
  );

  changingRoutes(app, context);
}

/** Adds the operations that work on shared and unshared secrets alike. */
function changingRoutes(app: FastifyInstance, context: VaultContext): void {
  authenticatedOperation(app, context, operations.update_key_metadata, async ({ body, caller }) => {
    const {
      key_name: name,
      key_version: version,
      owner,
      delete_time: deleteMinutes,
      expected_version: expectedVersion,
    } = body;
    const { remove_metadata: removed = [] } = body;
    const changes = givenMetadata(body);
    const update = { name, owner, version, changes, removed, deleteMinutes, expectedVersion };
    return { secret: await updateMetadata(context, caller, update) };
  });

  authenticatedOperation(app, context, operations.rename, async ({ body, caller }) => {
    const { key_name: name, new_name: newName, expected_version: expectedVersion } = body;
    return { secret: await renameSecret(context, caller, { name, newName, expectedVersion }) };
  });

  authenticatedOperation(app, context, operations.version_delete, async ({ body, caller }) => {
    const { key_name, key_version, expected_version: expectedVersion } = body;
    const deletion = { name: key_name, version: key_version, expectedVersion };
    await deleteVersion(context, caller, deletion);
    return { deleted: { key_name, key_version } };
  });

  authenticatedOperation(app, context, operations.delete, async ({ body, caller }) => {
    const { key_name: names, expected_versions: expectedVersions, permanently = false } = body;
    const deletion = { names, expectedVersions, permanently };
    const { deleted, trash } = await deleteSecrets(context, caller, deletion);
    return { deleted: [...deleted], ...(trash && { trash }) };
  });
}

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
      // A response in parts is not described by itself.
      reply.request.trail?.describeResponse({ secret });
      return sendJson(
        context,
        reply,
        chargedByLength(context, caller, textList({ secret }, "secrets", list.pages())),
      );
    },
    { check: checkValueSize(context.limits) },
  );
}
