import type { VaultClient } from "./vault-client.ts";

/** Metadata of a secret that was protected without any. */
export const defaultMetadata = {
  application_type: "container",
  classification: "top",
  cloud_type: "aws",
  description: "n/a",
  environment_type: "dev",
  expiration_time: 10,
};

/** Protects a secret and returns its record. */
// oxlint-disable-next-line typescript/no-explicit-any -- assertions inspect it
export async function protectSecret(client: VaultClient, body: object): Promise<any> {
  return (await client.call("protect", body)).json().secret;
}

/** Returns the latest value of an unshared secret. */
export async function readValue(client: VaultClient, name: string): Promise<string> {
  return (await client.call("expose", { key_name: name })).json().key_value;
}

/** Returns the names in the client's list of secrets. */
export async function listNames(client: VaultClient): Promise<string[]> {
  return (await client.call("list_no_dup"))
    .json()
    .secrets.map((secret: { key_name: string }) => secret.key_name);
}

/** Requests that read an unshared secret, with what their body has next to its name. */
export const unsharedReads = [
  ["expose", {}],
  ["version_expose", { key_version: 1 }],
  ["version_list", {}],
] as const;
