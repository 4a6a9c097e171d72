import { runNamed, type Menu } from "./menu/menu.ts";

const menu: Menu = {
  web: {
    description: "the pages of the web application, from an example vault",
    node: ["scripts/web-pictures.ts"],
  },
  dashboards: {
    description: "the Grafana dashboards, from a live operator and vault server",
    node: ["scripts/dashboard-pictures.ts"],
  },
};

process.exitCode = await runNamed(
  "npm run pictures -- NAME [OPTIONS]    (renews pictures in docs/images)",
  menu,
);
