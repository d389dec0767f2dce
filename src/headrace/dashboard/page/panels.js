// SPDX-License-Identifier: Apache-2.0
// Numbers, tables and lists of one query.

import { byId, draw, make, say, set, sync, table } from "./dom.js";
import { at, count, duration, megabytes, NONE, percent, rate, time } from "./format.js";
import { explained, MEANING, PARTS, sharesOf } from "./model.js";

const SLOWEST = 8;
const HOT = 3;
const NOTABLE_KEY = 0.05;
const HOT_KEY = 0.3;
const LONGEST_KEY = 24;
const BUSY = 0.9;
const OLD_COMMIT = 3;
const GC_MS = 100;
const LATE_S = 5;

let isPaused = false;

export function start() {
  const button = byId("tail-pause");
  button.addEventListener("click", () => {
    isPaused = !isPaused;
    set(button, "aria-pressed", isPaused);
    say(button, isPaused ? "Go on" : "Pause");
  });
}

export function show(query, snapshot) {
  showBig(query);
  showParts(query);
  showTiles(query);
  showErrors(query);
  showPartitions(query);
  showWorkers(query);
  showExecutors(snapshot.executors ?? []);
  if (!isPaused) showTail(query);
}

function showBig(query) {
  const found = query.latency?.recent?.end_to_end;
  const items = [["p50", "p50"], ["p99", "p99"], ["p99.9", "p999"], ["slowest", "max"]];
  const create = () => make("div", {}, make("dt"), make("dd", {}, make("span"), make("span", { class: "unit" })));
  sync(byId("big"), items, ([, name]) => name, create, (item, [title, name]) => {
    const [number, unit] = duration(found?.[name]);
    say(item.firstChild, title);
    say(item.lastChild.firstChild, number);
    say(item.lastChild.lastChild, unit);
  });
}

function showParts(query) {
  const box = byId("parts");
  if (!box.firstChild) box.append(make("div", { class: "bar", "aria-hidden": "true" }), make("table"));
  const shares = sharesOf(query) ?? {};
  const create = (name) => {
    const share = make("span", { class: "share" });
    share.style.background = `var(--${name})`;
    return share;
  };
  sync(box.firstChild, PARTS.filter((name) => shares[name]), (name) => name, create, (share, name) => {
    share.style.width = `${(shares[name] * 100).toFixed(1)}%`;
  });
  const recent = query.latency?.recent ?? {};
  const columns = [
    { title: "part", cell: (name) => named(name) },
    { title: "p50", number: true, cell: (name) => time(recent[name]?.p50) },
    { title: "p99", number: true, cell: (name) => time(recent[name]?.p99) },
    { title: "share", number: true, cell: (name) => percent(shares[name]) },
  ];
  table(box.lastChild, columns, PARTS, { key: (name) => name, empty: "" });
}

function named(name) {
  const swatch = make("i", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = `var(--${name})`;
  return make("span", { title: MEANING[name] }, swatch, name);
}

function showTiles(query) {
  const { lag, commits } = query;
  const gap = query.boundaries?.at(-1);
  const isLive = query.state === "running";
  const due = Math.max(commits?.interval_ms ?? Infinity, 1000) * OLD_COMMIT;
  const tiles = [
    { title: "read", value: `${rate(query.rate?.in)} /s`, line: query.slices.map((slice) => slice.in) },
    { title: "written", value: `${rate(query.rate?.out)} /s`, line: query.slices.map((slice) => slice.out) },
    {
      title: "lag",
      value: `${count(lag?.records)} records`,
      note: lag?.seconds === 0 ? "up to date" : lag?.seconds ? `${time(lag.seconds * 1000)} behind` : "",
      isWarm: (lag?.seconds ?? 0) >= LATE_S,
    },
    {
      title: "last commit",
      value: commits?.age_ms === null || commits?.age_ms === undefined ? NONE : `${time(commits.age_ms)} ago`,
      note: commits?.interval_ms ? `every ${time(commits.interval_ms)}` : "",
      isWarm: isLive && (commits?.age_ms ?? 0) > due,
    },
    {
      title: "boundary gap",
      value: time(gap?.gap_ms),
      note: gap ? `when epoch ${count(gap.epoch)} began` : "no boundary yet",
    },
    { title: "dead letters", value: count(query.dead_letters), note: "", isWarm: (query.dead_letters ?? 0) > 0 },
  ];
  const create = () => make("div", {}, make("dt"), make("dd", {}, make("span"), make("small")));
  sync(byId("tiles"), tiles, (tile) => tile.title, create, (item, tile) => {
    say(item.firstChild, tile.title);
    say(item.lastChild.firstChild, tile.value);
    say(item.lastChild.querySelector("small"), tile.note ?? "");
    set(item.lastChild, "class", tile.isWarm ? "warm" : null);
    if (tile.line) spark(item.lastChild, tile.line);
  });
}

/** A line of the last two minutes; the numbers themselves are in the table of the heat map. */
function spark(place, values) {
  let svg = place.querySelector("svg");
  if (!svg) {
    svg = draw("svg", { class: "spark", viewBox: "0 0 120 24", preserveAspectRatio: "none", "aria-hidden": "true" }, draw("path"));
    place.append(svg);
  }
  const most = Math.max(1, ...values.map((value) => value ?? 0));
  const step = 120 / Math.max(1, values.length - 1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)} ${(23 - (22 * (value ?? 0)) / most).toFixed(1)}`);
  set(svg.firstChild, "d", points.length > 1 ? `M${points.join("L")}` : "");
}

function showErrors(query) {
  byId("errors").hidden = !query.failures.length;
  set(byId("errors"), "class", query.state === "failed" ? "errors" : "errors past");
  const create = () =>
    make("li", {}, make("span", { class: "condition" }), make("span", { class: "when" }), make("p", { class: "message", tabindex: "0" }), make("p", { class: "remedy" }));
  sync(byId("error-list"), query.failures.slice(0, 5), (run) => run.run, create, (item, run) => {
    const { condition, message, remedy } = explained(run.error);
    say(item.children[0], condition ?? "Error");
    say(item.children[1], `${at(run.ended_ms)}${run.run === query.run ? "" : ", an earlier run"}`);
    say(item.children[2], message);
    say(item.children[3], remedy);
  });
  say(byId("errors-title"), query.state === "failed" ? "It failed" : "Errors of earlier runs");
}

function showPartitions(query) {
  const all = query.partitions ?? [];
  const rates = all.map((each) => each.rate ?? 0).sort((one, other) => one - other);
  const usual = rates[Math.floor(rates.length / 2)] ?? 0;
  const slowest = [...all]
    .sort((one, other) => (other.p99 ?? -1) - (one.p99 ?? -1) || (other.lag_records ?? 0) - (one.lag_records ?? 0))
    .slice(0, SLOWEST);
  const worst = Math.max(...slowest.map((each) => each.p99 ?? 0), 0.001);
  const columns = [
    { title: "partition", cell: (each) => `${each.topic}-${each.partition}` },
    { title: "p99", number: true, cell: (each) => time(each.p99) },
    { title: "", class: "meter", cell: (each) => meter((each.p99 ?? 0) / worst) },
    { title: "records/s", number: true, cell: (each) => warm(rate(each.rate), each.rate > HOT * usual && usual > 0, "hot") },
    { title: "lag", number: true, cell: (each) => count(each.lag_records) },
    { title: "executor", cell: (each) => each.executor ?? NONE },
    { title: "busiest key", cell: (each) => busiest(each.busiest_key) },
  ];
  table(byId("partitions"), columns, slowest, { key: (each) => `${each.topic}-${each.partition}`, empty: "No partition is read yet." });
  say(byId("partitions-title"), all.length > SLOWEST ? `Slowest partitions of ${all.length}` : "Slowest partitions");
}

function busiest(busy) {
  if (!busy || busy.share < NOTABLE_KEY) return NONE;
  const key = busy.key.length > LONGEST_KEY ? `${busy.key.slice(0, LONGEST_KEY)}…` : busy.key;
  return warm(`${percent(busy.share)} ${key}`, busy.share > HOT_KEY, "hot");
}

function meter(share) {
  const fill = make("span", { class: "fill", "aria-hidden": "true" });
  fill.style.width = `${Math.round(share * 100)}%`;
  return fill;
}

const warm = (text, isWarm, word) => (isWarm ? make("span", { class: "warm" }, `${text}, ${word}`) : text);

function showWorkers(query) {
  const columns = [
    { title: "process", cell: (each) => `${each.pid ?? NONE} on ${each.host ?? NONE}` },
    { title: "functions", cell: (each) => (each.functions ?? []).join(", ") || NONE },
    { title: "state", cell: (each) => (each.alive === false ? make("span", { class: "bad" }, "gone") : each.alive ? "alive" : NONE) },
    { title: "busy", number: true, cell: (each) => warm(percent(each.busy), (each.busy ?? 0) > BUSY, "saturated") },
    { title: "a batch, p50", number: true, cell: (each) => time(each.batch_p50) },
    { title: "rows", number: true, cell: (each) => count(each.rows) },
    { title: "memory", number: true, cell: (each) => megabytes(each.memory_mb) },
  ];
  const workers = query.python ?? [];
  table(byId("python"), columns, workers, { key: (each) => `${each.host} ${each.pid} ${each.stage} ${each.task}`, empty: "This query runs no Python." });
}

function showExecutors(executors) {
  const columns = [
    { title: "executor", cell: (each) => each.id },
    { title: "host", cell: (each) => each.host ?? NONE },
    { title: "GC in a second", number: true, cell: (each) => warm(time(each.gc_ms_per_s), (each.gc_ms_per_s ?? 0) > GC_MS, "much") },
    { title: "longest pause", number: true, cell: (each) => time(each.gc_max_ms) },
    { title: "heap", number: true, cell: (each) => `${count(each.heap_used_mb)} of ${megabytes(each.heap_max_mb)}` },
  ];
  table(byId("executors"), columns, executors, { key: (each) => each.id, empty: "No executor has reported yet." });
}

function showTail(query) {
  const records = [...(query.tail ?? [])].reverse();
  const topics = [...new Set(records.map((record) => record.topic).filter(Boolean))];
  say(byId("tail-note"), topics.length ? `a sample of what goes to ${topics.join(", ")}` : "a sample of what it writes");
  const seen = new Map();
  const key = (record) => {
    const name = `${record.time_ms} ${record.key} ${record.value}`;
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return `${name} ${seen.get(name)}`;
  };
  const create = (record) =>
    make(
      "li", {},
      make("span", { class: "time" }, at(record.time_ms)),
      make("span", { class: "key", title: record.key ?? "" }, record.key ?? NONE),
      make("span", { class: "value", title: record.value ?? "" }, record.value ?? "null"),
    );
  if (records.length) sync(byId("tail"), records, key, create);
  else sync(byId("tail"), [{}], () => "none", () => make("li", { class: "none" }, "Nothing has been written yet."));
}
