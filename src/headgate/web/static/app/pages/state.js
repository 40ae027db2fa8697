// Keys and values of a state: of the newest checkpoint of the running job, or of another snapshot.

import { html, useState } from "../../vendor/preact.js";
import { bytes, moment, whole } from "../format.js";
import { useGet } from "../live.js";
import { Notice, Table, Waiting } from "../ui.js";

/** Columns of a table of states. Where an operator has several, files do not tell how large each is: it is an estimate. */
export const STATES = [
  { key: "operator", title: "Operator", cell: (row) => row.operator, value: (row) => row.operator },
  { key: "name", title: "State", cell: (row) => html`<code>${row.name}</code>`, value: (row) => row.name },
  { key: "kind", title: "Kind", cell: (row) => row.kind, value: (row) => row.kind },
  { key: "type", title: "Type", cell: (row) => html`<code>${row.type ?? "–"}</code>` },
  { key: "entries", title: "Entries", num: true, cell: (row) => (row.entries === null ? "–" : `${row.counted ? "" : "over "}${whole(row.entries)}`), value: (row) => row.entries },
  { key: "bytes", title: "Size", num: true, cell: (row) => `${row.exact || row.bytes === null ? "" : "about "}${bytes(row.bytes)}`, value: (row) => row.bytes },
];

const OPERATORS = [
  { key: "name", title: "Operator", cell: (row) => row.name, value: (row) => row.name },
  { key: "uid", title: "Uid", cell: (row) => html`<code>${row.uid}</code>` },
  { key: "bytes", title: "State in all", num: true, cell: (row) => bytes(row.bytes), value: (row) => row.bytes },
  { key: "trouble", title: "", cell: (row) => row.trouble ?? "" },
];

const ROWS = [
  { key: "key", title: "Key", cell: (row) => html`<code>${row.key ?? "–"}</code>` },
  { key: "namespace", title: "Window", cell: (row) => html`<code>${row.namespace ?? ""}</code>` },
  { key: "value", title: "Value", cell: (row) => html`<code>${row.value}</code>` },
  { key: "subtask", title: "Subtask", num: true, cell: (row) => row.subtask ?? "–" },
];

/** The states of all operators of an answer, as rows of that table. */
export const statesOf = (operators) =>
  operators.flatMap((operator) => operator.states.map((state) => ({ ...state, uid: operator.uid, operator: operator.name })));

export const stateKey = (row) => `${row.uid} ${row.name}`;

const path = (parts) => parts.map(encodeURIComponent).join("/");

export function State({ id, rest }) {
  const [snapshot, setSnapshot] = useState("latest");
  const known = useGet(`/jobs/${id}/state/snapshots`, 3000);
  const found = useGet(`/jobs/${id}/state?snapshot=${snapshot}`);
  const [uid, name] = rest;
  const open = (row) => {
    location.hash = `#/jobs/${id}/state/${path([row.uid, row.name])}`;
  };
  return html`
    <div class="actions"><label>Snapshot <select value=${snapshot} onChange=${(event) => setSnapshot(event.target.value)}>
        <option value="latest">newest checkpoint</option>
        ${(known.data?.snapshots ?? []).map((each) => html`<option key=${each.id} value=${String(each.id)}>${each.kind} ${each.id}, ${moment(each.when)}</option>`)}</select></label>
      <button onClick=${() => found.reload()}>Read again</button>
      ${found.data && html`<span class="quiet">${found.data.snapshot.kind} ${found.data.snapshot.id} of ${moment(found.data.snapshot.when)}</span>`}</div>
    ${found.data === null ? html`<${Waiting} error=${found.error} what="the snapshot" />` : html`
      <${Table} caption="States" columns=${STATES} rows=${statesOf(found.data.operators)} rowKey=${stateKey} onRow=${open} order="-entries"
        selected=${name === undefined ? null : `${uid} ${name}`} empty="No operator has state in this snapshot." />
      ${name !== undefined && html`<${Rows} key=${`${uid} ${name} ${snapshot}`} id=${id} uid=${uid} name=${name} snapshot=${snapshot} />`}
      <${Table} caption="Operators" columns=${OPERATORS} rows=${found.data.operators} rowKey=${(row) => row.uid} order="-bytes" />`}`;
}

function Rows({ id, uid, name, snapshot }) {
  const [key, setKey] = useState("");
  const [sought, seek] = useState("");
  const [offsets, setOffsets] = useState([0]);
  const offset = offsets.at(-1);
  const query = new URLSearchParams({ snapshot, offset, limit: 50, ...(sought && { key: sought }) });
  const { data, error } = useGet(`/jobs/${id}/state/${path([uid, name])}?${query}`);
  const search = (event) => {
    event.preventDefault();
    setOffsets([0]);
    seek(key.trim());
  };
  return html`<section class="panel" aria-label="Rows of ${name}"><div class="heading"><h2>Rows of <code>${name}</code></h2>
      <form class="actions" onSubmit=${search}><label>Key <input type="search" value=${key} onInput=${(event) => setKey(event.target.value)} /></label>
        <button type="submit">Find</button></form></div>
    ${data === null ? html`<${Waiting} error=${error} what="the rows" />` : html`
      ${error && html`<${Notice} kind="warn">${error.message}<//>`}
      <${Table} columns=${ROWS} rows=${data.rows.map((row, place) => ({ ...row, place }))} rowKey=${(row) => row.place}
        empty=${data.complete ? (sought ? `There is no key ${sought}.` : "The state is empty.") : `Not found within the time limit: ${whole(data.entriesRead)} entries were read, in ${data.groupsRead} of ${data.groups} key groups.`} />
      <p class="buttons"><span class="quiet">${whole(data.entriesRead)} entries read</span>
        <button disabled=${offsets.length === 1} onClick=${() => setOffsets(offsets.slice(0, -1))}>Previous</button>
        <button disabled=${!data.more} onClick=${() => setOffsets([...offsets, data.nextOffset])}>Next</button></p>`}</section>`;
}
