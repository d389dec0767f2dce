// SPDX-License-Identifier: Apache-2.0
// Numbers as a person on call reads them. What was not measured is a dash, never a zero.

export const NONE = "–";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);

/** A duration, as number and unit. */
export function duration(ms) {
  if (isMissing(ms)) return [NONE, ""];
  if (ms < 1000) return [digits(ms), "ms"];
  if (ms < 60_000) return [digits(ms / 1000), "s"];
  if (ms < 3_600_000) return [digits(ms / 60_000), "min"];
  return [digits(ms / 3_600_000), "h"];
}

export const time = (ms) => duration(ms).join(" ").trim();

function digits(value) {
  if (value < 0.995) return value.toFixed(2);
  return value < 9.95 ? value.toFixed(1) : whole.format(value);
}

export const count = (value) => (isMissing(value) ? NONE : whole.format(value));

export function rate(value) {
  if (isMissing(value)) return NONE;
  return value > 0 && value < 9.95 ? value.toFixed(1) : whole.format(value);
}

export const percent = (share) => (isMissing(share) ? NONE : `${whole.format(share * 100)} %`);

export const megabytes = (value) => (isMissing(value) ? NONE : `${whole.format(value)} MB`);

export const at = (ms) => (isMissing(ms) ? NONE : clock.format(ms));

/** A sentence's "2 records". */
export const several = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;
