// Live output: some of the records that leave an operator, as they come.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { get } from "../api.js";
import { clock, moment } from "../format.js";
import { useGet } from "../live.js";
import { Notice, Table, Waiting } from "../ui.js";

const SHOWN = 200;

const RECORDS = [
  { key: "at", title: "Seen", cell: (row) => clock(row.at) },
  { key: "subtask", title: "Subtask", num: true, cell: (row) => row.subtask },
  { key: "timestamp", title: "Event time", cell: (row) => moment(row.timestamp) },
  { key: "key", title: "Key", cell: (row) => html`<code>${row.key ?? ""}</code>` },
  { key: "value", title: "Record", cell: (row) => html`<code>${row.value}</code>` },
];

export function Output({ id }) {
  const plan = useGet(`/jobs/${id}/plan`);
  const [uid, setUid] = useState("");
  const [live, setLive] = useState(false);
  if (plan.data === null) return html`<${Waiting} error=${plan.error} what="the operators" />`;
  const operators = plan.data.plan.nodes.flatMap((node) => node.uids.map((each) => ({ uid: each, vertex: node.description })));
  return html`<div class="actions"><label>Operator <select value=${uid} onChange=${(event) => setUid(event.target.value)}>
        <option value="">choose one</option>${operators.map((each) => html`<option key=${each.uid} value=${each.uid}>${each.uid} (${each.vertex})</option>`)}</select></label>
      <button class="primary" disabled=${uid === ""} onClick=${() => setLive(!live)}>${live ? "Pause" : "Start"}</button>
      <span class="quiet">shows at most 20 records a second from each subtask, and keeps the newest ${SHOWN}</span></div>
    ${uid !== "" && html`<${Records} key=${uid} id=${id} uid=${uid} live=${live} stop=${() => setLive(false)} />`}`;
}

function Records({ id, uid, live, stop }) {
  const [records, setRecords] = useState([]);
  const [error, setError] = useState(null);
  useEffect(() => {
    if (!live) return undefined;
    const path = `/jobs/${id}/output/${encodeURIComponent(uid)}`;
    const source = new EventSource(path);
    let number = 0;
    setError(null);
    source.addEventListener("records", (event) => {
      const found = JSON.parse(event.data).map((record) => ({ ...record, number: `${event.timeStamp} ${(number += 1)}` }));
      setRecords((before) => [...found.reverse(), ...before].slice(0, SHOWN));
    });
    source.addEventListener("ended", () => (source.close(), stop()));
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return;
      get(path).catch(setError); // an event source does not say why it was refused
      stop();
    };
    return () => source.close();
  }, [id, uid, live]);
  return html`${error && html`<${Notice} kind="warn">${error.message}<//>`}
    <${Table} caption="Records" columns=${RECORDS} rows=${records} rowKey=${(row) => row.number} empty=${live ? "Waiting for records …" : "Press Start to see records."} />`;
}
