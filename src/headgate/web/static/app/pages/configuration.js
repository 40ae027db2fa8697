// How the job is configured, and what it runs on: options, the user's parameters, versions of driver and slots.

import { html, useState } from "../../vendor/preact.js";
import { useGet } from "../live.js";
import { Figure, Notice, Table, Waiting } from "../ui.js";

const UNSET = html`<span class="quiet">not set</span>`;
const text = (value) => (value === null ? UNSET : value === "" ? html`<span class="quiet">empty</span>` : html`<code>${value}</code>`);

const OPTIONS = [
  { key: "key", title: "Key", cell: (row) => html`<code>${row.set ? html`<strong>${row.key}</strong>` : row.key}</code>`, value: (row) => row.key },
  { key: "value", title: "Value", cell: (row) => text(row.value) },
  { key: "source", title: "Set by", cell: (row) => (row.set ? row.source : html`<span class="quiet">${row.source}</span>`), value: (row) => row.source },
  { key: "default", title: "Default", cell: (row) => text(row.default) },
  { key: "doc", title: "Meaning", cell: (row) => row.doc },
];
const PAIRS = [
  { key: "key", title: "Key", cell: (row) => html`<code>${row.key}</code>`, value: (row) => row.key },
  { key: "value", title: "Value", cell: (row) => text(row.value) },
];
const VERSIONS = ["python", "headgate", "pyarrow", "cloudpickle"];
const NAMES = { slot: "Slot", host: "Host", pid: "Process", system: "System", python: "Python", native: "Hot path", spark: "Spark", master: "Master", application: "Application" };

export function Configuration({ id, overview }) {
  const { data, error } = useGet(`/jobs/${id}/configuration`);
  const found = useGet(`/jobs/${id}/environment`, 5000, overview && overview.attempt);
  if (data === null || found.data === null) return html`<${Waiting} error=${error ?? found.error} what="the configuration" />`;
  return html`
    <${Driver} ...${found.data} />
    <${Options} rows=${data.options} />
    <${Table} caption="Parameters of the program" columns=${PAIRS} rows=${data.parameters} rowKey=${(row) => row.key} order="key" empty="The program has set none." />
    ${data.others.length > 0 && html`<${Table} caption="Other keys, which functions may read" columns=${PAIRS} rows=${data.others} rowKey=${(row) => row.key} order="key" />`}
    <${Slots} ...${found.data} />`;
}

/** Where the driver runs, and what the job runs on. */
function Driver({ driver, platform }) {
  const { page, ...others } = platform;
  return html`<section class="panel" aria-label="Driver"><div class="heading"><h2>Driver</h2>
      ${page && html`<a href=${page} target="_blank" rel="noopener noreferrer">Spark's own page</a>`}</div>
    <div class="figures">${Object.entries({ ...driver, ...others }).map(([name, value]) => html`<${Figure} key=${name} title=${NAMES[name] ?? name}>${value}<//>`)}</div></section>`;
}

function Options({ rows }) {
  const [sought, seek] = useState("");
  const [onlySet, only] = useState(rows.some((row) => row.set));
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = rows.filter((row) => (row.set || !onlySet)
    && words.every((word) => `${row.key} ${row.value ?? ""} ${row.doc}`.toLowerCase().includes(word)));
  return html`<section aria-label="Options"><div class="heading"><p class="actions">
      <input type="search" aria-label="Find options" placeholder="Find options" value=${sought} onInput=${(event) => seek(event.target.value)} />
      <label><input type="checkbox" checked=${onlySet} onChange=${(event) => only(event.target.checked)} /> only options that are set</label></p>
      <p class="quiet" role="status">${shown.length} of ${rows.length} options</p></div>
    <${Table} caption="Options" columns=${OPTIONS} rows=${shown} rowKey=${(row) => row.key} order="key"
      empty=${onlySet ? "No option that is set matches: search all of them." : "No option matches."} /></section>`;
}

function Slots({ driver, slots, slotsTotal }) {
  const differs = slots.filter((slot) => VERSIONS.some((name) => slot[name] && slot[name] !== driver[name]));
  const columns = ["slot", "host", "pid", "system", ...VERSIONS, "native"].map((key) => ({
    key, title: NAMES[key] ?? key, num: key === "slot" || key === "pid",
    cell: (row) => row[key] ?? "–", value: (row) => (key === "pid" ? Number(row.pid) : row[key]),
  }));
  return html`
    ${differs.length > 0 && html`<${Notice} kind="warn">Slots whose versions differ from the driver's: ${differs.length}.<//>`}
    <${Table} caption="Slots" columns=${columns} rows=${slots} rowKey=${(row) => row.slot} order="slot" max=${1000} empty="No slot has registered yet." />
    ${slotsTotal > slots.length && slots.length > 0 && html`<p class="quiet">${slots.length} of ${slotsTotal} slots are shown.</p>`}`;
}
