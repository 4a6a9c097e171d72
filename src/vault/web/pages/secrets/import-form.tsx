import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { AreaField, TextField } from "../../parts/field.tsx";
import { FileButton, useFileDrop } from "../../parts/file-input.tsx";
import { Form } from "../../parts/form.tsx";
import { FailureNote } from "../../parts/notes.tsx";
import { useAction, useStop, useFinish } from "../../parts/use-action.ts";
import { navigate } from "../../routing/use-route.ts";
import { RequestError } from "../../service/request-error.ts";
import { DescriptionField, EnvironmentField, ExpiryField } from "./metadata-fields.tsx";
import { defaultMetadata, readMetadata } from "./read-metadata.ts";
import { environmentIn, placeIn } from "./list-view.ts";
import { useKnownSecrets, useSecrets } from "./secrets-context.ts";
import { useImport, type Planned } from "./use-import.ts";
import { readFile } from "./value-field.tsx";
import { NameText } from "../../parts/value-text.tsx";
import { secretCount } from "../../text/formats.ts";

interface PreviewProps {
  readonly planned: readonly Planned[];
  readonly unreadable: readonly number[];
  readonly repeated: readonly string[];
  /** Names of the secrets to update. */
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (names: readonly string[], chosen: boolean) => void;
}

type EntryProps = Pick<PreviewProps, "chosen" | "onChoose"> & { readonly entry: Planned };

/** Says what becomes of an entry. */
function Outcome({ entry: { name, value, plan }, chosen, onChoose }: EntryProps): VNode {
  switch (plan.kind) {
    case "new": {
      const { length } = Array.from(value);
      return (
        <span class="quiet">
          New, {length} {length === 1 ? "character" : "characters"}
        </span>
      );
    }
    case "skipped":
      return <span class="badge warn">Skipped: {plan.reason}</span>;
    case "existing":
      return <span class="badge warn">In use, version {plan.secret.key_version}</span>;
    case "equal":
      return <span class="quiet">Equal to version {plan.version}</span>;
    case "done":
      return <span class="badge own">Stored</span>;
    case "changed":
      return (
        <label class="check">
          <input
            type="checkbox"
            checked={chosen.has(name)}
            onChange={(event) => onChoose([name], event.currentTarget.checked)}
          />
          Update: differs from version {plan.version}
        </label>
      );
  }
}

/** Lists what becomes of each variable, without the values. */
function ImportPreview(props: PreviewProps): VNode {
  const { planned, unreadable, repeated, chosen, onChoose } = props;
  const changed = planned.filter(({ plan }) => plan.kind === "changed").map(({ name }) => name);
  return (
    <div class="preview">
      {planned.length > 0 && (
        <ul aria-label="Secrets to store" tabIndex={0}>
          {planned.map((entry) => (
            <li key={entry.name}>
              <NameText name={entry.name} />
              <Outcome entry={entry} chosen={chosen} onChoose={onChoose} />
            </li>
          ))}
        </ul>
      )}
      {changed.length > 1 && (
        <label class="check">
          <input
            type="checkbox"
            checked={changed.every((name) => chosen.has(name))}
            onChange={(event) => onChoose(changed, event.currentTarget.checked)}
          />
          Update all {changed.length} that differ
        </label>
      )}
      {unreadable.length > 0 && (
        <p class="reason">Not understood and skipped: line {unreadable.join(", ")}.</p>
      )}
      {repeated.length > 0 && (
        <p class="reason break">
          Several values, of which the last one counts: {repeated.join(", ")}.
        </p>
      )}
    </div>
  );
}

/** Says what is done to the secrets: `Create 2 and update 1 secret`. */
function summary(verbs: readonly [string, string], created: number, updated: number): string {
  const [create, update] = verbs;
  if (updated === 0)
    return created === 0 ? `${create} secrets` : `${create} ${secretCount(created)}`;
  const updates = `${update} ${secretCount(updated)}`;
  if (created === 0) return updates;
  return `${create} ${created} and ${updates.charAt(0).toLowerCase()}${updates.slice(1)}`;
}

interface TextInputProps {
  readonly onText: (text: string) => void;
}

/** The text of an `.env` file: typed, pasted, chosen or dropped. */
function EnvText({ onText }: TextInputProps): VNode {
  // With another key for each file: its text is no typed text.
  const [file, setFile] = useState({ key: 0, text: "" });
  const reading = useAction();
  const read = (chosen: File): void =>
    void reading.run(async () => {
      const { format, text } = await readFile(chosen);
      if (format !== "text") throw new RequestError("no_text", `${chosen.name} is no text.`);
      setFile({ key: file.key + 1, text });
      onText(text);
    });
  const drop = useFileDrop(([first]) => first && read(first));
  return (
    <div class="form" {...drop}>
      <AreaField
        key={file.key}
        label="Content of the .env file"
        name="env"
        code
        rows={8}
        initial={file.text}
        initialFocus
        hint="Lines such as NAME=value, one secret each. The text does not leave this page before you store the secrets."
        onInput={onText}
      />
      <div class="buttons">
        <FileButton onFile={read} />
      </div>
      <FailureNote failure={reading.failure} />
    </div>
  );
}

interface ComparisonProps {
  readonly count: number;
  readonly progress: number;
  readonly compare: (signal: AbortSignal) => Promise<void>;
}

/** Compares the names in use when the user asks for it: that fetches their values. */
function ComparisonBar({ count, progress, compare }: ComparisonProps): VNode {
  const action = useAction();
  const stop = useStop();
  const toggle = (): void =>
    action.busy ? stop.stop() : void action.run(() => compare(stop.start()));
  return (
    <div class="stack">
      <p>
        You have {secretCount(count)} of these names already. Compare the values to choose what to
        update; otherwise they stay.
      </p>
      <div class="buttons">
        <button class="button" type="button" onClick={toggle}>
          {action.busy ? "Stop" : "Compare"}
        </button>
        <p role="status">{action.busy && `${progress} of ${count} compared`}</p>
      </div>
      <FailureNote failure={action.failure} />
    </div>
  );
}

/**
 * Creates a secret of each variable of an `.env` file, and updates those in use that the user
 * chooses, after a preview without the values.
 */
export function ImportForm(): VNode {
  const finish = useFinish();
  const stop = useStop();
  const action = useAction();
  const [text, setText] = useState("");
  const { listQuery } = useSecrets();
  const secrets = useKnownSecrets();
  const [start] = useState(() => placeIn(listQuery.current));
  const [prefix, setPrefix] = useState(start.prefix);
  const initial = useMemo(() => {
    const environment = environmentIn(prefix, secrets) ?? start.environment;
    return environment === ""
      ? defaultMetadata
      : { ...defaultMetadata, environment_type: environment };
  }, [prefix, secrets, start]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const { planned, unreadable, repeated, progress, compare, store } = useImport(text, prefix);
  const ofKind = (kind: Planned["plan"]["kind"]): readonly Planned[] =>
    planned.filter(({ plan }) => plan.kind === kind);
  const [created, inUse] = [ofKind("new"), ofKind("existing")];
  const updated = ofKind("changed").filter(({ name }) => chosen.has(name));
  const wanted = [...created, ...updated];
  const choose = (names: readonly string[], isChosen: boolean): void => {
    const rest = new Set([...chosen].filter((name) => !names.includes(name)));
    setChosen(isChosen ? new Set([...rest, ...names]) : rest);
  };
  const compareAgain = (signal: AbortSignal): Promise<void> => {
    // The user decides about the versions that are found now.
    setChosen(new Set());
    return compare(signal);
  };
  const work = async (form: HTMLFormElement): Promise<void> => {
    const { metadata } = readMetadata(form, defaultMetadata);
    if (wanted.length === 0)
      throw new RequestError("invalid_request", "There is nothing to store.");
    await store(wanted, metadata, stop.start());
    const done = summary(["Created", "Updated"], created.length, updated.length);
    finish(`${done}.`, { page: "secrets" }, "Show the list");
  };
  const metadata = { initial, failure: action.failure };
  return (
    <Form
      action={action}
      submit={summary(["Create", "Update"], created.length, updated.length)}
      icon="key"
      work={work}
      onCancel={() => navigate({ page: "secrets", query: listQuery.current })}
      onStop={stop.stop}
    >
      <EnvText onText={setText} />
      <TextField
        label="Prefix of the names"
        name="prefix"
        defaultValue={start.prefix}
        placeholder="none, for example shop/"
        autocomplete="off"
        spellcheck={false}
        onInput={setPrefix}
      />
      <ImportPreview {...{ planned, unreadable, repeated, chosen }} onChoose={choose} />
      {inUse.length > 0 && (
        <ComparisonBar count={inUse.length} progress={progress} compare={compareAgain} />
      )}
      <p class="hint" role="status">
        {action.busy && `${progress} of ${progress + wanted.length} stored`}
      </p>
      <DescriptionField {...metadata} />
      <EnvironmentField {...metadata} />
      <ExpiryField {...metadata} />
    </Form>
  );
}
