import type { z } from "zod";
import type { Operation } from "../operation-paths.ts";
import {
  fileRequests,
  generateAccessTokenRequest,
  listRequest,
  refreshTokenRequest,
  secretRequests,
  sharingRequests,
  teamRequests,
  type RequestLimits,
} from "../requests.ts";

/** An operation whose request is a JSON body: all but `protect_file`. */
export type JsonOperation = Exclude<Operation, "protect_file">;

/** The schema that a server of these limits reads each operation's body with. */
export function operationRequests(limits: RequestLimits): Readonly<Record<JsonOperation, z.ZodType>> {
  const secret = secretRequests(limits);
  const sharing = sharingRequests(limits);
  const team = teamRequests(limits);
  const { file } = fileRequests(limits);
  return {
    generate_access_token: generateAccessTokenRequest,
    refresh_token: refreshTokenRequest,
    protect: secret.protect,
    list_no_dup: listRequest,
    expose: secret.secret,
    version_list: secret.secret,
    version_expose: secret.secretVersion,
    version_delete: secret.secretVersion,
    update_key_metadata: secret.updateMetadata,
    delete: secret.delete,
    share: sharing.share,
    unshare: sharing.unshare,
    share_list: sharing.list,
    delete_shared_key_link: sharing.leave,
    expose_link: secret.link,
    protect_link: secret.protectLink,
    version_list_for_link: secret.link,
    version_expose_link: secret.linkVersion,
    team_create: team.create,
    team_add_members: team.members,
    team_remove_members: team.members,
    team_list: listRequest,
    team_delete: team.team,
    list_file: listRequest,
    download_file: file,
    delete_file: file,
    delete_all_files: listRequest,
  };
}
