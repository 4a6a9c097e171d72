import type { FastifyInstance } from "fastify";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import { operations } from "../../../protocol/operations.ts";
import { chargedByLength } from "../protection/token-buckets.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { sendJson } from "../http/json-stream.ts";
import { authenticatedOperation } from "./operation.ts";
import { errors } from "../errors.ts";
import { blockSenders, listBlocked, unblockSenders } from "../sharing/blocked-senders.ts";
import { sharesAsJson } from "../sharing/list-shares.ts";
import type { AskedAddresses } from "../protection/asked-addresses.ts";
import { share } from "../sharing/share.ts";
import { unshare, dismissShare } from "../sharing/unshare.ts";

/** @throws ServiceError `email_mismatch` */
function requireSharer(caller: Caller, from: string | undefined): void {
  if (from === undefined || canonicalEmail(from) === caller.email) return;
  throw errors.emailMismatch("usr_id_from", caller.email);
}

/** Adds the operations on shares (docs/design/vault-contract.md#sharing). */
export function sharingRoutes(
  app: FastifyInstance,
  context: VaultContext,
  asked: AskedAddresses,
): void {
  authenticatedOperation(app, context, operations.share, async ({ body, caller }) => {
    requireSharer(caller, body.usr_id_from);
    const { key_name: names, permission, to, invite = true } = body;
    return { shared: await share(context, caller, { names, permission, to, invite }, asked) };
  });

  authenticatedOperation(app, context, operations.unshare, async ({ body, caller }) => {
    requireSharer(caller, body.usr_id_from);
    return { unshared: await unshare(context, caller, body.key_name, body.to) };
  });

  authenticatedOperation(app, context, operations.share_list, async ({ body, caller, reply }) => {
    await context.openLists.enterStream(caller.email, reply);
    return sendJson(
      context,
      reply,
      chargedByLength(context, caller, sharesAsJson(context, caller, body.key_name)),
    );
  });

  authenticatedOperation(
    app,
    context,
    operations.delete_shared_key_link,
    async ({ body, caller }) => ({
      removed: {
        key_name: body.key_name,
        owner: await dismissShare(context, caller, body.key_name, body.owner),
      },
    }),
  );

  authenticatedOperation(app, context, operations.block_sender, async ({ body, caller, reply }) => {
    await context.openLists.enterShort(caller.email, reply);
    return { blocked: await blockSenders(context, caller, body.usr_id_from) };
  });

  authenticatedOperation(
    app,
    context,
    operations.unblock_sender,
    async ({ body, caller, reply }) => {
      await context.openLists.enterShort(caller.email, reply);
      return { blocked: await unblockSenders(context, caller, body.usr_id_from) };
    },
  );

  authenticatedOperation(app, context, operations.blocked_senders, async ({ caller, reply }) => {
    await context.openLists.enterShort(caller.email, reply);
    return { blocked: await listBlocked(context, caller) };
  });
}
