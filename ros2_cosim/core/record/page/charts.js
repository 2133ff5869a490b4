// SPDX-License-Identifier: Apache-2.0
// The charts of all pages: values under the pointer in all charts over simulated time at once, a
// stretch of it enlarged in all of them together, by pointer and by keys. A chart of a report is a
// picture that is complete without this; that of a run under way is drawn here.

import { clamp, decimals, format, niceTicks } from "./numbers.js";

export const TIME = "simulated time [s]";
const NEAR = 6; // dots this near to the pointer are read off [px]
const MANY = 8; // longer lists of values have two columns
const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 200; // of a chart that is drawn here [px]
const EDGES = { left: 46, right: 10, top: 8, bottom: 22 };
const pair = (text) => text.split(" ").map(Number);

/** The points of a curve in its picture; `begins` after a gap. */
function pointsOf(path) {
  const found = [];
  let x = 0, y = 0;
  for (const [, command, rest] of path.getAttribute("d").matchAll(/([MLHVh])([^MLHVh]*)/g)) {
    const numbers = rest.trim().split(/\s+/).map(Number);
    if (command === "h") continue;
    if (command === "H") [x] = numbers;
    else if (command === "V") [y] = numbers;
    else [x, y] = numbers;
    found.push({ x, y, begins: command === "M" });
  }
  return found;
}

class Curve {
  constructor(path) {
    this.label = path.dataset.label;
    this.colour = path.getAttribute("stroke");
    this.dots = path.classList.contains("dots");
    this.path = path;
    this.points = null;
  }

  /** Height in the picture at x, or null where there is none. `near`: how far a dot may be. */
  at(x, near) {
    this.points = this.points || pointsOf(this.path);
    const points = this.points;
    let low = 0, high = points.length; // the number of points up to x
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[middle].x <= x) low = middle + 1;
      else high = middle;
    }
    const before = points[low - 1], after = points[low];
    if (this.dots) {
      const nearest = [before, after].filter((p) => p && Math.abs(p.x - x) <= near);
      nearest.sort((a, b) => Math.abs(a.x - x) - Math.abs(b.x - x));
      return nearest.length ? nearest[0].y : null;
    }
    if (before && after && !after.begins) {
      const share = after.x > before.x ? (x - before.x) / (after.x - before.x) : 0;
      return before.y + share * (after.y - before.y);
    }
    return before && x - before.x < 0.5 ? before.y : null;
  }
}

export class Chart {
  constructor(figure, plot) {
    this.figure = figure;
    this.picture = plot.ownerSVGElement;
    this.plot = plot;
    this.axis = plot.dataset.axis;
    this.unit = (this.axis.match(/\[(.*)\]$/) || ["", ""])[1];
    this.x = pair(plot.dataset.x);
    this.y = pair(plot.dataset.y);
    this.shown = this.x;
    this.place();
    this.curves = [...plot.querySelectorAll("[data-label]")].map((path) => new Curve(path));
    this.ticks = this.picture.querySelector(".ticks");
    this.cursor = this.add("path", "cursor");
    this.marked = this.add("path", "cursor marked");
    this.chosen = this.add("rect", "chosen");
    this.now = null;
    this.values = document.createElement("div");
    this.values.className = "values";
    this.values.hidden = true;
    figure.append(this.values);
    figure.classList.add("read");
    figure.tabIndex = 0;
  }

  /** Where the plot is in its picture. */
  place() {
    [this.left, this.top, this.width, this.height] = ["x", "y", "width", "height"].map(
      (name) => Number(this.plot.getAttribute(name)));
  }

  add(kind, name) {
    const made = document.createElementNS(SVG, kind);
    made.setAttribute("class", name);
    this.plot.append(made);
    return made;
  }

  get scale() {
    return this.picture.getBoundingClientRect().width / this.picture.viewBox.baseVal.width;
  }

  /** The value of the axis under the pointer; null outside the plot. */
  under(event) {
    const box = this.picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) / this.scale - this.left) / this.width;
    const y = ((event.clientY - box.top) / this.scale - this.top) / this.height;
    if (x < -0.02 || x > 1.02 || y < 0 || y > 1) return null;
    const [from, to] = this.shown;
    return from + clamp(x, 0, 1) * (to - from);
  }

  /** From the axis to the picture of the curves. */
  toPicture(value) {
    return ((value - this.x[0]) / (this.x[1] - this.x[0] || 1)) * this.width;
  }

  read(value) {
    const x = this.toPicture(value);
    const share = (value - this.shown[0]) / (this.shown[1] - this.shown[0] || 1);
    if (!(share >= 0 && share <= 1)) return this.leave();
    this.reading = value;
    this.cursor.setAttribute("d", `M${x} 0V${this.height}`);
    const [y0, y1] = this.y;
    const digits = decimals((y1 - y0) / 2000);
    const near = (NEAR * (this.shown[1] - this.shown[0])) / (this.x[1] - this.x[0] || 1);
    const place = format(value, decimals((this.shown[1] - this.shown[0]) / 1000));
    const rows = [row("b", `${place} ${this.unit}`)];
    for (const curve of this.curves) {
      const y = curve.at(x, near);
      if (y === null) continue;
      const text = format(y1 - (y / this.height) * (y1 - y0), digits);
      rows.push(row("span", `${curve.label}  ${text}`, curve.colour));
    }
    this.values.replaceChildren(...rows);
    this.values.classList.toggle("many", rows.length > MANY);
    this.values.hidden = false;
    const own = this.figure.getBoundingClientRect();
    const box = this.picture.getBoundingClientRect();
    this.values.style.top = `${box.top - own.top + (this.top + 4) * this.scale}px`;
    const at = box.left - own.left + (this.left + share * this.width) * this.scale;
    const onLeft = share < 0.5;
    this.values.style.left = onLeft ? `${at + 8}px` : "auto";
    this.values.style.right = onLeft ? "auto" : `${own.width - at + 8}px`;
  }

  leave() {
    this.reading = null;
    this.cursor.removeAttribute("d");
    this.values.hidden = true;
  }

  /** A line at the time that a scene shows; null: none. */
  mark(time) {
    this.now = time;
    if (time === null) this.marked.removeAttribute("d");
    else this.marked.setAttribute("d", `M${this.toPicture(time)} 0V${this.height}`);
  }

  choose(from, to) {
    const [x0, x1] = [this.toPicture(from), this.toPicture(to)];
    const place = { x: Math.min(x0, x1), y: 0, width: Math.abs(x1 - x0), height: this.height };
    for (const [name, value] of Object.entries(place)) this.chosen.setAttribute(name, value);
  }

  chooseNothing() {
    this.chosen.setAttribute("width", 0);
  }

  /** Show a stretch of the axis; null: all of it. */
  show(stretch) {
    this.shown = stretch || this.x;
    this.plot.classList.toggle("part", stretch !== null);
    const [from, to] = this.shown;
    const left = this.toPicture(from);
    this.plot.setAttribute("viewBox", `${left} 0 ${this.toPicture(to) - left} ${this.height}`);
    const ticks = niceTicks(from, to, Math.min(6, this.width / 70));
    const digits = decimals(ticks.length > 1 ? ticks[1] - ticks[0] : 1);
    const parts = [];
    for (const tick of ticks) {
      const x = this.left + ((tick - from) / (to - from || 1)) * this.width;
      parts.push(gridLine(`M${x} ${this.top}V${this.top + this.height}`),
        label(x, this.top + this.height + 16, "middle", format(tick, digits)));
    }
    this.ticks.replaceChildren(...parts);
  }
}

function drawn(kind, attributes, text = "") {
  const made = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

const gridLine = (d) => drawn("path", { class: "grid", d });
const label = (x, y, anchor, text) => drawn("text", { x, y, "text-anchor": anchor }, text);

/** A chart of a run under way, in a figure that has none yet; `atLeast`: range of values. */
export class LiveChart extends Chart {
  constructor(figure, title, atLeast) {
    const picture = drawn("svg", { role: "img", "aria-label": title });
    const plot = drawn("svg", { class: "plot part", preserveAspectRatio: "none" });
    Object.assign(plot.dataset, { axis: TIME, x: "0 1", y: "0 1" });
    picture.append(drawn("g", { class: "heights" }), drawn("g", { class: "ticks" }), plot,
      drawn("text", { class: "nothing", "text-anchor": "middle" }, "nothing to show yet"));
    figure.append(picture);
    super(figure, plot);
    this.atLeast = atLeast;
    this.heights = picture.querySelector(".heights");
    this.nothing = picture.querySelector(".nothing");
  }

  /** One pixel is one unit, so that texts keep their size. */
  layOut() {
    const wide = Math.max(160, this.picture.getBoundingClientRect().width);
    const sizes = { x: EDGES.left, y: EDGES.top, width: wide - EDGES.left - EDGES.right,
      height: HEIGHT - EDGES.top - EDGES.bottom };
    for (const [name, value] of Object.entries(sizes)) this.plot.setAttribute(name, value);
    this.picture.setAttribute("viewBox", `0 0 ${wide} ${HEIGHT}`);
    this.nothing.setAttribute("x", wide / 2);
    this.nothing.setAttribute("y", HEIGHT / 2);
    this.place();
  }

  /** `series`: [{name, index, points: [[t, value or null], ...]}, ...], in order of time. */
  fill(series, from, to) {
    this.layOut();
    this.x = [from, to];
    const kept = series.map(({ points }) => within(points, from, to));
    const values = kept.flatMap((points) => points.map(([, value]) => value))
      .filter((value) => value !== null);
    this.nothing.style.display = values.length ? "none" : "";
    this.#heights(values);
    const toY = (value) => ((this.y[1] - value) / (this.y[1] - this.y[0])) * this.height;
    for (const { path } of this.curves.splice(kept.length)) path.remove();
    kept.forEach((points, number) => {
      const curve = this.curves[number] ?? this.#curve();
      const { name, index } = series[number];
      curve.label = curve.path.dataset.label = name;
      curve.colour = `var(--c${index % 8})`;
      curve.path.setAttribute("stroke", curve.colour);
      curve.points = [];
      let begins = true;
      for (const [time, value] of points) {
        if (value !== null) curve.points.push({ x: this.toPicture(time), y: toY(value), begins });
        begins = value === null;
      }
      curve.path.setAttribute("d", curve.points.map(
        (p) => `${p.begins ? "M" : "L"}${p.x.toFixed(1)} ${p.y.toFixed(1)}`).join(""));
    });
    this.show(null);
    this.plot.classList.add("part");
    this.mark(this.now);
    if (this.reading != null) this.read(this.reading);
  }

  #curve() {
    const curve = new Curve(this.add("path", "line"));
    this.curves.push(curve);
    return curve;
  }

  #heights(values) {
    let low = values.reduce((best, value) => Math.min(best, value), values[0] ?? 0);
    let high = values.reduce((best, value) => Math.max(best, value), values[0] ?? 1);
    if (low > 0 && low < 0.6 * high) low = 0; // zero belongs to the picture unless it is far off
    const missing = this.atLeast - (high - low);
    if (missing > 0) {
      high += missing / 2;
      low = low >= 0 ? Math.max(0, low - missing / 2) : low - missing / 2;
    }
    const ticks = niceTicks(low, high, 4, true);
    this.y = [ticks[0], ticks.at(-1)];
    const digits = decimals(ticks[1] - ticks[0]);
    this.heights.replaceChildren(...(values.length ? ticks : []).flatMap((tick) => {
      const y = this.top + ((this.y[1] - tick) / (this.y[1] - this.y[0])) * this.height;
      return [gridLine(`M${this.left} ${y}h${this.width}`),
        label(this.left - 6, y + 4, "end", format(tick, digits))];
    }));
  }
}

/** The points between two times, and their neighbours: the curve crosses the edges. */
function within(points, from, to) {
  const first = points.findIndex(([time]) => time >= from);
  if (first < 0) return [];
  let last = points.findIndex(([time]) => time > to);
  if (last < 0) last = points.length;
  return points.slice(Math.max(0, first - 1), last + 1);
}

function row(kind, text, colour) {
  const made = document.createElement(kind);
  if (colour) {
    const mark = document.createElement("i");
    mark.style.background = colour;
    made.append(mark);
  }
  made.append(text);
  return made;
}

/** Charts over the same axis: read, enlarged and marked together. */
export class Together {
  constructor(charts) {
    this.charts = charts;
    this.stretch = null;
    this.seek = () => {}; // a place was chosen
    this.enlarged = () => {}; // another stretch is shown; null: all
    this.bounds = () => this.whole; // nothing beyond them is shown
    for (const chart of charts) this.#listen(chart);
  }

  get whole() {
    return [Math.min(...this.charts.map(({ x }) => x[0])),
      Math.max(...this.charts.map(({ x }) => x[1]))];
  }

  zoom(stretch) {
    this.stretch = stretch;
    for (const chart of this.charts) chart.show(stretch);
    this.enlarged(stretch);
  }

  mark(time) {
    for (const chart of this.charts) chart.mark(time);
  }

  leave() {
    for (const chart of this.charts) chart.leave();
  }

  read(value) {
    for (const chart of this.charts) chart.read(value);
  }

  #listen(chart) {
    const { figure } = chart;
    let begun = null;
    figure.addEventListener("pointermove", (event) => {
      const value = chart.under(event);
      if (value === null) return this.leave();
      this.read(value);
      if (begun !== null) for (const each of this.charts) each.choose(begun, value);
    });
    figure.addEventListener("pointerleave", () => this.leave());
    figure.addEventListener("blur", () => this.leave());
    figure.addEventListener("pointerdown", (event) => {
      begun = event.button === 0 ? chart.under(event) : null;
      if (begun !== null) figure.setPointerCapture(event.pointerId);
    });
    const end = (event) => {
      const ended = event.type === "pointerup" ? chart.under(event) : null;
      for (const each of this.charts) each.chooseNothing();
      if (begun !== null && ended !== null) {
        const [from, to] = [Math.min(begun, ended), Math.max(begun, ended)];
        // Less than that is a click.
        if (to - from > 0.01 * (chart.shown[1] - chart.shown[0])) this.zoom([from, to]);
        else this.seek(ended);
      }
      begun = null;
    };
    figure.addEventListener("pointerup", end);
    figure.addEventListener("pointercancel", end);
    figure.addEventListener("dblclick", () => this.zoom(null));
    figure.addEventListener("keydown", (event) => this.#key(chart, event));
  }

  /** Arrows move the place that is read, + and - enlarge about it, Enter goes there. */
  #key(chart, event) {
    const [from, to] = chart.shown;
    const at = chart.reading ?? (from + to) / 2;
    const step = ((to - from) / 100) * (event.shiftKey ? 10 : 1);
    const [begin, end] = this.bounds();
    const near = (factor) => [Math.max(begin, at - (at - from) * factor),
      Math.min(end, at + (to - at) * factor)];
    const actions = {
      ArrowLeft: () => this.read(Math.max(from, at - step)),
      ArrowRight: () => this.read(Math.min(to, at + step)),
      "+": () => this.zoom(near(0.5)),
      "-": () => this.zoom(near(2)),
      Enter: () => this.seek(at),
      Escape: () => this.zoom(null),
    };
    const action = actions[event.key];
    if (!action || event.target !== chart.figure) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }
}

/** The stretch of time that is shown, as two numbers that can be changed. */
class Bar {
  constructor(together, place) {
    this.together = together;
    this.from = this.#input("first simulated second shown");
    this.to = this.#input("last simulated second shown");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "whole run";
    button.addEventListener("click", () => together.zoom(null));
    const line = document.createElement("div");
    line.className = "times";
    line.append("Simulated time", this.from, "to", this.to, "s", button);
    line.append("Drag over a chart to enlarge a stretch of time in all of them.");
    place.before(line);
    together.enlarged = (stretch) => this.tell(stretch || together.whole);
    this.tell(together.whole);
  }

  #input(name) {
    const made = document.createElement("input");
    made.type = "number";
    made.step = "any";
    made.setAttribute("aria-label", name);
    made.addEventListener("change", () => {
      const { whole, charts } = this.together;
      const from = Math.max(whole[0], Number(this.from.value));
      const to = Math.min(whole[1], Number(this.to.value));
      if (to > from) this.together.zoom([from, to]);
      else this.tell(charts[0].shown);
    });
    return made;
  }

  tell([from, to]) {
    const digits = decimals((to - from) / 1000);
    this.from.value = from.toFixed(digits);
    this.to.value = to.toFixed(digits);
  }
}

/** Make the pictures of a page readable; returns those over simulated time, null: there are none. */
export function readable() {
  const charts = [...document.querySelectorAll("figure svg.plot")].map(
    (plot) => new Chart(plot.closest("figure"), plot));
  const timed = charts.filter((chart) => chart.axis === TIME);
  for (const chart of charts) if (chart.axis !== TIME) new Together([chart]);
  if (!timed.length) return null;
  const together = new Together(timed);
  new Bar(together, document.querySelector(".charts"));
  return together;
}
