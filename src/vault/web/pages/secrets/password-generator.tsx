import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "../../parts/dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { generatePassword, type PasswordKind } from "../../text/password.ts";

const kindLabels: readonly (readonly [PasswordKind, string])[] = [
  ["lower", "Lower case, a to z"],
  ["upper", "Upper case, A to Z"],
  ["digits", "Digits"],
  ["symbols", "Symbols"],
];

const LENGTHS = { least: 8, most: 128, first: 32 } as const;

/** The dialog is inside of the form of the value: Enter must not submit that form from here. */
const NO_FORM = "no-form";

interface GeneratorDialogProps {
  readonly onUse: (password: string) => void;
  readonly onClose: () => void;
}

function GeneratorDialog({ onUse, onClose }: GeneratorDialogProps): VNode {
  const [length, setLength] = useState<number>(LENGTHS.first);
  const [kinds, setKinds] = useState<readonly PasswordKind[]>(["lower", "upper", "digits"]);
  const [password, setPassword] = useState(() => generatePassword(length, kinds));
  const change = (nextLength: number, nextKinds: readonly PasswordKind[]): void => {
    setLength(nextLength);
    setKinds(nextKinds);
    setPassword(generatePassword(nextLength, nextKinds));
  };
  const toggle = (kind: PasswordKind): void => {
    const next = kinds.includes(kind) ? kinds.filter((other) => other !== kind) : [...kinds, kind];
    if (next.length > 0) change(length, next);
  };
  return (
    <Dialog title="Generate a value" onClose={onClose}>
      <div class="form">
        <output class="value">{password}</output>
        <label class="field">
          <span>Length: {length}</span>
          <input
            type="range"
            form={NO_FORM}
            min={LENGTHS.least}
            max={LENGTHS.most}
            value={length}
            onInput={(event) => change(event.currentTarget.valueAsNumber, kinds)}
          />
        </label>
        <fieldset class="kinds">
          <legend class="visually-hidden">Characters</legend>
          {kindLabels.map(([kind, label]) => (
            <label key={kind} class="check">
              <input
                type="checkbox"
                form={NO_FORM}
                checked={kinds.includes(kind)}
                onChange={() => toggle(kind)}
              />
              {label}
            </label>
          ))}
        </fieldset>
        <div class="form-buttons">
          <button
            class="button primary"
            type="button"
            onClick={() => {
              onUse(password);
              onClose();
            }}
          >
            Use this value
          </button>
          <button class="button" type="button" onClick={() => change(length, kinds)}>
            Another one
          </button>
          <button class="button" type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  );
}

/** Button that generates a password with the browser's cryptographic generator. */
export function PasswordGenerator({
  onUse,
}: {
  readonly onUse: (password: string) => void;
}): VNode {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button class="button" type="button" onClick={() => setOpen(true)}>
        <Icon name="dice" />
        Generate
      </button>
      {open && <GeneratorDialog onUse={onUse} onClose={() => setOpen(false)} />}
    </>
  );
}
