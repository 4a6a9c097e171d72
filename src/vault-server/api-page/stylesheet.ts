/** How the readable page looks: light and dark as the reader's system, from the width of a phone up. */
export const stylesheet = `:root {
  color-scheme: light dark;
  --ground: light-dark(#f5f6f8, #0d1115);
  --surface: light-dark(#ffffff, #151b21);
  --sunken: light-dark(#eef1f4, #1d252d);
  --line: light-dark(#dbe0e6, #2a343d);
  --ink: light-dark(#151a21, #e7ecf1);
  --quiet: light-dark(#566170, #9ba8b5);
  --accent: light-dark(#0b5d57, #53cdbf);
  font: 16px/1.55 system-ui, sans-serif;
  scroll-padding-top: 1rem;
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); overflow-wrap: anywhere; }
a { color: var(--accent); text-underline-offset: 0.15em; }
a:focus-visible, pre:focus-visible, .table:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: 1rem; top: -4rem; padding: 0.5rem 1rem; background: var(--ground); }
.skip:focus { top: 0.5rem; z-index: 1; }
body > header { display: flex; justify-content: space-between; gap: 1rem; padding: 0 1.25rem; background: var(--surface); border-bottom: 1px solid var(--line); }
body > header p { margin: 0.9rem 0; }
body > header p:first-child a { font-weight: 650; color: inherit; text-decoration: none; }
small, figcaption { color: var(--quiet); font-size: 0.8125rem; font-weight: 400; }
.layout { max-width: 80rem; margin: 0 auto; padding: 0 1.25rem 4rem; }
nav { padding: 1rem 0; font-size: 0.9375rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav > ul > li { margin-bottom: 0.75rem; }
nav > ul > li > a { font-weight: 600; color: inherit; text-decoration: none; }
nav ul ul { display: flex; flex-wrap: wrap; gap: 0.1rem 1rem; }
nav li a { display: inline-block; padding: 0.2rem 0; text-decoration: none; }
nav a:hover { text-decoration: underline; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 1.5rem 0 0.5rem; }
h2 { font-size: 1.45rem; margin: 3rem 0 0.25rem; }
h3 { font-size: 1.15rem; margin: 0 0 0.25rem; }
h3 a { color: inherit; text-decoration: none; }
h3 a:hover { text-decoration: underline; }
h4 { font-size: 1rem; margin: 1.5rem 0 0.25rem; }
p { margin: 0.5rem 0; max-width: 46rem; }
article { margin: 1.25rem 0; padding: 1.25rem; background: var(--surface); border: 1px solid var(--line); border-radius: 12px; }
article:target { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
code { font: 0.875em/1.5 ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; }
.path span { color: var(--accent); font-weight: 700; font-size: 0.8125rem; letter-spacing: 0.04em; }
.table { overflow-x: auto; margin: 0.5rem 0; }
table { position: relative; border-collapse: collapse; width: 100%; min-width: 30rem; font-size: 0.9375rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.9rem 0.4rem 0; border-bottom: 1px solid var(--line); font-weight: 400; overflow-wrap: normal; }
thead th { color: var(--quiet); font-size: 0.8125rem; }
tbody th { white-space: nowrap; }
figure { margin: 1rem 0 0; }
pre { margin: 0.25rem 0 0; padding: 0.8rem 1rem; overflow-x: auto; background: var(--sunken); border-radius: 8px; overflow-wrap: normal; }
@media (width < 40rem) {
  article { padding: 1rem; }
  table { min-width: 0; }
  thead { position: absolute; clip-path: inset(50%); }
  tbody, tr, th, td { display: block; }
  tr { padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
  th, td { padding: 0.1rem 0; border: 0; overflow-wrap: anywhere; }
  td:empty { display: none; }
}
@media (width >= 60rem) {
  .layout { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 2.5rem; }
  nav { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding-top: 1.75rem; }
  nav ul ul { display: block; padding-left: 0.75rem; border-left: 2px solid var(--line); }
}
`;
