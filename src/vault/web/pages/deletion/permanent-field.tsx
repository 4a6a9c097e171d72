import type { VNode } from "preact";
import { daysText, useTrashDays } from "../../parts/vault-settings.ts";

interface PermanentFieldProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

/** Part of the question before a deletion that bypasses the trash of a vault that has one. */
export function PermanentField({ checked, onChange }: PermanentFieldProps): VNode | null {
  const days = useTrashDays();
  if (days === 0) return null;
  return (
    <div>
      <label class="check">
        <input
          type="checkbox"
          checked={checked}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        Delete permanently, without {daysText(days)} in the trash
      </label>
      <p class="hint">
        Choose this after a leak, and replace the value where it is in use: copies stay valid.
      </p>
    </div>
  );
}
