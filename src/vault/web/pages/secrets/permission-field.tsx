import type { VNode } from "preact";
import type { Permission } from "../../../../protocol/responses.ts";
import { ChoiceField } from "../../parts/field.tsx";
import { formText } from "../../parts/form-text.ts";
import { permissionWords } from "../../parts/permission-badge.tsx";

const permissions: readonly Permission[] = ["R", "W", "RW"];

/** Select of a recipient's permission; `readPermission` reads it. */
export function PermissionField({ initial = "R" }: { readonly initial?: Permission }): VNode {
  return (
    <ChoiceField label="Permission" name="permission">
      {permissions.map((permission) => (
        <option key={permission} value={permission} selected={permission === initial}>
          {permissionWords(permission)}
        </option>
      ))}
    </ChoiceField>
  );
}

export function readPermission(form: HTMLFormElement): Permission {
  return permissions.find((candidate) => candidate === formText(form, "permission")) ?? "R";
}
