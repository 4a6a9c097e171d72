import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Metadata } from "../../../../protocol/metadata.ts";
import { AreaField, TextField } from "../../parts/field.tsx";
import { Form } from "../../parts/form.tsx";
import { NameText } from "../../parts/value-text.tsx";
import { useFinish } from "../../parts/use-finish.ts";
import { useStop } from "../../parts/use-stop.ts";
import { useAction } from "../../parts/use-action.ts";
import { navigate } from "../../routing/use-route.ts";
import { RequestError, toRequestError } from "../../service/request-error.ts";
import { createSecret } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { parseEnvFile } from "../../text/env-file.ts";
import { DescriptionField, EnvironmentField, ExpiryField } from "./metadata-fields.tsx";
import { defaultMetadata, readMetadata } from "./read-metadata.ts";
import { nameProblem } from "./secret-name.ts";
import { placeIn } from "./list-view.ts";
import { useSecrets } from "./secrets-context.ts";

/** A variable of the text as the secret that it becomes, unless there is a problem. */
interface Planned {
  readonly name: string;
  readonly value: string;
  readonly problem: string | undefined;
}

interface EnvImport {
  readonly planned: readonly Planned[];
  /** Numbers of the lines that are not understood. */
  readonly unreadable: readonly number[];
  /** Number of secrets to create. */
  readonly wanted: number;
  /** @throws RequestError that names what was not created, also after an abort */
  readonly create: (metadata: Metadata, signal: AbortSignal) => Promise<void>;
}

function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function Preview({
  planned,
  unreadable,
}: {
  readonly planned: readonly Planned[];
  readonly unreadable: readonly number[];
}): VNode {
  return (
    <div class="preview">
      {planned.length > 0 && (
        <ul aria-label="Secrets to create">
          {planned.map(({ name, value, problem }) => (
            <li key={name}>
              <NameText name={name} />
              {problem === undefined ? (
                <span class="quiet">{plural(Array.from(value).length, "character")}</span>
              ) : (
                <span class="badge warn">Skipped: {problem}</span>
              )}
            </li>
          ))}
        </ul>
      )}
      {unreadable.length > 0 && (
        <p class="reason">Not understood and skipped: line {unreadable.join(", ")}.</p>
      )}
    </div>
  );
}

/**
 * Returns what becomes of each variable of the text, and creates the secrets that have no problem.
 */
function useImport(text: string, prefix: string): EnvImport {
  const client = useClient();
  const { list } = useSecrets();
  const [done, setDone] = useState<ReadonlySet<string>>(new Set());
  const { loaded } = list;
  const { variables, unreadable } = useMemo(() => parseEnvFile(text), [text]);
  const planned = useMemo(() => {
    const own =
      loaded.kind === "ready" ? loaded.value.filter(({ owner }) => owner === client.email) : [];
    const taken = new Set([...own.map(({ key_name: name }) => name), ...done]);
    return variables.map(({ name: variable, value }): Planned => {
      const name = prefix.trim() + variable;
      return { name, value, problem: taken.has(name) ? "you have it already" : nameProblem(name) };
    });
  }, [variables, prefix, loaded, done, client]);
  const wanted = planned.filter(({ problem }) => problem === undefined);
  const create = async (metadata: Metadata, signal: AbortSignal): Promise<void> => {
    const failed: string[] = [];
    let created = 0;
    for (const { name, value } of wanted) {
      if (signal.aborted) break;
      try {
        await createSecret(client, { key_name: name, key_value: value, metadata });
        created += 1;
        setDone((names) => new Set([...names, name]));
      } catch (error) {
        failed.push(`${name}: ${toRequestError(error).message}`);
      }
    }
    await list.reload();
    if (created === wanted.length) return;
    const stopped = signal.aborted ? "Stopped: created" : "Created";
    const reasons = failed.length > 0 ? ` Not created: ${failed.join(" ")}` : "";
    throw new RequestError(
      "import_failed",
      `${stopped} ${created} of ${plural(wanted.length, "secret")}.${reasons}`,
    );
  };
  return { planned, unreadable, wanted: wanted.length, create };
}

/**
 * Creates a secret of each variable of an `.env` file that is not in use yet, after a preview
 * without the values.
 */
export function ImportForm(): VNode {
  const finish = useFinish();
  const stop = useStop();
  const action = useAction();
  const [text, setText] = useState("");
  const { listQuery } = useSecrets();
  const [start] = useState(() => placeIn(listQuery.current).prefix);
  const [prefix, setPrefix] = useState(start);
  const { planned, unreadable, wanted, create } = useImport(text, prefix);
  const work = async (form: HTMLFormElement): Promise<void> => {
    const { metadata } = readMetadata(form, defaultMetadata);
    if (wanted === 0) throw new RequestError("invalid_request", "There is nothing to create.");
    await create(metadata, stop.start());
    finish(`Created ${plural(wanted, "secret")}.`, { page: "secrets" }, "Show the list");
  };
  const metadata = { initial: defaultMetadata, failure: action.failure };
  const submit = wanted > 0 ? `Create ${plural(wanted, "secret")}` : "Create secrets";
  return (
    <Form
      action={action}
      submit={submit}
      icon="key"
      work={work}
      onCancel={() => navigate({ page: "secrets", query: listQuery.current })}
      onStop={stop.stop}
    >
      <AreaField
        label="Content of the .env file"
        name="env"
        code
        rows={8}
        hint="Lines such as NAME=value, one secret each. The text does not leave this page before you create the secrets."
        onInput={setText}
      />
      <TextField
        label="Prefix of the names"
        name="prefix"
        defaultValue={start}
        placeholder="none, for example shop/"
        autocomplete="off"
        spellcheck={false}
        onInput={setPrefix}
      />
      <Preview planned={planned} unreadable={unreadable} />
      <DescriptionField {...metadata} />
      <EnvironmentField {...metadata} />
      <ExpiryField {...metadata} />
    </Form>
  );
}
