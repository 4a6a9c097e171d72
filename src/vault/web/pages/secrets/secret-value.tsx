import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Lazy } from "../../parts/loaded-view.tsx";
import { FailureNote } from "../../parts/notes.tsx";
import { exposeVersion, type SecretAccess } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { fileBytes } from "../../text/value-format.ts";
import { useRevealed, RevealButton } from "./revealed.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { savedText, saveBlob } from "../../parts/save-blob.ts";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { toRequestError } from "../../service/request-error.ts";
import { sizeText } from "../../text/formats.ts";

interface Choice {
  readonly text: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

interface ChoiceDialogProps {
  readonly choice: Choice;
  readonly save: (content: BlobPart) => void;
  readonly onClose: () => void;
}

function ChoiceDialog({ choice: { text, bytes }, save, onClose }: ChoiceDialogProps): VNode {
  return (
    <Dialog title="Save the decoded bytes?" onClose={onClose}>
      <div class="form">
        <p>
          The value may be a file that is no text: it is Base64 of {sizeText(bytes.length)}. The
          vault stores such a file as Base64.
        </p>
        <div class="form-buttons">
          <button class="button primary" type="button" onClick={() => save(bytes)}>
            Save the decoded bytes
          </button>
          <button class="button" type="button" onClick={() => save(text)}>
            Save the text
          </button>
          <button class="button" type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  );
}

interface SaveValueButtonProps {
  /** Name of the secret; its last part names the file. */
  readonly name: string;
  readonly fetchValue: () => Promise<string>;
}

/** Saves a value as a file, byte for byte. It is not shown. */
function SaveValueButton({ name, fetchValue }: SaveValueButtonProps): VNode {
  const toast = useToast();
  const action = useAction();
  const [choice, setChoice] = useState<Choice | undefined>(undefined);
  const filename = name.slice(name.lastIndexOf("/") + 1) || "value";
  const save = (content: BlobPart): void => {
    saveBlob(new Blob([content]), filename);
    setChoice(undefined);
    toast(savedText("the value", filename));
  };
  const onClick = (): void =>
    void action.run(async () => {
      try {
        const text = await fetchValue();
        const bytes = fileBytes(text);
        if (bytes) setChoice({ text, bytes });
        else save(text);
      } catch (error) {
        toast(toRequestError(error).message, "bad");
      }
    });
  return (
    <>
      <button class="button" type="button" onClick={onClick} aria-disabled={action.busy}>
        <Icon name="download" />
        Save as file
      </button>
      {choice && <ChoiceDialog choice={choice} save={save} onClose={() => setChoice(undefined)} />}
    </>
  );
}

interface SecretValueProps {
  readonly access: SecretAccess;
  readonly version: number;
  /** Further buttons. */
  readonly children?: ComponentChildren;
}

const loadShown = async () => (await import("./shown-value.tsx")).ShownValue;

/** Shows a revealed value with the time that is left, or that it is hidden. */
export function ValueBox({ value }: { readonly value: string | undefined }): VNode {
  if (value !== undefined) return <Lazy load={loadShown} props={{ value }} />;
  return (
    <p class="value masked">
      <span aria-hidden="true">••••••••••••</span>
      <span class="visually-hidden">Hidden</span>
    </p>
  );
}

/**
 * Value of one version. It is fetched on request, and removed from the page after 30 seconds, on
 * request, and when the page or the tab is left. Copying does not show it.
 */
export function SecretValue({ access, version, children }: SecretValueProps): VNode {
  const client = useClient();
  const fetchValue = async (): Promise<string> =>
    (await exposeVersion(client, access, version)).key_value;
  const revealed = useRevealed(fetchValue);
  const { value, action } = revealed;
  return (
    <div class="secret-value">
      <ValueBox value={value} />
      <FailureNote failure={action.failure} />
      <div class="buttons">
        <RevealButton revealed={revealed} show="Reveal value" hide="Hide value" />
        <CopyButton what="value" text={fetchValue} />
        <SaveValueButton name={access.key_name} fetchValue={fetchValue} />
        {children}
      </div>
      {value !== undefined && <p class="hint">Hidden automatically after 30 seconds.</p>}
    </div>
  );
}
