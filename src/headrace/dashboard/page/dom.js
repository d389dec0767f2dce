// SPDX-License-Identifier: Apache-2.0
// The few ways in which this page changes itself. Text only ever becomes text: nothing here parses markup.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

/** Makes an element with attributes and children; strings become text. */
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for a drawing. */
export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  element.append(...children);
  return element;
}

/** Sets an attribute, unless it has that value; null takes it away. */
export function set(element, name, value) {
  if (value === null || value === undefined) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** Sets the text of an element, unless it has it: what does not change costs no layout and no word of a reader. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Makes the children of an element those that the items call for; elements of the same key are kept. */
export function sync(parent, items, key, create, update = () => {}) {
  const before = new Map();
  for (const child of [...parent.children]) {
    if (child.dataset.key === undefined) child.remove();
    else before.set(child.dataset.key, child);
  }
  let place = parent.firstElementChild;
  for (const [index, item] of items.entries()) {
    const name = String(key(item, index));
    let child = before.get(name);
    if (child) before.delete(name);
    else {
      child = create(item);
      child.dataset.key = name;
    }
    update(child, item);
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  for (const child of before.values()) child.remove();
}

/**
 * Fills a table. Columns have a title, and a cell: text, or an element that `make` made; `number` puts it to the right,
 * the first column is the head of its row.
 */
export function table(element, columns, rows, { key, empty }) {
  if (!element.tHead) {
    const heads = columns.map((each) => make("th", { scope: "col", class: each.number ? "number" : null }, each.title));
    element.append(make("thead", {}, make("tr", {}, ...heads)), make("tbody"));
  }
  set(element.tHead, "hidden", rows.length ? null : "");
  const body = element.tBodies[0];
  if (!rows.length) {
    const note = () => make("tr", {}, make("td", { class: "none" }, empty));
    sync(body, [{}], () => "none", note);
    return;
  }
  const create = () => make("tr", {}, ...columns.map((each, index) => cell(each, index)));
  sync(body, rows, key, create, (row, item) => {
    columns.forEach((each, index) => put(row.cells[index], each.cell(item)));
  });
}

function cell(column, index) {
  const name = [column.number ? "number" : "", column.class ?? ""].join(" ").trim() || null;
  return index ? make("td", { class: name }) : make("th", { scope: "row", class: name });
}

function put(place, content) {
  if (!(content instanceof Node)) say(place, content ?? "–");
  else if (!place.firstChild?.isEqualNode?.(content)) place.replaceChildren(content);
}
