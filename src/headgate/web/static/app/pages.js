// The pages of a job, in the order of the menu; all but the first are fetched when they are opened. `badge` counts what
// should be noticed; `records` marks the pages that a session that may only read does not see.

import { Overview } from "./pages/overview.js";
import { lazy } from "./ui.js";

export const PAGES = [
  { key: "overview", title: "Overview", Page: Overview },
  { key: "checkpoints", title: "Checkpoints", Page: lazy(() => import("./pages/checkpoints.js"), "Checkpoints"), badge: (overview) => overview.checkpoints.failed },
  { key: "exceptions", title: "Exceptions", Page: lazy(() => import("./pages/exceptions.js"), "Exceptions"), badge: (overview) => overview.failures },
  { key: "failed", title: "Failed records", Page: lazy(() => import("./pages/failed.js"), "Failed"), records: true, badge: (overview) => overview.vertices.reduce((sum, each) => sum + each.failed, 0) },
  { key: "state", title: "State", Page: lazy(() => import("./pages/state.js"), "State") },
  { key: "output", title: "Live output", Page: lazy(() => import("./pages/output.js"), "Output"), records: true },
  { key: "configuration", title: "Configuration", Page: lazy(() => import("./pages/configuration.js"), "Configuration") },
  { key: "logs", title: "Logs", Page: lazy(() => import("./pages/logs.js"), "Logs"), records: true },
];
