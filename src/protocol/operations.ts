import type { JsonRequest, OperationDefinition } from "./define-operation.ts";
import type { Operation } from "./operation-paths.ts";
import {
  blockSender,
  blockedSendersOperation,
  deleteSharedKeyLink,
  shareList,
  share,
  unblockSender,
  unshare,
} from "./operations/sharing.ts";
import {
  deleteAllFiles,
  deleteFile,
  downloadFile,
  listFile,
  protectFile,
} from "./operations/files.ts";
import {
  consumerList,
  deleteSecrets,
  expose,
  listNoDup,
  protect,
  rename,
  updateKeyMetadata,
  versionDelete,
  versionExpose,
  versionList,
} from "./operations/secrets.ts";
import {
  exposeLink,
  protectLink,
  versionExposeLink,
  versionListForLink,
} from "./operations/shared-secrets.ts";
import {
  exchangeIdentityToken,
  generateAccessToken,
  refreshToken,
  tokenList,
  tokenRevoke,
} from "./operations/tokens.ts";
import {
  teamAddMembers,
  teamCreate,
  teamDelete,
  teamLeave,
  teamList,
  teamRemoveMembers,
} from "./operations/teams.ts";

import { trashDelete, trashEmpty, trashList, trashRestore } from "./operations/trash.ts";

/** Every operation of the vault, in the order of its documentation. */
export const operations = {
  generate_access_token: generateAccessToken,
  exchange_identity_token: exchangeIdentityToken,
  refresh_token: refreshToken,
  token_list: tokenList,
  token_revoke: tokenRevoke,
  protect,
  list_no_dup: listNoDup,
  expose,
  version_list: versionList,
  consumer_list: consumerList,
  version_expose: versionExpose,
  version_delete: versionDelete,
  update_key_metadata: updateKeyMetadata,
  rename,
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
  trash_list: trashList,
  trash_restore: trashRestore,
  trash_delete: trashDelete,
  trash_empty: trashEmpty,
} satisfies { readonly [Name in Operation]: OperationDefinition & { readonly name: Name } };

type Definitions = typeof operations;

/** An operation whose request is a JSON body: all but `protect_file`. */
export type JsonRequestOperation = {
  [O in Operation]: Definitions[O]["request"] extends JsonRequest ? O : never;
}[Operation];
