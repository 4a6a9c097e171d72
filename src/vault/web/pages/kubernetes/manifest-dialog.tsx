import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { FileRecord, SecretRecord } from "../../../../protocol/responses.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { SelectField, TextField } from "../../parts/field.tsx";
import { FailureNote } from "../../parts/notes.tsx";
import { useAction } from "../../parts/use-action.ts";
import { hrefOf } from "../../routing/route.ts";
import { RequestError } from "../../service/request-error.ts";
import { exposeVersion } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import {
  isObjectName,
  MAX_ENTRIES,
  objectNameOf,
  vaultFileManifest,
  vaultSecretManifest,
  type FileTarget,
  type Placement,
} from "./manifest.ts";
import { jsonProperties } from "../../text/value-entries.ts";

/** Secrets or a file to sync. */
type Subject =
  | { readonly kind: "secrets"; readonly secrets: readonly SecretRecord[] }
  | { readonly kind: "file"; readonly file: FileRecord };

export interface ManifestDialogProps {
  readonly subject: Subject;
  readonly onClose: () => void;
}

const versionChoices = ["latest", "this"] as const;
type VersionChoice = (typeof versionChoices)[number];
const fileTargets: readonly FileTarget[] = ["Secret", "ConfigMap"];

interface PropertiesProps {
  readonly secret: SecretRecord;
  readonly chosen: readonly string[];
  readonly onChoice: (chosen: readonly string[]) => void;
}

/** Chooses members of a JSON value by their names. The value is fetched, and not shown. */
function Properties({ secret, chosen, onChoice }: PropertiesProps): VNode {
  const client = useClient();
  const action = useAction();
  const [names, setNames] = useState<readonly string[] | undefined>(undefined);
  const read = (): void =>
    void action.run(async () => {
      const { key_value: value } = await exposeVersion(client, secret, secret.key_version);
      setNames(jsonProperties(value));
    });
  if (!names) {
    return (
      <div class="stack">
        <div class="buttons">
          <button class="button" type="button" onClick={read} aria-disabled={action.busy}>
            Choose properties of a JSON value
            {action.busy && <span class="spinner" />}
          </button>
        </div>
        <FailureNote failure={action.failure} />
      </div>
    );
  }
  if (names.length === 0)
    return <p class="hint">The value is no JSON object: it is used as a whole.</p>;
  return (
    <fieldset class="choices">
      <legend>Properties of the value; none for the whole value</legend>
      {names.map((name) => (
        <label key={name} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(name)}
            onChange={({ currentTarget: { checked } }) =>
              onChoice(names.filter((each) => (each === name ? checked : chosen.includes(each))))
            }
          />
          <code class="break">{name}</code>
        </label>
      ))}
    </fieldset>
  );
}

interface VersionFieldProps {
  readonly latest: number;
  readonly choice: VersionChoice;
  readonly onChoice: (choice: VersionChoice) => void;
}

function VersionField({ latest, choice, onChoice }: VersionFieldProps): VNode {
  return (
    <SelectField
      label="Version"
      value={choice}
      choices={versionChoices}
      labelOf={(each) =>
        each === "latest" ? "Always the latest version" : `Stays at version ${latest}`
      }
      onChoice={onChoice}
    />
  );
}

const NAME_REASON = "Lower-case letters, digits, - and .";

interface PlacementFieldsProps {
  readonly placement: Placement;
  readonly onPlacement: (placement: Placement) => void;
}

/** Fields for the names; a name that Kubernetes does not accept is marked. */
function PlacementFields({ placement, onPlacement }: PlacementFieldsProps): VNode {
  const fields = [
    ["name", "Name of the resource"],
    ["namespace", "Namespace"],
    ["connection", "Connection"],
  ] as const;
  const wrong = fields.filter(([field]) => !isObjectName(placement[field]));
  const failure =
    wrong.length === 0
      ? undefined
      : new RequestError(
          "invalid_request",
          "Check the names.",
          0,
          wrong.map(([path]) => ({ path, reason: NAME_REASON })),
        );
  return (
    <div class="field-grid">
      {fields.map(([field, label]) => (
        <TextField
          key={field}
          label={label}
          name={field}
          defaultValue={placement[field]}
          autocomplete="off"
          spellcheck={false}
          failure={failure}
          onInput={(text) => onPlacement({ ...placement, [field]: text.trim() })}
        />
      ))}
    </div>
  );
}

function titleOf(subject: Subject): string {
  if (subject.kind === "file" || subject.secrets.length === 1) return "Use it in Kubernetes";
  return `Use ${subject.secrets.length} secrets in Kubernetes`;
}

/** Choices of the user. */
interface Choices {
  readonly placement: Placement;
  readonly version: VersionChoice;
  /** JSON Pointers to parts of the only secret. */
  readonly properties: readonly string[];
  /** Kind of the target of a file. */
  readonly target: FileTarget;
}

/** Returns the only secret, if there is one. */
function singleOf(subject: Subject): SecretRecord | undefined {
  return subject.kind === "secrets" && subject.secrets.length === 1
    ? subject.secrets[0]
    : undefined;
}

function firstChoices(subject: Subject): Choices {
  const source = subject.kind === "file" ? subject.file.filename : singleOf(subject)?.key_name;
  return {
    placement: {
      name: objectNameOf(source ?? "shop-secrets"),
      namespace: "default",
      connection: "vault",
    },
    version: "latest",
    properties: [],
    target: "Secret",
  };
}

/** Returns the number of the latest version, unless there are several secrets. */
function latestOf(subject: Subject): number | undefined {
  return subject.kind === "file" ? subject.file.version : singleOf(subject)?.key_version;
}

function manifestOf(
  subject: Subject,
  { placement, version: choice, properties, target }: Choices,
): string {
  const version = (choice === "this" ? latestOf(subject) : undefined) ?? "latest";
  if (subject.kind === "file")
    return vaultFileManifest(placement, subject.file.filename, { version, kind: target });
  const secrets = subject.secrets.slice(0, MAX_ENTRIES);
  return vaultSecretManifest(
    placement,
    secrets.map(({ key_name, owner }) => ({ key_name, owner, version, properties })),
  );
}

interface ChoiceFieldsProps {
  readonly subject: Subject;
  readonly choices: Choices;
  readonly onChoices: (choices: Choices) => void;
}

function ChoiceFields({ subject, choices, onChoices }: ChoiceFieldsProps): VNode {
  const single = singleOf(subject);
  const latest = latestOf(subject);
  const change = (changes: Partial<Choices>): void => onChoices({ ...choices, ...changes });
  return (
    <>
      <PlacementFields
        placement={choices.placement}
        onPlacement={(placement) => change({ placement })}
      />
      <div class="buttons">
        {latest !== undefined && (
          <VersionField
            latest={latest}
            choice={choices.version}
            onChoice={(version) => change({ version })}
          />
        )}
        {subject.kind === "file" && (
          <SelectField
            label="Target"
            value={choices.target}
            choices={fileTargets}
            labelOf={(each) => `Into a ${each}`}
            onChoice={(target) => change({ target })}
          />
        )}
      </div>
      {single && (
        <Properties
          secret={single}
          chosen={choices.properties}
          onChoice={(properties) => change({ properties })}
        />
      )}
    </>
  );
}

/** The finished manifest that syncs secrets or a file into a namespace. */
export function ManifestDialog({ subject, onClose }: ManifestDialogProps): VNode {
  const [choices, setChoices] = useState(() => firstChoices(subject));
  const manifest = manifestOf(subject, choices);
  const isFile = subject.kind === "file";
  return (
    <Dialog title={titleOf(subject)} onClose={onClose}>
      <div class="form">
        <p class="quiet">
          The Vaultsync operator writes {isFile ? "the file" : "the value"} into a native{" "}
          {isFile ? choices.target : "Secret"} and keeps it up to date, through a connection of the
          namespace. <a href={hrefOf({ page: "connect" })}>Connect a cluster</a>
        </p>
        <ChoiceFields subject={subject} choices={choices} onChoices={setChoices} />
        {!isFile && subject.secrets.length > MAX_ENTRIES && (
          <p class="hint">A resource has at most {MAX_ENTRIES} secrets: the first ones are used.</p>
        )}
        <pre class="example" tabIndex={0} role="region" aria-label="Manifest">
          {manifest}
        </pre>
        <p class="hint">
          Apply it with <code>kubectl apply -f -</code>, or commit it: it has no value.
        </p>
        <div class="form-buttons">
          <CopyButton what="manifest" text={manifest} />
          <button class="button" type="button" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}
