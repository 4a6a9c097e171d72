import type { FastifyInstance } from "fastify";
import { operations } from "../../../protocol/operations.ts";
import { chargedByLength } from "../protection/token-buckets.ts";
import type { VaultContext } from "../context.ts";
import type { AskedAddresses } from "../protection/asked-addresses.ts";
import { sendList } from "../http/etag.ts";
import { authenticatedOperation } from "./operation.ts";
import {
  addMembers,
  createTeam,
  deleteTeam,
  leaveTeam,
  removeMembers,
  teamsAsJson,
  type AddedMembers,
} from "../teams/teams.ts";

function added({
  group_id: groupId,
  members,
  invite = true,
}: {
  readonly group_id: string;
  readonly members: readonly string[];
  readonly invite?: boolean | undefined;
}): AddedMembers {
  return { groupId, members, invite };
}

/** Adds the operations on teams (docs/design/vault-contract.md#teams). */
export function teamRoutes(
  app: FastifyInstance,
  context: VaultContext,
  asked: AskedAddresses,
): void {
  authenticatedOperation(app, context, operations.team_create, async ({ body, caller, reply }) => {
    await context.openLists.enterShort(caller.email, reply);
    return { team: await createTeam(context, caller, added(body), asked) };
  });

  authenticatedOperation(
    app,
    context,
    operations.team_add_members,
    async ({ body, caller, reply }) => {
      await context.openLists.enterShort(caller.email, reply);
      return { team: await addMembers(context, caller, added(body), asked) };
    },
  );

  authenticatedOperation(
    app,
    context,
    operations.team_remove_members,
    async ({ body, caller, reply }) => {
      await context.openLists.enterShort(caller.email, reply);
      return { team: await removeMembers(context, caller, body.group_id, body.members) };
    },
  );

  authenticatedOperation(app, context, operations.team_list, async ({ caller, reply }) => {
    await context.openLists.enterStream(caller.email, reply);
    return sendList(context, reply, () =>
      chargedByLength(context, caller, teamsAsJson(context, caller)),
    );
  });

  authenticatedOperation(app, context, operations.team_leave, async ({ body, caller }) => {
    await leaveTeam(context, caller, body.group_id);
    return { left: { group_id: body.group_id } };
  });

  authenticatedOperation(app, context, operations.team_delete, async ({ body, caller }) => {
    await deleteTeam(context, caller, body.group_id);
    return { deleted: { group_id: body.group_id } };
  });
}
