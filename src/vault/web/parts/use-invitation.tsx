import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { RequestError } from "../service/request-error.ts";
import { useSendsEmail } from "./vault-settings.ts";
import { Dialog } from "./dialog.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { Canceled } from "./use-action.ts";

/** Subject of the question: an invitation to a secret, or a place in a team. */
type Purpose = "share" | "add";

interface Words {
  readonly verb: string;
  readonly confirm: string;
  readonly icon: IconName;
  /** Access of a stranger with one of the addresses. */
  readonly effect: (addresses: string) => string;
  /** State of the request. */
  readonly nothing: string;
}

const words: Readonly<Record<Purpose, Words>> = {
  share: {
    verb: "Invite",
    confirm: "Invite and share",
    icon: "mail",
    effect: (addresses) => `The reader of email at ${addresses} gets access after the login.`,
    nothing: "Nothing is shared so far.",
  },
  add: {
    verb: "Add",
    confirm: "Add anyway",
    icon: "plus",
    effect: (addresses) =>
      `The reader of email at ${addresses} can sign up and then reads everything that is shared with the team.`,
    nothing: "No member was added so far.",
  },
};

interface InviteQuestionProps {
  readonly purpose: Purpose;
  readonly absent: readonly string[];
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

function InviteQuestion({ purpose, absent, onConfirm, onClose }: InviteQuestionProps): VNode {
  const { verb, confirm, icon, effect, nothing } = words[purpose];
  const sendsEmail = useSendsEmail();
  const one = absent.length === 1;
  return (
    <Dialog
      title={one ? `${verb} this user?` : `${verb} these ${absent.length} users?`}
      onClose={onClose}
    >
      <div class="form">
        <ul class="invited" tabIndex={0} aria-label="Addresses">
          {absent.map((email) => (
            <li key={email} class="break">
              <strong>{email}</strong>
            </li>
          ))}
        </ul>
        <p>
          No account yet, or not logged in at present: the vault does not tell which, nor who of
          several strangers. Check the spelling. {effect(one ? "this address" : "these addresses")}
        </p>
        {!sendsEmail && (
          <p>
            This vault sends no email. Tell {one ? "this user" : "these users"} to sign up at{" "}
            <span class="break">{location.origin}</span>; the operator of the vault gives them the
            link.
          </p>
        )}
        <p>{nothing}</p>
        <div class="form-buttons">
          <button class="button primary" type="button" onClick={onConfirm}>
            <Icon name={icon} />
            {confirm}
          </button>
          <button class="button" type="button" onClick={onClose} autofocus>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  );
}

/**
 * Returns the addresses that `invitation_required` names by their place in the request, or all when
 * it does not tell which.
 */
function absentOf({ details }: RequestError, addresses: readonly string[]): readonly string[] {
  const places = details.map(({ path }) => Number(path.split(".")[1]));
  if (places.some((place) => !Number.isInteger(place))) return addresses;
  return addresses.filter((_, index) => places.includes(index));
}

interface Question {
  readonly absent: readonly string[];
  readonly decide: (invite: boolean) => void;
}

interface Invitation {
  /**
   * Sends a request without an invitation. When the vault would invite addresses that are not
   * known, asks, and sends it again.
   * @throws Canceled when the user declines
   */
  readonly send: (
    request: (invite: boolean) => Promise<void>,
    addresses: readonly string[],
  ) => Promise<void>;
  /** The question, in the form that asks. */
  readonly question: VNode | undefined;
}

/** Asks before the vault invites an address. `known` are users who have an account. */
export function useInvitation(purpose: Purpose, known: ReadonlySet<string>): Invitation {
  const [question, setQuestion] = useState<Question | undefined>(undefined);
  const ask = async (absent: readonly string[]): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    setQuestion({ absent, decide: resolve });
    const decision = await promise;
    setQuestion(undefined);
    return decision;
  };
  const send: Invitation["send"] = async (request, addresses) => {
    try {
      await request(false);
    } catch (error) {
      if (!(error instanceof RequestError) || error.code !== "invitation_required") throw error;
      const absent = absentOf(error, addresses).filter((email) => !known.has(email));
      if (absent.length > 0 && !(await ask(absent))) throw new Canceled();
      await request(true);
    }
  };
  return {
    send,
    question: question && (
      <InviteQuestion
        purpose={purpose}
        absent={question.absent}
        onConfirm={() => question.decide(true)}
        onClose={() => question.decide(false)}
      />
    ),
  };
}
