import { runAll, runNamed, type Menu } from "./menu/menu.ts";

const menu: Menu = {
  program: {
    description: "bundles the programs into dist",
    node: ["scripts/build-program.ts"],
  },
  web: { description: "the web application, in dist/web", node: ["scripts/build-web.ts"] },
  notices: {
    description: "the licenses of what the image contains, in THIRD_PARTY_NOTICES",
    node: ["scripts/write-notices.ts"],
  },
  executable: {
    description: "the command line as one file with Node, in dist-executable",
    node: ["scripts/build-executable.ts"],
    isExtra: true,
  },
};

process.exitCode =
  process.argv.length === 2
    ? await runAll(menu)
    : await runNamed("npm run build [-- NAME]    (without NAME: all but executable)", menu);
