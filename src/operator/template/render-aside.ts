import { Redacted } from "../../lib/redacted.ts";
import { Slots } from "../../lib/slots.ts";
import { aside } from "../lib/aside.ts";
import { INLINE_UNITS, MAX_UNITS } from "./budget.ts";
import { type Rendering, type RenderInput, renderTemplate } from "./render-template.ts";

interface Job extends Pick<RenderInput, "template" | "variables"> {
  readonly seed: Uint8Array;
}

/** One thread at a time, to bound the memory and processors in use; namespaces take turns. */
const thread = new Slots(1);
const never = new AbortController().signal;

/** Copies the bytes only, not the buffer that they are a part of. */
const copied = (content: ReadonlyMap<string, Uint8Array>): ReadonlyMap<string, Uint8Array> =>
  new Map([...content].map(([name, bytes]) => [name, new Uint8Array(bytes)]));

const inThread = aside(
  { url: import.meta.url, name: "template" },
  ({ seed, ...input }: Job): Rendering => {
    const rendering = renderTemplate({ ...input, seed: new Redacted(seed) }, MAX_UNITS);
    return rendering.ok ? { ok: true, content: copied(rendering.content) } : rendering;
  },
);

/**
 * Renders the templates of a target as {@link renderTemplate} does. Longer work, such as a hash of
 * a password, runs in a separate thread. Targets of one namespace delay one of another by one
 * rendering at most.
 */
export async function renderAside(input: RenderInput, namespace: string): Promise<Rendering> {
  const rendering = renderTemplate(input, INLINE_UNITS);
  if (rendering.ok || !rendering.exceeded) return rendering;
  const { template, variables, seed } = input;
  const job: Job = {
    template,
    variables: copied(variables),
    seed: new Uint8Array(seed.reveal()),
  };
  return thread.run(never, () => inThread(job), namespace);
}
