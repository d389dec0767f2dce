// SPDX-License-Identifier: Apache-2.0
// Latency over time: a column a second, a row a bucket, the darker the more records.

import { byId, say, set, table } from "./dom.js";
import { count, NONE, time } from "./format.js";
import { lower, quantile } from "./model.js";
import { colour } from "./theme.js";

const SECONDS = 120;
const LEFT = 62;
const RIGHT = 12;
const TOP = 22;
const BOTTOM = 40;
const STEPS_MS = [0.1, 1, 10, 100, 1000, 10_000, 100_000];
const LEAST = [1, 20];
const ROW_S = 10;

let shown = null;
let cursor = null;

/** Takes part in what the pointer, the keyboard and the size of the window do. */
export function start() {
  const box = byId("heat");
  box.addEventListener("pointermove", (event) => point(secondAt(event.offsetX)));
  box.addEventListener("pointerleave", () => point(null));
  box.addEventListener("blur", () => point(null));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: 1, ArrowRight: -1, Home: SECONDS, End: -SECONDS }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    point(Math.min(SECONDS - 1, Math.max(0, (cursor ?? 0) + step)));
  });
  new ResizeObserver(redraw).observe(box);
  byId("heat-details").addEventListener("toggle", redraw);
}

/** Shows a query; the right edge is its end, or now. */
export function show(query, now) {
  shown = { query, now: query.ended_ms ?? now };
  redraw();
}

export function redraw() {
  if (!shown || document.hidden) return;
  const pen = prepare(byId("heat-canvas"));
  if (!pen) return;
  const view = { pen, ...area(pen), ...range(shown.query.slices), colours: palette() };
  grid(view);
  marks(view);
  pen.save();
  pen.beginPath();
  pen.rect(LEFT, TOP, view.width, view.height);
  pen.clip();
  cells(view);
  boundaries(view);
  lines(view);
  if (cursor !== null) crosshair(view);
  pen.restore();
  readout();
  if (byId("heat-details").open) fillTable();
}

function prepare(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  if (!width || !height) return null;
  const dots = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * dots), Math.round(height * dots)];
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  const pen = canvas.getContext("2d");
  pen.setTransform(dots, 0, 0, dots, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return pen;
}

function area(pen) {
  const dots = window.devicePixelRatio || 1;
  const width = pen.canvas.width / dots - LEFT - RIGHT;
  const height = pen.canvas.height / dots - TOP - BOTTOM;
  return { width, height, x: (ms) => LEFT + width * (1 - (shown.now - ms) / (SECONDS * 1000)) };
}

/** From the fastest to the slowest record on view, at least a decade or so, on a logarithmic scale. */
function range(slices) {
  let [low, high] = LEAST;
  for (const { buckets } of slices) {
    for (const [upper] of buckets) {
      low = Math.min(low, lower(upper ?? high));
      high = Math.max(high, upper ?? high * 2);
    }
  }
  return { low, high, span: Math.log(high / low) };
}

const y = (view, ms) => TOP + view.height * (1 - Math.log(Math.max(ms, view.low) / view.low) / view.span);

const palette = () => ({
  heat: ["heat-0", "heat-1", "heat-2", "heat-3"].map((name) => rgb(colour(name))),
  line: colour("line"),
  muted: colour("muted"),
  mark: colour("mark"),
  warm: colour("warm"),
  good: colour("good"),
  surface: colour("surface"),
});

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

function shade(heat, share) {
  const place = Math.min(share, 1) * (heat.length - 1);
  const index = Math.min(Math.floor(place), heat.length - 2);
  const mix = heat[index].map((from, at) => Math.round(from + (heat[index + 1][at] - from) * (place - index)));
  return `rgb(${mix.join(" ")})`;
}

function grid(view) {
  const { pen, colours, width, height } = view;
  pen.fillStyle = colours.muted;
  pen.strokeStyle = colours.line;
  pen.lineWidth = 1;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  for (const ms of STEPS_MS.filter((each) => each >= view.low && each <= view.high)) {
    const at = Math.round(y(view, ms)) + 0.5;
    stroke(pen, LEFT, at, LEFT + width, at);
    pen.fillText(time(ms).replace(".0 ", " ").replace("0.10", "0.1"), LEFT - 8, at);
  }
  pen.textBaseline = "top";
  const every = width < 500 ? 40 : 20;
  for (let ago = 0; ago <= SECONDS; ago += every) {
    pen.textAlign = ago === 0 ? "right" : ago === SECONDS ? "left" : "center";
    const label = ago === 0 ? (shown.query.ended_ms ? "its end" : "now") : `${ago} s ago`;
    pen.fillText(label, view.x(shown.now - ago * 1000), TOP + height + 20);
  }
}

function cells(view) {
  const { pen, colours } = view;
  const most = Math.max(1, ...shown.query.slices.flatMap(({ buckets }) => buckets.map(([, number]) => number)));
  for (const { time_ms: begin, buckets } of shown.query.slices) {
    const left = Math.max(LEFT, view.x(begin));
    const right = Math.min(LEFT + view.width, view.x(begin + 1000));
    if (right <= left) continue;
    for (const [upper, number] of buckets) {
      const top = y(view, upper ?? view.high);
      const bottom = y(view, upper === null ? view.high / 2 : lower(upper));
      pen.fillStyle = shade(colours.heat, Math.sqrt(number / most));
      pen.fillRect(left, top, right - left - 0.5, bottom - top - 0.5);
    }
  }
}

function marks(view) {
  const { pen, colours, height, width } = view;
  const floor = TOP + height;
  pen.fillStyle = colours.good;
  for (const ms of shown.query.commits?.times_ms ?? []) {
    const at = view.x(ms);
    if (at >= LEFT && at <= LEFT + width) pen.fillRect(at - 0.75, floor + 4, 1.5, 9);
  }
  pen.textBaseline = "bottom";
  pen.fillStyle = colours.warm;
  let free = LEFT;
  for (const { time_ms: ms, gap_ms: gap, epoch } of shown.query.boundaries ?? []) {
    const at = view.x(ms);
    if (at < LEFT || at > LEFT + width) continue;
    const label = gap === null || gap === undefined ? `epoch ${epoch}` : `epoch ${epoch}, gap ${time(gap)}`;
    const long = pen.measureText(label).width;
    // Epochs of a second would write over each other.
    if (at < free || at + long > LEFT + width + RIGHT) continue;
    pen.textAlign = "left";
    pen.fillText(label, at + 1, TOP - 4);
    free = at + long + 14;
  }
}

function boundaries(view) {
  view.pen.strokeStyle = view.colours.warm;
  view.pen.lineWidth = 1.5;
  for (const { time_ms: ms } of shown.query.boundaries ?? []) stroke(view.pen, view.x(ms), TOP, view.x(ms), TOP + view.height);
}

function lines(view) {
  const { pen, colours } = view;
  for (const [share, dash] of [[0.5, []], [0.99, [5, 4]]]) {
    // A line of the ground's colour beneath keeps it readable on dark cells.
    for (const [style, wide] of [[colours.surface, 4], [colours.mark, 1.6]]) {
      pen.strokeStyle = style;
      pen.lineWidth = wide;
      pen.setLineDash(dash);
      pen.beginPath();
      let before = null;
      for (const { time_ms: begin, buckets } of shown.query.slices) {
        const ms = quantile(buckets, share);
        const at = view.x(begin + 500);
        if (ms === null || at < LEFT) continue;
        if (before !== null && begin - before <= 2000) pen.lineTo(at, y(view, ms));
        else pen.moveTo(at, y(view, ms));
        before = begin;
      }
      pen.stroke();
    }
  }
  pen.setLineDash([]);
}

function crosshair(view) {
  const at = view.x(shown.now - cursor * 1000 - 500);
  view.pen.strokeStyle = view.colours.mark;
  view.pen.lineWidth = 1;
  stroke(view.pen, at, TOP, at, TOP + view.height);
}

function stroke(pen, ...[fromX, fromY, toX, toY]) {
  pen.beginPath();
  pen.moveTo(fromX, fromY);
  pen.lineTo(toX, toY);
  pen.stroke();
}

function secondAt(offset) {
  const width = byId("heat").clientWidth - LEFT - RIGHT;
  const ago = SECONDS * (1 - (offset - LEFT) / width);
  return ago < 0 || ago >= SECONDS ? null : Math.floor(ago);
}

function point(second) {
  cursor = second;
  redraw();
}

function readout() {
  const line = byId("heat-readout");
  if (cursor === null) {
    say(line, "Point at a second, or use the arrow keys, to read its numbers.");
    set(line, "aria-live", null);
    return;
  }
  set(line, "aria-live", "polite");
  const wanted = shown.now - cursor * 1000;
  const slice = shown.query.slices.find(({ time_ms: begin }) => begin <= wanted && wanted < begin + 1000);
  say(line, slice?.buckets.length ? `${cursor} s ago: ${words(slice)}` : `${cursor} s ago: no results`);
}

function words(slice) {
  const [half, most] = [0.5, 0.99].map((share) => time(quantile(slice.buckets, share)));
  return `p50 ${half}, p99 ${most}, ${count(slice.in)} read, ${count(slice.out)} written`;
}

function fillTable() {
  const rows = [];
  for (let from = SECONDS; from > 0; from -= ROW_S) {
    const [begin, end] = [shown.now - from * 1000, shown.now - (from - ROW_S) * 1000];
    const within = ({ time_ms: ms }) => ms >= begin && ms < end;
    const slices = shown.query.slices.filter(within);
    const merged = new Map();
    for (const [upper, number] of slices.flatMap((each) => each.buckets)) merged.set(upper, (merged.get(upper) ?? 0) + number);
    const buckets = [...merged].sort(([one], [other]) => (one ?? Infinity) - (other ?? Infinity));
    rows.push({ from, buckets, slices, boundaries: (shown.query.boundaries ?? []).filter(within).length });
  }
  const sum = (slices, name) => slices.reduce((total, each) => total + (each[name] ?? 0), 0);
  const columns = [
    { title: "seconds ago", cell: (row) => `${row.from} to ${row.from - ROW_S}` },
    { title: "p50", number: true, cell: (row) => time(quantile(row.buckets, 0.5)) },
    { title: "p99", number: true, cell: (row) => time(quantile(row.buckets, 0.99)) },
    { title: "read", number: true, cell: (row) => (row.slices.length ? count(sum(row.slices, "in")) : NONE) },
    { title: "written", number: true, cell: (row) => (row.slices.length ? count(sum(row.slices, "out")) : NONE) },
    { title: "boundaries", number: true, cell: (row) => count(row.boundaries) },
  ];
  table(byId("heat-table"), columns, rows, { key: (row) => row.from, empty: "Nothing was measured." });
}
