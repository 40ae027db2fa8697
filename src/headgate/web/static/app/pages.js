// The pages of a job, in the order of the menu. `badge` counts what should be noticed.

import { Checkpoints } from "./pages/checkpoints.js";
import { Configuration } from "./pages/configuration.js";
import { Exceptions } from "./pages/exceptions.js";
import { Failed } from "./pages/failed.js";
import { Logs } from "./pages/logs.js";
import { Overview } from "./pages/overview.js";

export const PAGES = [
  { key: "overview", title: "Overview", Page: Overview },
  { key: "checkpoints", title: "Checkpoints", Page: Checkpoints, badge: (overview) => overview.checkpoints.failed },
  { key: "exceptions", title: "Exceptions", Page: Exceptions, badge: (overview) => overview.failures },
  { key: "failed", title: "Failed records", Page: Failed, badge: (overview) => overview.vertices.reduce((sum, each) => sum + each.failed, 0) },
  { key: "configuration", title: "Configuration", Page: Configuration },
  { key: "logs", title: "Logs", Page: Logs },
];
