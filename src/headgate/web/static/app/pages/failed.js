// Records that functions failed for, and that were skipped or sent aside: how many, and what some of them were.

import { html, useState } from "../../vendor/preact.js";
import { moment, whole } from "../format.js";
import { useGet } from "../live.js";
import { Table, Waiting } from "../ui.js";

const COLUMNS = [
  { key: "operator", title: "Operator", cell: (row) => row.operator, value: (row) => row.operator },
  { key: "failed", title: "Failed in this attempt", num: true, cell: (row) => whole(row.failed), value: (row) => row.failed },
  { key: "late", title: "Late", num: true, cell: (row) => whole(row.late), value: (row) => row.late },
  { key: "samples", title: "Samples", num: true, cell: (row) => row.samples.length, value: (row) => row.samples.length },
];

export function Failed({ id }) {
  const { data, error } = useGet(`/jobs/${id}/failed-records`, 2000);
  const [chosen, choose] = useState(null);
  if (data === null) return html`<${Waiting} error=${error} what="the failed records" />`;
  const shown = data.operators.find((each) => each.uid === chosen) ?? data.operators.find((each) => each.samples.length > 0);
  return html`
    <p class="quiet">An error in a function fails the job, unless <code>on_error</code> skips the record or sends it to a side output. Up to five a second from each subtask are kept as samples.</p>
    <${Table} caption="Operators" columns=${COLUMNS} rows=${data.operators} rowKey=${(row) => row.uid} onRow=${(row) => choose(row.uid)}
      selected=${shown?.uid} order="-failed" empty="No record has failed, and none came late." />
    ${shown && html`<section class="panel" aria-label="Samples of ${shown.operator}"><h2>Samples of ${shown.operator}</h2>
      ${shown.samples.map((each) => html`<details class="failure" key=${`${each.at} ${each.subtask} ${each.record}`}><summary>
        <strong class="bad">${each.error}</strong> <code>${each.record}</code> <span class="quiet">${moment(each.at)}</span></summary>
        <p class="quiet">subtask ${each.subtask}, attempt ${each.attempt}; ${each.dealt === "skipped" ? "skipped" : `sent to the side output ${each.dealt}`}</p>
        ${each.key !== null && html`<dl><dt>Key</dt><dd><code>${each.key}</code></dd></dl>`}
        <pre>${each.traceback}</pre></details>`)}</section>`}`;
}
