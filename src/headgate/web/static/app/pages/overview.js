// The job at a glance: its operators, and where time goes.

import { html } from "../../vendor/preact.js";
import { bytes, duration, rate } from "../format.js";
import { Table, TimeBar, Waiting } from "../ui.js";

const COLUMNS = [
  { key: "name", title: "Operators", cell: (row) => row.name, value: (row) => row.name },
  { key: "parallelism", title: "Subtasks", num: true, cell: (row) => row.parallelism, value: (row) => row.parallelism },
  { key: "busy", title: "Time", cell: (row) => html`<${TimeBar} busy=${row.busy.avg} backPressured=${row.backPressured.avg} idle=${row.idle.avg} />`, value: (row) => row.busy.max },
  { key: "in", title: "In", num: true, cell: (row) => rate(row.in), value: (row) => row.in },
  { key: "out", title: "Out", num: true, cell: (row) => rate(row.out), value: (row) => row.out },
  { key: "lag", title: "Watermark lag", num: true, cell: (row) => duration(row.watermarkLag), value: (row) => row.watermarkLag },
  { key: "state", title: "State", num: true, cell: (row) => bytes(row.stateBytes), value: (row) => row.stateBytes },
];

export function Overview({ overview }) {
  if (overview === null) return html`<${Waiting} what="the first figures" />`;
  return html`<${Table} caption="Operators" columns=${COLUMNS} rows=${overview.vertices} rowKey=${(row) => row.id} />`;
}
