// SPDX-License-Identifier: Apache-2.0
// The query as a graph: the way of a record from its creation to its readers, stage by stage.

import { byId, draw, say, set, table } from "./dom.js";
import { count, NONE, percent, rate, several, time } from "./format.js";
import { isPressed, sharesOf } from "./model.js";

const HEIGHT = 128;
const NARROWEST = 176;
const WIDEST = 400;
const GAP = 112;
const GAP_BELOW = 46;
const UPRIGHT_BELOW = 760;
const PADDING = 14;
const LETTER = 7.3;

let shown = null;
let built = { signature: "", nodes: new Map(), edges: [] };

export function start() {
  new ResizeObserver(() => redraw()).observe(byId("graph"));
  byId("graph-details").addEventListener("toggle", redraw);
}

/** Shows a query. */
export function show(query) {
  shown = query;
  redraw();
}

function redraw() {
  const width = byId("graph").clientWidth;
  if (!shown || !width || document.hidden) return;
  const { nodes, edges } = wayOf(shown);
  const upright = width < UPRIGHT_BELOW;
  const signature = JSON.stringify([width, nodes.map(({ key, name }) => [key, name]), edges.map(({ from, to }) => [from, to])]);
  if (signature !== built.signature) build(nodes, edges, { width, upright, signature });
  for (const node of nodes) update(built.nodes.get(node.key), node);
  edges.forEach((edge, index) => updateEdge(built.edges[index], edge));
  describe(nodes);
  if (byId("graph-details").open) fillTable(nodes);
}

/** All places on the way: waiting in Kafka, the stages, and the delivery. */
function wayOf(query) {
  const recent = query.latency?.recent ?? {};
  const shares = sharesOf(query) ?? {};
  const stages = query.stages ?? [];
  const sum = stages.reduce((total, stage) => total + (stage.processing?.p50 ?? 0), 0);
  const inside = stages.map((stage) => ({
    key: `stage ${stage.id}`,
    name: stage.name,
    times: stage.processing,
    share: sum && shares.processing !== undefined ? (shares.processing * (stage.processing?.p50 ?? 0)) / sum : null,
    tasks: stage.tasks,
    stage,
  }));
  if (!stages.length) inside.push({ key: "processing", name: "Processing", times: recent.processing, share: shares.processing });
  const before = { key: "queueing", name: "Waiting to be read", times: recent.queueing, share: shares.queueing, isKafka: true };
  const after = { key: "delivery", name: "Delivery", times: recent.delivery, share: shares.delivery, isKafka: true };
  const fed = new Set(stages.flatMap((stage) => stage.feeds ?? []));
  const edges = [];
  for (const node of inside) {
    if (!fed.has(node.stage?.id)) edges.push({ from: before.key, to: node.key, rows: query.rate?.in, unit: "records" });
  }
  for (const node of inside) {
    for (const id of node.stage?.feeds ?? []) {
      edges.push({ from: node.key, to: `stage ${id}`, rows: node.stage.rows_out, unit: "rows", stage: node.stage });
    }
    if (!node.stage?.feeds?.length) edges.push({ from: node.key, to: after.key, rows: query.rate?.out, unit: "records" });
  }
  return { nodes: [before, ...inside, after], edges };
}

function layersOf(nodes, edges) {
  const layer = new Map(nodes.map((node) => [node.key, 0]));
  // As often as the longest way has steps; a graph of stages has no circles.
  for (let step = 0; step < nodes.length; step += 1) {
    for (const { from, to } of edges) layer.set(to, Math.max(layer.get(to) ?? 0, (layer.get(from) ?? 0) + 1));
  }
  const layers = [];
  for (const node of nodes) (layers[layer.get(node.key)] ??= []).push(node);
  return layers.filter(Boolean);
}

function build(nodes, edges, { width, upright, signature }) {
  const layers = layersOf(nodes, edges);
  const most = Math.max(...layers.map((layer) => layer.length));
  const room = upright ? width : (width - GAP * (layers.length - 1)) / layers.length;
  const box = upright ? Math.min(width / most - 8, 420) : Math.max(NARROWEST, Math.min(WIDEST, room));
  const step = upright ? HEIGHT + GAP_BELOW : HEIGHT + 20;
  const wide = upright ? width : box * layers.length + GAP * (layers.length - 1);
  const high = (upright ? layers.length : most) * step - (upright ? GAP_BELOW : 20) + 4;
  const places = new Map();
  layers.forEach((layer, row) => {
    layer.forEach((node, index) => {
      const aside = index - (layer.length - 1) / 2;
      places.set(node.key, upright
        ? { x: width / 2 + aside * (box + 8) - box / 2, y: row * step + 2 }
        : { x: row * (box + GAP), y: high / 2 + aside * step - HEIGHT / 2 });
    });
  });
  const svg = draw("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-labelledby": "graph-title graph-words" });
  svg.style.maxWidth = `${wide}px`;
  svg.append(draw("desc", { id: "graph-words" }));
  built = { signature, nodes: new Map(), edges: [] };
  for (const edge of edges) {
    const drawn = buildEdge(places.get(edge.from), places.get(edge.to), box, upright);
    built.edges.push(drawn);
    svg.append(drawn.group);
  }
  for (const node of nodes) {
    const drawn = buildNode(node, places.get(node.key), box);
    built.nodes.set(node.key, drawn);
    svg.append(drawn.group);
  }
  byId("graph").replaceChildren(svg);
}

function buildNode(node, place, box) {
  const inner = box - 2 * PADDING;
  const at = (line, name) => draw("text", { x: PADDING, y: line, class: name });
  const words = wrap(node.name, inner / LETTER);
  const parts = { time: at(70, "time"), note: at(88, "note"), warn: at(106, "warn"), of: at(70, "of"), fill: bar(inner), fillWidth: inner };
  const frame = draw("rect", { class: "box", width: box, height: HEIGHT, rx: 9 });
  set(parts.of, "x", box - PADDING);
  const group = draw(
    "g",
    { class: node.isKafka ? "node kafka" : "node", transform: `translate(${place.x} ${place.y})` },
    frame,
    ...words.map((line, index) => fill(at(24 + 17 * index, "name"), line)),
    parts.time, parts.of, parts.note, parts.warn,
    draw("rect", { class: "track", x: PADDING, y: HEIGHT - 13, width: inner, height: 5, rx: 2.5 }),
    parts.fill,
  );
  if (node.stage?.operators?.length) group.append(fill(draw("title"), node.stage.operators.join(" → ")));
  return { group, frame, ...parts };
}

const bar = (inner) => draw("rect", { class: "fill", x: PADDING, y: HEIGHT - 13, width: 0, height: 5, rx: 2.5, "data-of": inner });

function fill(element, text) {
  element.textContent = text;
  return element;
}

/** Two lines at most; what does not fit is in the table, and in the drawing's own title. */
function wrap(text, letters) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = `${lines.at(-1)} ${word}`.trim();
    if (line.length <= letters || !lines.at(-1)) lines[lines.length - 1] = line;
    else lines.push(word);
  }
  const cut = lines.length > 2 ? [lines[0], `${lines[1]} …`] : lines;
  return cut.map((line) => (line.length > letters + 1 ? `${line.slice(0, letters - 1)}…` : line));
}

function buildEdge(from, to, box, upright) {
  const [x1, y1] = upright ? [from.x + box / 2, from.y + HEIGHT] : [from.x + box, from.y + HEIGHT / 2];
  const [x2, y2] = upright ? [to.x + box / 2, to.y - 8] : [to.x - 8, to.y + HEIGHT / 2];
  const way = upright
    ? `M${x1} ${y1} C${x1} ${(y1 + y2) / 2} ${x2} ${(y1 + y2) / 2} ${x2} ${y2}`
    : `M${x1} ${y1} C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`;
  const tip = upright ? [[x2 - 5, y2], [x2 + 5, y2], [x2, y2 + 8]] : [[x2, y2 - 5], [x2, y2 + 5], [x2 + 8, y2]];
  const [x, y] = upright ? [(x1 + x2) / 2 + 10, (y1 + y2) / 2] : [(x1 + x2) / 2, (y1 + y2) / 2];
  const anchor = upright ? "start" : "middle";
  const path = draw("path", { d: way });
  const label = draw("text", { x, y: upright ? y - 1 : y - 10, "text-anchor": anchor });
  const note = draw("text", { x, y: upright ? y + 14 : y + 20, "text-anchor": anchor });
  return { group: draw("g", { class: "edge" }, path, draw("polygon", { points: tip.join(" ") }), label, note), path, label, note };
}

function update(drawn, node) {
  say(drawn.time, time(node.times?.p50));
  const tasks = node.tasks ? `, ${several(node.tasks, "task")}` : "";
  say(drawn.note, node.times ? `p99 ${time(node.times.p99)}${tasks}` : `not measured${tasks}`);
  say(drawn.warn, warning(node));
  const pressed = node.stage ? isPressed(node.stage) : false;
  set(drawn.group, "class", ["node", node.isKafka ? "kafka" : "", pressed ? "pressed" : ""].join(" ").trim());
  const share = node.share ?? 0;
  say(drawn.of, node.share ? `${percent(share)} of time` : "");
  // Where the time is spent, the ground is deeper; a pressed one has a colour of its own.
  const depth = Math.round(Math.min(0.45, share * 0.6) * 100);
  drawn.frame.style.fill = pressed ? "" : `color-mix(in srgb, var(--heat-1) ${depth}%, var(--raised))`;
  set(drawn.fill, "width", (drawn.fillWidth * share).toFixed(1));
  set(drawn.fill, "fill", `var(--heat-${share > 0.6 ? 3 : share > 0.25 ? 2 : 1})`);
}

function warning(node) {
  const { stage } = node;
  if (stage && isPressed(stage)) return "pressure: buffers fill up";
  if (stage?.skew) return `task ${stage.skew.hot} has ${percent(stage.skew.share)} of all rows`;
  return "";
}

function updateEdge(drawn, edge) {
  say(drawn.label, edge.rows === null || edge.rows === undefined ? "" : `${rate(edge.rows)} ${edge.unit}/s`);
  const queue = edge.stage?.queue;
  say(drawn.note, queue === null || queue === undefined ? "" : `${percent(queue)} full`);
  set(drawn.group, "class", edge.stage && isPressed(edge.stage) ? "edge pressed" : "edge");
  set(drawn.path, "stroke-width", (1.5 + Math.min(6, Math.log10(1 + (edge.rows ?? 0)) * 1.4)).toFixed(1));
}

function describe(nodes) {
  const words = nodes.map((node) => `${node.name}: ${time(node.times?.p50)}, ${percent(node.share)} of the time`);
  say(byId("graph-words"), `${words.join("; ")}.`);
}

function fillTable(nodes) {
  const columns = [
    { title: "where", cell: (node) => node.name },
    { title: "p50", number: true, cell: (node) => time(node.times?.p50) },
    { title: "p99", number: true, cell: (node) => time(node.times?.p99) },
    { title: "share of the time", number: true, cell: (node) => percent(node.share) },
    { title: "tasks", number: true, cell: (node) => count(node.tasks) },
    { title: "rows a second", number: true, cell: (node) => rate(node.stage?.rows_out) },
    { title: "buffers behind it", number: true, cell: (node) => percent(node.stage?.queue) },
    { title: "busiest task", cell: (node) => (node.stage?.skew ? warning({ stage: { skew: node.stage.skew } }) : NONE) },
    { title: "operators", cell: (node) => node.stage?.operators?.join(", ") ?? NONE },
  ];
  table(byId("graph-table"), columns, nodes, { key: (node) => node.key, empty: "Nothing was measured." });
}
