import type { VNode } from "preact";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { FailureNote } from "../../parts/notes.tsx";
import { Icon } from "../../parts/icon.tsx";
import {
  NameText,
  Timestamp,
  permissionWords,
  shortPermissionWords,
} from "../../parts/value-text.tsx";
import { hrefOf } from "../../routing/route.ts";
import { navigate } from "../../routing/use-route.ts";
import { exposeLatest } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { directionOf } from "../../text/visible-text.ts";
import { metadataText, metadataLabel } from "../../text/metadata-text.ts";
import { Deadlines } from "./deadline.tsx";
import { ValueBox } from "./secret-value.tsx";
import { useRevealed } from "./revealed.tsx";

/** Metadata names that scopes refer to, with the vault's defaults. The defaults are not shown. */
const chips: readonly (readonly [string, string])[] = [
  ["environment_type", "dev"],
  ["classification", "top"],
  ["cloud_type", "aws"],
  ["application_type", "container"],
];

/**
 * Columns below which a value is shown: those that every width of the window has, because a larger
 * number would add columns.
 */
const VALUE_COLUMNS = 6;

/**
 * Longest name that is likely to fit its column: longer ones are shown in full while they have the
 * focus.
 */
const FITTING_NAME = 28;

function descriptionOf({ metadata: { description } }: SecretRecord): string {
  return typeof description === "string" && description !== "n/a" ? description : "";
}

interface NameCellProps {
  readonly secret: SecretRecord;
  /** Start of the name, with its last slash; empty without one. */
  readonly folder: string;
}

/**
 * Links to the secret from the whole row. Folders are less prominent: the rows of one folder read
 * as a group.
 */
function NameCell({ secret, folder }: NameCellProps): VNode {
  const { key_name: name, owner } = secret;
  const full = [name, descriptionOf(secret)].filter((text) => text !== "").join("\n");
  return (
    <td class="name-cell">
      <a
        class="row-link"
        href={hrefOf({ page: "secret", owner, name })}
        title={full}
        data-full={name.length > FITTING_NAME ? name : undefined}
      >
        <bdi dir={directionOf(name)}>
          {folder !== "" && (
            <span class="folder">
              <NameText name={folder} />
            </span>
          )}
          <span class="leaf">
            <NameText name={name.slice(folder.length)} />
          </span>
        </bdi>
      </a>
    </td>
  );
}

/** The owner, unless it is the user, and what the user or others may do. */
function AccessCell({
  secret,
  own,
  isNew,
}: {
  readonly secret: SecretRecord;
  readonly own: boolean;
  readonly isNew: boolean;
}): VNode {
  return (
    <td
      class={own && !secret.shared ? "access-cell usual" : "access-cell"}
      title={own ? undefined : `${secret.owner}: ${permissionWords(secret.permission)}`}
    >
      <span class="access">
        <span class={own ? "quiet" : undefined}>{own ? "You" : secret.owner}</span>
        {isNew && <span class="badge own">New</span>}
        {!isNew && (!own || secret.shared) && (
          <span class="badge">{own ? "Shared" : shortPermissionWords[secret.permission]}</span>
        )}
      </span>
    </td>
  );
}

function ChipsCell({ secret: { metadata } }: { readonly secret: SecretRecord }): VNode {
  const special = chips
    .map(([name, usual]) => [name, metadataText(metadata[name] ?? ""), usual] as const)
    .filter(([, text, usual]) => text !== "" && text !== usual);
  return (
    <td
      class="chips-cell"
      title={
        special.map(([name, text]) => `${metadataLabel(name)}: ${text}`).join("\n") || undefined
      }
    >
      {special.map(([name, text]) => (
        <span key={name} class="chip">
          {text}
        </span>
      ))}
    </td>
  );
}

export interface SecretRowProps {
  readonly secret: SecretRecord;
  /** The user has not looked at this received secret. */
  readonly isNew: boolean;
  readonly selected: boolean;
  readonly onSelect: (selected: boolean) => void;
}

/** One line with a secret, and its value below while it is revealed. */
export function SecretRow({ secret, isNew, selected, onSelect }: SecretRowProps): VNode {
  const client = useClient();
  const { key_name: name, updated_at: updatedAt } = secret;
  const folder = name.slice(0, name.lastIndexOf("/") + 1);
  const fetchValue = async (): Promise<string> => (await exposeLatest(client, secret)).key_value;
  const { value, action, reveal, hide } = useRevealed(fetchValue);
  const shown = value !== undefined;
  const label = shown ? `Hide value of ${name}` : `Reveal value of ${name}`;
  return (
    <>
      <tr class={selected ? "selected" : undefined}>
        <td class="select-cell">
          <input
            type="checkbox"
            checked={selected}
            aria-label={`Select ${name}`}
            onChange={(event) => onSelect(event.currentTarget.checked)}
          />
        </td>
        <NameCell secret={secret} folder={folder} />
        <td class="description-cell">
          {folder !== "" && (
            <span class="narrow-folder" aria-hidden="true">
              <NameText name={folder} />{" "}
            </span>
          )}
          {descriptionOf(secret)}
        </td>
        <AccessCell secret={secret} own={secret.owner === client.email} isNew={isNew} />
        <ChipsCell secret={secret} />
        <td class="updated-cell">
          <Timestamp at={updatedAt} />
        </td>
        <td class="deadline-cell">
          <Deadlines secret={secret} />
        </td>
        <td class="actions-cell">
          {secret.permission === "RW" && (
            <button
              class="button icon-button edit-value"
              type="button"
              aria-label={`Edit value of ${name}`}
              title={`Edit value of ${name}`}
              onClick={() => navigate({ page: "secret", owner: secret.owner, name, edits: true })}
            >
              <Icon name="edit" />
            </button>
          )}
          <CopyButton what={`value of ${name}`} text={fetchValue} compact />
          <button
            class="button icon-button"
            type="button"
            aria-label={label}
            title={label}
            onClick={shown ? hide : reveal}
          >
            {action.busy ? <span class="spinner" /> : <Icon name={shown ? "eye-off" : "eye"} />}
          </button>
        </td>
      </tr>
      {(shown || action.failure) && (
        <tr class="value-row">
          <td colSpan={VALUE_COLUMNS}>
            {shown ? <ValueBox value={value} /> : <FailureNote failure={action.failure} />}
          </td>
        </tr>
      )}
    </>
  );
}
