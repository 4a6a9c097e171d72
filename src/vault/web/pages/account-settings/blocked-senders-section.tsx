import type { VNode } from "preact";
import { useCallback } from "preact/hooks";
import { FailureNote } from "../../parts/notes.tsx";
import { LoadedView, useLoaded } from "../../parts/loaded-view.tsx";
import { TextField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { blockSender, listBlockedSenders, unblockSender } from "../../service/account-settings.ts";
import { useClient } from "../../session/client-context.ts";
import { useSecrets } from "../secrets/secrets-context.ts";

/** The senders whose shares the user does not see. */
export function BlockedSendersSection(): VNode {
  const client = useClient();
  const toast = useToast();
  const { list: secrets } = useSecrets();
  const blocked = useLoaded(useCallback(() => listBlockedSenders(client), [client]));
  const [blocking, unblocking] = [useAction(), useAction()];
  const reload = async (): Promise<void> =>
    void (await Promise.all([blocked.reload(), secrets.reload()]));
  const block = async (form: HTMLFormElement): Promise<void> => {
    const sender = formText(form, "usr_id_from").trim();
    await blockSender(client, sender);
    form.reset();
    toast(`Blocked ${sender}.`);
    await reload();
  };
  const unblock = async (sender: string): Promise<void> => {
    await unblockSender(client, sender);
    toast(`Unblocked ${sender}.`);
    await reload();
  };
  return (
    <section class="card" aria-labelledby="blocked-title">
      <h2 id="blocked-title">Blocked senders</h2>
      <p class="quiet">
        You do not see what these users share with you, and receive no email about it. They are not
        notified.
      </p>
      <LoadedView of={blocked} what="blocked senders">
        {(senders) =>
          senders.length > 0 && (
            <ul class="members" aria-label="Blocked senders">
              {senders.map((sender) => (
                <li key={sender}>
                  <span class="break">{sender}</span>
                  <button
                    class="button"
                    type="button"
                    aria-label={`Unblock ${sender}`}
                    onClick={() => void unblocking.run(() => unblock(sender))}
                  >
                    Unblock
                  </button>
                </li>
              ))}
            </ul>
          )
        }
      </LoadedView>
      {unblocking.failure && <FailureNote failure={unblocking.failure} />}
      <Form
        action={blocking}
        submit="Block"
        icon="block"
        variant="plain"
        work={block}
        keepsText={false}
      >
        <TextField
          label="Block a sender"
          name="usr_id_from"
          type="email"
          required
          autocomplete="off"
          placeholder="name@example.com"
          failure={blocking.failure}
        />
      </Form>
    </section>
  );
}
