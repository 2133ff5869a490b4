// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them.

export function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

/** Decimals that show steps of this size. */
export function decimals(step) {
  const digits = clamp(-Math.floor(Math.log10(step) + 1e-9), 0, 9);
  return Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6
    ? digits + 1 : digits;
}

/** A number with so many decimals; what rounds to zero has no sign. */
export function format(value, digits) {
  return value.toFixed(Math.min(9, digits)).replace(/^-(0(\.0*)?)$/, "$1").replace("-", "\u2212");
}

/** The same, and a dash for what is not known. */
export function known(value, digits, unit = "") {
  return value === null || value === undefined ? "\u2013" : `${format(value, digits)}${unit}`;
}

/** A step of 1, 2, 2.5 or 5 times a power of ten, so that about `count` of them fill the range. */
export function niceStep(range, count) {
  const raw = range / count || 1;
  const magnitude = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 2.5, 5, 10].find((f) => f * magnitude >= raw * 0.999) * magnitude;
}

/** Round numbers within a stretch, about `count` of them; or those that enclose it. */
export function niceTicks(from, to, count, around = false) {
  const step = niceStep(to - from, count);
  const first = around ? Math.floor(from / step + 1e-9) : Math.ceil(from / step - 1e-9);
  const last = around ? Math.ceil(to / step - 1e-9) : Math.floor(to / step + 1e-9);
  return Array.from({ length: Math.max(last - first, 0) + 1 }, (_, n) => (first + n) * step)
    .filter((tick) => around || tick <= to + 1e-9 * step);
}
