import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { Timestamp } from "../../parts/value-text.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { browserClock } from "../../service/browser-clock.ts";
import { scheduleRemoval } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { localTime, millisecondsOf } from "../../text/formats.ts";
import { hasDeadline, UNSET_DELETE_MINUTES } from "./deadline.tsx";

interface RemovalScheduleProps {
  readonly secret: SecretRecord;
  readonly onChange: () => Promise<void>;
}

const choices: readonly (readonly [boolean, string])[] = [
  [false, "Keep until I delete it"],
  [true, "Delete at a date"],
];

/** Returns the minutes until a date of a `datetime-local` field, at least one. */
function minutesUntil(date: string): number {
  return Math.max(1, Math.ceil((Date.parse(date) - browserClock.now()) / 60_000));
}

function ScheduleDialog({
  secret,
  onChange,
  onClose,
}: RemovalScheduleProps & { readonly onClose: () => void }): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  // The schedule at the time the dialog was opened.
  const [{ scheduled, at }] = useState(() => {
    const chosen = hasDeadline(secret);
    return { scheduled: chosen, at: chosen ? localTime(millisecondsOf(secret.delete_at)) : "" };
  });
  const [wanted, setWanted] = useState(scheduled);
  const work = async (form: HTMLFormElement): Promise<void> => {
    const date = wanted ? formText(form, "delete_time") : "";
    if (date !== at) {
      const minutes = (): number => (date === "" ? UNSET_DELETE_MINUTES : minutesUntil(date));
      await scheduleRemoval(client, secret, minutes);
      toast(
        date === ""
          ? "The secret is not deleted automatically any more."
          : "Changed the date of the deletion.",
      );
      await onChange();
    }
    onClose();
  };
  return (
    <Dialog title="Delete automatically" onClose={onClose}>
      <Form action={action} submit="Save" work={work} onCancel={onClose}>
        <fieldset class="kinds">
          <legend class="visually-hidden">Deletion</legend>
          {choices.map(([value, label]) => (
            <label key={label} class="check">
              <input
                type="radio"
                name="scheduled"
                checked={wanted === value}
                onChange={() => setWanted(value)}
              />
              {label}
            </label>
          ))}
        </fieldset>
        {wanted && (
          <TextField
            label="Date and time"
            name="delete_time"
            type="datetime-local"
            required
            min={localTime(browserClock.now() + 60_000)}
            defaultValue={at}
            hint="Deletes the secret for everyone it is shared with. Expiry, in contrast, deletes nothing."
            failure={action.failure}
          />
        )}
      </Form>
    </Dialog>
  );
}

/**
 * Says whether an own secret is deleted automatically, and lets the creator change that.
 */
export function RemovalSchedule({ secret, onChange }: RemovalScheduleProps): VNode {
  const [open, setOpen] = useState(false);
  const scheduled = hasDeadline(secret);
  return (
    <div class="schedule">
      <p>
        {scheduled ? (
          <>
            Deleted automatically <Timestamp at={secret.delete_at} />.
          </>
        ) : (
          "Not deleted automatically."
        )}
      </p>
      <button class="button" type="button" onClick={() => setOpen(true)}>
        {scheduled ? "Change the date" : "Set a date"}
      </button>
      {open && (
        <ScheduleDialog secret={secret} onChange={onChange} onClose={() => setOpen(false)} />
      )}
    </div>
  );
}
