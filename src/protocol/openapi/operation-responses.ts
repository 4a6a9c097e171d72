import { z } from "zod";
import {
  exposedSecret,
  fileRecord,
  listedShare,
  secretRecord,
  shareRecord,
  teamRecord,
  tokenResponse,
  unshareRecord,
  uploadedFile,
} from "../responses.ts";
import type { Operation } from "../operation-paths.ts";

/** An operation that answers JSON: all but `download_file`. */
export type JsonAnswerOperation = Exclude<Operation, "download_file">;

const secrets = z.object({ secrets: z.array(secretRecord) });
const secret = z.object({ secret: secretRecord });
const versions = z.object({ key_name: z.string(), versions: z.array(secretRecord) });
const team = z.object({ team: teamRecord });

/** The body of each operation's success. Source: the vault contract, "Tokens", "Secrets", "Sharing, teams, people" and "Files". */
export const operationAnswers: Readonly<Record<JsonAnswerOperation, z.ZodType>> = {
  generate_access_token: tokenResponse,
  refresh_token: tokenResponse,
  protect: secret,
  list_no_dup: secrets,
  expose: exposedSecret,
  version_list: versions,
  version_expose: exposedSecret,
  version_delete: z.object({ deleted: z.object({ key_name: z.string(), key_version: z.int().min(1) }) }),
  update_key_metadata: secret,
  delete: z.object({ deleted: z.array(z.string()) }),
  share: z.object({ shared: z.array(shareRecord) }),
  unshare: z.object({ unshared: z.array(unshareRecord) }),
  share_list: z.object({ key_name: z.string(), shares: z.array(listedShare) }),
  delete_shared_key_link: z.object({ removed: z.object({ key_name: z.string(), owner: z.string() }) }),
  expose_link: exposedSecret,
  protect_link: z.object({
    secret: secretRecord,
    secrets: z.array(secretRecord).optional().meta({ description: "Left out with without_list: 1." }),
  }),
  version_list_for_link: versions,
  version_expose_link: exposedSecret,
  team_create: team,
  team_add_members: team,
  team_remove_members: team,
  team_list: z.object({ teams: z.array(teamRecord) }),
  team_delete: z.object({ deleted: z.object({ group_id: z.string() }) }),
  protect_file: z.object({ files: z.array(uploadedFile) }),
  list_file: z.object({ files: z.array(fileRecord) }),
  delete_file: z.object({ deleted: z.object({ filename: z.string(), versions: z.array(z.int().min(1)) }) }),
  delete_all_files: z.object({ deleted: z.int().min(0).meta({ description: "How many files, not versions." }) }),
};
