import type { Operation } from "../operation-paths.ts";

/** What may be done next with what an answer names, as OpenAPI says it: values are runtime expressions. */
export interface OperationLink {
  readonly operationId: Operation;
  readonly description: string;
  readonly requestBody: Readonly<Record<string, unknown>>;
}

type Links = Readonly<Record<string, OperationLink>>;

const email = "$request.body#/email";
const secret = { email, key_name: "$response.body#/secret/key_name" };
const version = { ...secret, key_version: "$response.body#/secret/key_version" };
const team = { email, group_id: "$response.body#/team/group_id" };
const file = { email: "$request.header.email", filename: "$response.body#/files/0/filename" };

function links(entries: readonly (readonly [Operation, string, Readonly<Record<string, unknown>>])[]): Links {
  return Object.fromEntries(
    entries.map(([operationId, description, requestBody]) => [operationId, { operationId, description, requestBody }]),
  );
}

/** The links of each operation's success. */
export const operationLinks: Readonly<Partial<Record<Operation, Links>>> = {
  generate_access_token: links([
    [
      "refresh_token",
      "The next access token.",
      { refresh_token: "$response.body#/refresh_token", used_access_token: "$response.body#/access_token" },
    ],
  ]),
  protect: links([
    ["expose", "The value.", secret],
    ["version_list", "All versions.", secret],
    ["version_expose", "The value of this version.", version],
    ["version_delete", "Delete this version.", version],
    ["update_key_metadata", "Change metadata of this version.", { ...version, metadata: {} }],
    ["delete", "Delete the secret.", secret],
    ["share", "Share the secret.", { ...secret, usr_id_from: email, usr_id_to: "bob@example.com", permission: "R" }],
  ]),
  share: links([
    ["expose_link", "The value.", { email, key_name: "$response.body#/shared/0/key_name" }],
    [
      "protect_link",
      "The next version.",
      { email, key_name: "$response.body#/shared/0/key_name", key_value: "a next value", without_list: 1 },
    ],
    ["version_list_for_link", "All versions.", { email, key_name: "$response.body#/shared/0/key_name" }],
    ["share_list", "To whom it is shared.", { email, key_name: "$response.body#/shared/0/key_name" }],
    ["unshare", "Take it back.", { email, key_name: "$response.body#/shared/0/key_name" }],
  ]),
  team_create: links([
    ["team_add_members", "Add somebody.", { ...team, members: "bob@example.com" }],
    ["team_remove_members", "Remove somebody.", { ...team, members: "bob@example.com" }],
    ["team_delete", "Delete the team.", team],
  ]),
  protect_file: links([
    ["download_file", "The bytes.", file],
    ["delete_file", "Delete the file.", file],
  ]),
};
