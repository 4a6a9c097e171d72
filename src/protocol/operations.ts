import type { JsonRequest, OperationDefinition } from "./define-operation.ts";
import type { Operation } from "./operation-paths.ts";
import { blockSender } from "./operations/block-sender.ts";
import { blockedSendersOperation } from "./operations/blocked-senders.ts";
import { deleteAllFiles } from "./operations/delete-all-files.ts";
import { deleteFile } from "./operations/delete-file.ts";
import { deleteSharedKeyLink } from "./operations/delete-shared-key-link.ts";
import { deleteSecrets } from "./operations/delete.ts";
import { downloadFile } from "./operations/download-file.ts";
import { exposeLink } from "./operations/expose-link.ts";
import { expose } from "./operations/expose.ts";
import { generateAccessToken } from "./operations/generate-access-token.ts";
import { listFile } from "./operations/list-file.ts";
import { listNoDup } from "./operations/list-no-dup.ts";
import { protectFile } from "./operations/protect-file.ts";
import { protectLink } from "./operations/protect-link.ts";
import { protect } from "./operations/protect.ts";
import { refreshToken } from "./operations/refresh-token.ts";
import { shareList } from "./operations/share-list.ts";
import { share } from "./operations/share.ts";
import { teamAddMembers } from "./operations/team-add-members.ts";
import { teamCreate } from "./operations/team-create.ts";
import { teamDelete } from "./operations/team-delete.ts";
import { teamLeave } from "./operations/team-leave.ts";
import { teamList } from "./operations/team-list.ts";
import { teamRemoveMembers } from "./operations/team-remove-members.ts";
import { tokenList } from "./operations/token-list.ts";
import { tokenRevoke } from "./operations/token-revoke.ts";
import { unblockSender } from "./operations/unblock-sender.ts";
import { unshare } from "./operations/unshare.ts";
import { updateKeyMetadata } from "./operations/update-key-metadata.ts";
import { versionDelete } from "./operations/version-delete.ts";
import { versionExposeLink } from "./operations/version-expose-link.ts";
import { versionExpose } from "./operations/version-expose.ts";
import { versionListForLink } from "./operations/version-list-for-link.ts";
import { versionList } from "./operations/version-list.ts";

/** Every operation of the vault, in the order of its documentation. */
export const operations = {
  generate_access_token: generateAccessToken,
  refresh_token: refreshToken,
  token_list: tokenList,
  token_revoke: tokenRevoke,
  protect,
  list_no_dup: listNoDup,
  expose,
  version_list: versionList,
  version_expose: versionExpose,
  version_delete: versionDelete,
  update_key_metadata: updateKeyMetadata,
  delete: deleteSecrets,
  expose_link: exposeLink,
  protect_link: protectLink,
  version_list_for_link: versionListForLink,
  version_expose_link: versionExposeLink,
  share,
  unshare,
  share_list: shareList,
  delete_shared_key_link: deleteSharedKeyLink,
  block_sender: blockSender,
  unblock_sender: unblockSender,
  blocked_senders: blockedSendersOperation,
  team_create: teamCreate,
  team_add_members: teamAddMembers,
  team_remove_members: teamRemoveMembers,
  team_list: teamList,
  team_leave: teamLeave,
  team_delete: teamDelete,
  protect_file: protectFile,
  list_file: listFile,
  download_file: downloadFile,
  delete_file: deleteFile,
  delete_all_files: deleteAllFiles,
} satisfies { readonly [Name in Operation]: OperationDefinition & { readonly name: Name } };

type Definitions = typeof operations;

/** An operation whose request is a JSON body: all but `protect_file`. */
export type JsonRequestOperation = {
  [O in Operation]: Definitions[O]["request"] extends JsonRequest ? O : never;
}[Operation];
