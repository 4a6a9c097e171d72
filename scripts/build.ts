import { runAll, runNamed, type Menu } from "./menu/menu.ts";

const menu: Menu = {
  program: {
    description: "compiles the programs into dist",
    node: ["node_modules/typescript/bin/tsc", "-p", ".config/tsconfig.build.json"],
  },
  web: { description: "the web application, in dist/web", node: ["scripts/build-web.ts"] },
  notices: {
    description: "the licenses of what the image contains, in THIRD_PARTY_NOTICES",
    node: ["scripts/write-notices.ts"],
  },
};

process.exitCode =
  process.argv.length === 2
    ? await runAll(menu)
    : await runNamed("npm run build [-- NAME]    (without NAME: all)", menu);
