import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "../../parts/dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { savedText, saveBlob } from "../../parts/save-blob.ts";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { toRequestError } from "../../service/request-error.ts";
import { fileBytes } from "../../text/file-value.ts";
import { sizeText } from "../../text/size-text.ts";

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
export function SaveValueButton({ name, fetchValue }: SaveValueButtonProps): VNode {
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
