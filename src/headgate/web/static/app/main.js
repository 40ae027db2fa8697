// The shell: who is here, which page the address names, and the frame around it.

import { html, render, useEffect, useErrorBoundary, useState } from "../vendor/preact.js";
import { session } from "./api.js";
import { duration } from "./format.js";
import { useGet, useJob } from "./live.js";
import { Actions } from "./actions.js";
import { PAGES } from "./pages.js";
import { Badge, Notice, Waiting } from "./ui.js";

/** Return the parts of the address behind "#/", decoded: ["jobs", id, page, ...rest]. */
function useAddress() {
  const read = () => location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decoded);
  const [parts, set] = useState(read);
  useEffect(() => {
    const changed = () => set(read());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return parts;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign of its own
  }
}

/** Until the driver has said who this browser is, the job is shown without orders: its answers are on their way already. */
const UNKNOWN = { rights: null, version: "" };

function App() {
  const [who, setWho] = useState(UNKNOWN);
  const [error, setError] = useState(null);
  const parts = useAddress();
  useEffect(() => {
    addEventListener("stranger", () => setError({ status: 401 }));
    session().then(setWho, setError);
  }, []);
  if (error !== null) return html`<${Stranger} error=${error} />`;
  if (parts[0] === "jobs" && parts[1]) {
    return html`<${Job} key=${parts[1]} id=${parts[1]} page=${parts[2] ?? "overview"} rest=${parts.slice(3)} who=${who} />`;
  }
  return html`<${Jobs} />`;
}

/** What who has no session sees. */
function Stranger({ error }) {
  document.title = "headgate";
  return html`<main class="narrow"><h1>headgate</h1>
    ${error.status === 401
      ? html`<p>This page shows jobs to anyone who has a login link. A link works once, for one browser.</p>
          <p>On the machine of the driver, this command makes a new link and opens it:</p><pre>headgate ui JOB</pre>
          <p class="quiet">Some browsers keep no session in a frame of another site: <a href="/" target="_blank" rel="noopener">open the page in a tab</a>.</p>`
      : html`<${Notice} kind="bad">${error.message}<//>`}</main>`;
}

function Jobs() {
  const { data, error } = useGet("/jobs/overview", 2000);
  useEffect(() => {
    document.title = "headgate: jobs";
  }, []);
  if (data === null) return html`<main><${Waiting} error=${error} /></main>`;
  if (data.jobs.length === 1) location.replace(`#/jobs/${data.jobs[0].jid}`);
  return html`<main class="narrow"><h1>Jobs of this driver</h1>
    <ul class="jobs">${data.jobs.map((job) => html`<li key=${job.jid}><a href="#/jobs/${job.jid}">${job.name}</a>
      <${Badge} state=${job.state} /> <span class="quiet">${duration(job.duration)}</span></li>`)}</ul>
    ${data.jobs.length === 0 && html`<p class="quiet">This driver runs no job at the moment.</p>`}</main>`;
}

function Job({ id, page, rest, who }) {
  const live = useJob(id);
  const { overview, ended, lost, gone } = live;
  const { Page, records } = PAGES.find((each) => each.key === page) ?? PAGES[0];
  const state = ended?.state ?? overview?.state;
  useEffect(() => {
    document.title = overview ? `${overview.name} · ${state}` : "headgate";
  }, [overview?.name, state]);
  return html`
    <header>
      <a class="brand" href="#/" aria-label="All jobs of this driver"><img src="/static/icon.svg" alt="" width="22" height="22" /></a>
      <h1>${overview?.name ?? id.slice(0, 8)}</h1>
      ${state && html`<${Badge} state=${state} />`}
      ${overview?.runningSince != null && !ended && html`<span class="quiet" title="How long this attempt has run">${duration(overview.now - overview.runningSince)}</span>`}
      <span class="space"></span>
      ${overview && !ended && who.rights && html`<${Actions} id=${id} overview=${overview} who=${who} />`}
    </header>
    <nav aria-label="Pages of the job">${PAGES.map((each) => html`<a key=${each.key} href="#/jobs/${id}/${each.key}"
      aria-current=${each.Page === Page ? "page" : null}>${each.title}${each.badge && overview ? html` <${Count} value=${each.badge(overview)} />` : null}</a>`)}</nav>
    <main>
      ${ended && html`<${Notice} kind=${ended.state === "FAILED" ? "bad" : "info"}>The job has ended: ${ended.state ?? "its driver is gone"}${ended.cause ? html`<pre>${ended.cause}</pre>` : "."} Below is what the driver last reported.<//>`}
      ${!ended && gone && html`<${Notice} kind="warn">This driver does not run the job, or no longer runs it.<//>`}
      ${!ended && lost && !gone && html`<${Notice} kind="warn">The connection to the driver is lost; trying again.<//>`}
      ${records && who.rights === "read"
        ? html`<${Notice}>This session may only read: records, state and logs are shown only in sessions that may give orders.<//>`
        : html`<${Guarded} key=${page}><${Page} id=${id} rest=${rest} overview=${overview} ended=${ended} /><//>`}
    </main>
    <footer class="quiet">headgate ${who.version} · job ${id}</footer>`;
}

/** A page that fails says so, and leaves the others alone. */
function Guarded({ children }) {
  const [error] = useErrorBoundary((failure) => console.warn(failure));
  return error ? html`<${Notice} kind="bad">This page could not be drawn: ${String(error.message ?? error)}. The other pages still work.<//>` : children;
}

const Count = ({ value }) => (value ? html`<span class="count">${value}</span>` : null);

render(html`<${App} />`, document.getElementById("app"));
