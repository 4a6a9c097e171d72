import type { VNode } from "preact";
import type { SecretRecord } from "../../../protocol/responses.ts";
import { Timestamp } from "../../parts/timestamp.tsx";
import { PermissionBadge } from "../../parts/permission-badge.tsx";
import { hrefOf } from "../../routing/route.ts";
import { metadataText } from "../../text/metadata-text.ts";
import { Deadlines } from "./deadline.tsx";

/** Metadata names that scopes refer to, in their usual order. */
const chips = ["environment_type", "classification", "cloud_type", "application_type"] as const;

function Description({ text }: { readonly text: unknown }): VNode | null {
  return typeof text === "string" && text !== "" && text !== "n/a" ? <span class="description">{text}</span> : null;
}

function SecretRow({ secret, email }: { readonly secret: SecretRecord; readonly email: string }): VNode {
  const { key_name: name, owner, metadata } = secret;
  const own = owner === email;
  return (
    <tr>
      <td class="name-cell">
        <a class="row-link" href={hrefOf({ page: "secret", owner, name })}>
          {name}
        </a>
        <Description text={metadata["description"]} />
      </td>
      <td data-label="Version">{secret.key_version}</td>
      <td data-label="Owner" class="break">
        {own ? "You" : owner}
      </td>
      <td data-label="Access">
        <span class="badges">
          <PermissionBadge permission={secret.permission} own={own} />
          {own && secret.shared && <span class="badge">Shared</span>}
        </span>
      </td>
      <td data-label="Metadata">
        <span class="badges">
          {chips.map((chip) => (
            <span key={chip} class="chip" title={chip}>
              {metadataText(metadata[chip] ?? "")}
            </span>
          ))}
        </span>
      </td>
      <td data-label="Updated">
        <Timestamp at={secret.updated_at} />
      </td>
      <td data-label="Expires">
        <span class="badges">
          <Deadlines secret={secret} />
        </span>
      </td>
    </tr>
  );
}

export function SecretsTable({ secrets, email }: { readonly secrets: readonly SecretRecord[]; readonly email: string }): VNode {
  return (
    <table class="table">
      <caption class="visually-hidden">Secrets you can access</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Version</th>
          <th scope="col">Owner</th>
          <th scope="col">Access</th>
          <th scope="col">Metadata</th>
          <th scope="col">Updated</th>
          <th scope="col">Expires</th>
        </tr>
      </thead>
      <tbody>
        {secrets.map((secret) => (
          <SecretRow key={`${secret.owner}\n${secret.key_name}`} secret={secret} email={email} />
        ))}
      </tbody>
    </table>
  );
}
