import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { colorScheme, colorSchemes, type ColorScheme } from "../../parts/color-scheme.ts";

const labels: Readonly<Record<ColorScheme, string>> = {
  system: "System",
  light: "Light",
  dark: "Dark",
};

/** Chooses the colors of the pages. */
export function ColorsSection(): VNode {
  const [chosen, setChosen] = useState(colorScheme.get);
  const choose = (scheme: ColorScheme): void => {
    colorScheme.set(scheme);
    setChosen(scheme);
  };
  return (
    <section class="card" aria-labelledby="colors-title">
      <h2 id="colors-title">Colors</h2>
      <p class="quiet">For all accounts in this browser.</p>
      <fieldset class="segments">
        <legend class="visually-hidden">Colors</legend>
        {colorSchemes.map((scheme) => (
          <label key={scheme}>
            <input
              type="radio"
              name="colors"
              checked={scheme === chosen}
              onChange={() => choose(scheme)}
            />
            <span>{labels[scheme]}</span>
          </label>
        ))}
      </fieldset>
    </section>
  );
}
