// The pages of a job, in the order of the menu. `badge` counts what should be noticed.

import { Exceptions } from "./pages/exceptions.js";
import { Overview } from "./pages/overview.js";

export const PAGES = [
  { key: "overview", title: "Overview", Page: Overview },
  { key: "exceptions", title: "Exceptions", Page: Exceptions, badge: (overview) => overview.failures },
];
