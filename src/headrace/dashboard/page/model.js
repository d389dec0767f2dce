// SPDX-License-Identifier: Apache-2.0
// What the document means: runs of one query put together, and said in sentences.

import { count, percent, several, time } from "./format.js";

export const PARTS = ["queueing", "processing", "delivery"];
export const MEANING = {
  queueing: "from creation until it is read",
  processing: "from there until the sink has it",
  delivery: "from there until consumers see it",
};

const STEP = 2 ** 0.25;
const BEHIND_S = 5;
const FULL = 0.5;
const LONG_GAP_MS = 1000;

/** Makes one entry of all runs of a query: the last run, with the errors of those before it. */
export function queriesOf(snapshot) {
  const byId = new Map();
  for (const run of snapshot.queries ?? []) {
    // It has no id before it has begun.
    const id = run.id ?? run.run;
    const runs = byId.get(id) ?? [];
    runs.push({ ...run, id });
    byId.set(id, runs);
  }
  return [...byId.values()].map((runs) => {
    runs.sort((one, other) => (one.started_ms ?? 0) - (other.started_ms ?? 0));
    const last = runs.at(-1);
    const failures = runs.filter((run) => run.error).reverse();
    return { ...last, label: last.name || last.id.slice(0, 8), runs: runs.length, failures };
  });
}

/** The latency that so many of all records stay below, out of buckets; between two bounds it is estimated. */
export function quantile(buckets, share) {
  const total = buckets.reduce((sum, [, number]) => sum + number, 0);
  let below = 0;
  for (const [upper, number] of buckets) {
    if (below + number >= total * share && number) {
      if (upper === null) return buckets.length > 1 ? buckets.at(-2)[0] : null;
      return (upper / STEP) * STEP ** ((total * share - below) / number);
    }
    below += number;
  }
  return null;
}

export const lower = (upper) => upper / STEP;

/** What each part adds to the latency: half of all records spend no more there. Null where nothing was measured. */
export function sharesOf(query) {
  const recent = query.latency?.recent ?? {};
  const found = PARTS.map((name) => [name, recent[name]?.p50]).filter(([, ms]) => ms !== null && ms !== undefined);
  const sum = found.reduce((total, [, ms]) => total + ms, 0);
  return sum ? Object.fromEntries(found.map(([name, ms]) => [name, ms / sum])) : null;
}

export const isPressed = (stage) => (stage.queue ?? 0) >= FULL;

/** The state of a query in sentences: all that colours say, too. */
export function verdict(query) {
  if (query.state === "failed") return "It has failed and reads no more. What it has committed is not read again.";
  if (query.state === "stopped") return "It was stopped. The numbers are those of its last seconds.";
  const parts = [speed(query), bottleneck(query), behind(query), standstill(query)];
  return parts.filter(Boolean).join(" ");
}

function speed(query) {
  const recent = query.latency?.recent?.end_to_end;
  if (recent) return `99 of 100 records take less than ${time(recent.p99)}, end to end.`;
  if (query.state === "starting") return "It is starting; nothing has been read yet.";
  if (query.creation === "unknown")
    return "Its topics are stamped when a broker appends a record: when one was created is not known, and so latency end to end is not.";
  return "No results in the last 10 seconds.";
}

function bottleneck(query) {
  const shares = query.latency?.recent?.end_to_end ? sharesOf(query) : null;
  const pressed = (query.stages ?? []).filter(isPressed).map((stage) => stage.name);
  if (pressed.length) return `Pressure builds: the buffers behind ${pressed.join(", ")} are filling up.`;
  if (!shares) return "";
  const [name, share] = Object.entries(shares).sort((one, other) => other[1] - one[1])[0];
  return `The largest part of it is ${name}: ${percent(share)}.`;
}

function behind(query) {
  const lag = query.lag ?? {};
  if ((lag.seconds ?? 0) < BEHIND_S) return "";
  return `It is ${time(lag.seconds * 1000)} behind its input, with ${several(lag.records, "record")} to read.`;
}

function standstill(query) {
  const gap = query.boundaries?.at(-1)?.gap_ms ?? 0;
  return gap < LONG_GAP_MS ? "" : `At the last boundary nothing was read for ${time(gap)}.`;
}

/** The condition of an error, what happened, and what to do: by our rule for messages the last sentence. */
export function explained(error) {
  const text = (error.message ?? "").trim();
  const bare = text.replace(/^\[[A-Z0-9_.]+\]\s*/, "");
  const [first, ...rest] = bare.split("\n");
  const sentences = first.match(/.+?[.!?](?=\s+[A-Z`]|$)|.+$/g)?.map((each) => each.trim()) ?? [first];
  const remedy = error.condition && sentences.length > 1 ? sentences.pop() : "";
  return { condition: error.condition, message: [sentences.join(" "), ...rest].join("\n").trim(), remedy };
}

/** One line on how a query is, for the list of all. */
export function summary(query) {
  const p99 = query.latency?.recent?.end_to_end?.p99;
  if (query.state !== "running" || p99 === undefined) return query.state;
  return `running, p99 ${time(p99)}`;
}

/** What is known of a run besides its numbers. */
export function facts(query, now) {
  const ran = (query.ended_ms ?? now) - query.started_ms;
  const found = [
    query.mode === "micro-batch" ? "micro-batches" : query.mode === "real-time" ? "real-time mode" : query.mode,
    query.delivery,
    Number.isFinite(ran) ? `${query.ended_ms ? "ran" : "for"} ${time(Math.max(0, ran))}` : null,
    query.epoch ? `epoch ${count(query.epoch.number)}` : null,
    query.runs > 1 ? `run ${query.runs}` : null,
  ];
  return found.filter(Boolean).join(" · ");
}
