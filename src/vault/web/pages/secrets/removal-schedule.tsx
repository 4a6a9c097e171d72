import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { Timestamp } from "../../parts/value-text.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { scheduleRemoval } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { hasDeadline, UNSET_DELETE_MINUTES } from "./deadline.tsx";
import { DelayFields, readDelay } from "./delay-fields.tsx";

interface RemovalScheduleProps {
  readonly secret: SecretRecord;
  readonly onChange: () => Promise<void>;
}

function ScheduleDialog({
  secret,
  onChange,
  onClose,
}: RemovalScheduleProps & { readonly onClose: () => void }): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const work = async (form: HTMLFormElement): Promise<void> => {
    const minutes = readDelay(form);
    await scheduleRemoval(client, secret, minutes ?? UNSET_DELETE_MINUTES);
    toast(
      minutes === undefined
        ? "The secret is not deleted automatically any more."
        : "Changed the date of the deletion.",
    );
    await onChange();
    onClose();
  };
  return (
    <Dialog title="Delete automatically" onClose={onClose}>
      <Form action={action} submit="Save" work={work} onCancel={onClose}>
        <DelayFields failure={action.failure} />
        <p class="hint">
          Counted from now. Without a number, the secret is kept until you delete it.
        </p>
      </Form>
    </Dialog>
  );
}

/**
 * Says whether an own secret is deleted automatically, and lets the creator change or call it off.
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
        {scheduled ? "Change or call off" : "Set a date"}
      </button>
      {open && (
        <ScheduleDialog secret={secret} onChange={onChange} onClose={() => setOpen(false)} />
      )}
    </div>
  );
}
