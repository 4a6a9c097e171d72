import type { FastifyInstance } from "fastify";
import { operations } from "../../../protocol/operations.ts";
import type { VaultContext } from "../context.ts";
import { sendJson } from "../http/json-stream.ts";
import { chargedByLength } from "../protection/token-buckets.ts";
import { deleteFromTrash, emptyTrash } from "../trash/delete-from-trash.ts";
import { trashAsJson } from "../trash/list-trash.ts";
import { restoreFromTrash } from "../trash/restore.ts";
import { authenticatedOperation } from "./operation.ts";

/** Adds the operations on deleted secrets and files (docs/design/vault-contract.md#trash). */
export function trashRoutes(app: FastifyInstance, context: VaultContext): void {
  authenticatedOperation(app, context, operations.trash_list, async ({ caller, reply }) => {
    const trash = trashAsJson(context, caller);
    await context.openLists.enterStream(caller.email, reply);
    return sendJson(context, reply, chargedByLength(context, caller, trash));
  });

  authenticatedOperation(app, context, operations.trash_restore, async ({ body, caller }) => ({
    restored: await restoreFromTrash(context, caller, body.id, body.name),
  }));

  authenticatedOperation(app, context, operations.trash_delete, async ({ body, caller }) => ({
    deleted: await deleteFromTrash(context, caller, body.id),
  }));

  authenticatedOperation(app, context, operations.trash_empty, async ({ caller }) => ({
    deleted: await emptyTrash(context, caller),
  }));
}
