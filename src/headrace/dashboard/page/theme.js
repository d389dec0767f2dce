// SPDX-License-Identifier: Apache-2.0
// Light or dark: as the system, unless somebody chose.

import { byId } from "./dom.js";

const KEY = "headrace-theme";

/** Prepares the switch; calls back whenever the colours change. */
export function start(changed) {
  const select = byId("theme");
  select.value = stored();
  apply(select.value);
  select.addEventListener("change", () => {
    try {
      localStorage.setItem(KEY, select.value);
    } catch {
      // A browser that keeps nothing forgets the choice with the page.
    }
    apply(select.value);
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}

/** A colour of the theme in force. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function stored() {
  try {
    const value = localStorage.getItem(KEY);
    return ["auto", "light", "dark"].includes(value) ? value : "auto";
  } catch {
    return "auto";
  }
}

function apply(value) {
  if (value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
}
