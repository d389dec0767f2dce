// SPDX-License-Identifier: Apache-2.0
// Puts the page together: documents in, the chosen query on view.

import { byId, make, say, set, sync } from "./dom.js";
import { at } from "./format.js";
import * as graph from "./graph.js";
import * as heatmap from "./heatmap.js";
import { facts, queriesOf, summary, verdict } from "./model.js";
import * as panels from "./panels.js";
import { listen } from "./stream.js";
import * as theme from "./theme.js";

let snapshot = null;
let chosen = null;
const states = new Map();

function chosenOf(queries) {
  const wanted = decodeURIComponent(location.hash.replace(/^#query=/, ""));
  // An application that began anew may give the same query another id; its name stays.
  const found =
    queries.find((query) => query.id === wanted) ??
    queries.find((query) => chosen?.name && query.name === chosen.name) ??
    queries.find((query) => query.state === "running") ??
    queries[0];
  return found ?? null;
}

function redraw() {
  if (!snapshot || document.hidden) return;
  const queries = queriesOf(snapshot);
  chosen = chosenOf(queries);
  showApplication();
  showQueries(queries);
  byId("empty").hidden = chosen !== null;
  byId("query").hidden = chosen === null;
  if (chosen) showQuery(chosen);
  announce(queries);
}

function showApplication() {
  const { application } = snapshot;
  say(byId("application-name"), application?.name ?? "");
  say(byId("application-spark"), application?.spark ? `on Spark ${application.spark}` : "");
}

function showQueries(queries) {
  const create = () => make("li", {}, make("a", {}, make("span"), make("span", { class: "word" })));
  sync(byId("queries"), queries, (query) => query.id, create, (item, query) => {
    const link = item.firstChild;
    set(link, "href", `#query=${encodeURIComponent(query.id)}`);
    set(link, "aria-current", query.id === chosen?.id ? "page" : null);
    say(link.firstChild, query.label);
    say(link.lastChild, summary(query));
    set(link.lastChild, "data-state", query.state);
  });
}

function showQuery(query) {
  const now = snapshot.time_ms;
  say(byId("name"), query.label);
  say(byId("state"), query.state);
  set(byId("state"), "data-state", query.state);
  say(byId("facts"), facts(query, now));
  say(byId("verdict"), verdict(query));
  panels.show(query, snapshot);
  heatmap.show(query, now);
  graph.show(query);
  const title = `${query.label} · Headrace`;
  if (document.title !== title) document.title = title;
}

/** Tells those who do not see the page what changed about a query; numbers change too often to be told. */
function announce(queries) {
  const news = [];
  for (const query of queries) {
    const before = states.get(query.id);
    if (before !== undefined && before !== query.state) news.push(`${query.label} is ${query.state}`);
    states.set(query.id, query.state);
  }
  if (news.length) say(byId("announcement"), news.join(", "));
}

function connected(state) {
  document.body.dataset.connection = state;
  set(byId("connection"), "data-state", state);
  const seen = snapshot ? `; what you see is from ${at(snapshot.time_ms)}` : "";
  const words = {
    live: "live",
    silent: `connected, but Spark does not answer${seen}`,
    lost: `not connected, trying again${seen}`,
  };
  say(byId("connection-text"), words[state]);
  if (state !== "live") say(byId("announcement"), words[state]);
}

theme.start(() => {
  heatmap.redraw();
  redraw();
});
heatmap.start();
graph.start();
panels.start();
addEventListener("hashchange", redraw);
document.addEventListener("visibilitychange", redraw);
listen((heard) => {
  snapshot = heard;
  redraw();
}, connected);
