// SPDX-License-Identifier: Apache-2.0
// Makes the charts of a page readable to the digit: the values under the pointer in all charts over
// the same axis at once, and a stretch of simulated time enlarged in all of them together. The
// pictures are complete without it.
(() => {
  "use strict";
  const TIME = "simulated time [s]";
  const NEAR = 6; // dots this near to the pointer are read off [px]
  const MANY = 8; // longer lists of values have two columns
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

  class Chart {
    constructor(figure, plot) {
      this.figure = figure;
      this.picture = plot.ownerSVGElement;
      this.plot = plot;
      this.axis = plot.dataset.axis;
      this.unit = (this.axis.match(/\[(.*)\]$/) || ["", ""])[1];
      this.x = pair(plot.dataset.x);
      this.y = pair(plot.dataset.y);
      this.shown = this.x;
      this.left = Number(plot.getAttribute("x"));
      this.top = Number(plot.getAttribute("y"));
      this.width = Number(plot.getAttribute("width"));
      this.height = Number(plot.getAttribute("height"));
      this.curves = [...plot.querySelectorAll("[data-label]")].map((path) => new Curve(path));
      this.ticks = this.picture.querySelector(".ticks");
      this.tickPath = this.ticks.querySelector("path");
      this.tickText = this.ticks.querySelector("text");
      this.cursor = this.add("path", "cursor");
      this.chosen = this.add("rect", "chosen");
      this.values = document.createElement("div");
      this.values.className = "values";
      this.values.hidden = true;
      figure.append(this.values);
      figure.classList.add("read");
    }

    add(kind, name) {
      const made = document.createElementNS(this.plot.namespaceURI, kind);
      made.setAttribute("class", name);
      this.plot.append(made);
      return made;
    }

    /** Place on the axis under the pointer, or null beside the plot. */
    under(event) {
      const box = this.picture.getBoundingClientRect();
      const scale = box.width / this.picture.viewBox.baseVal.width;
      const x = ((event.clientX - box.left) / scale - this.left) / this.width;
      const y = ((event.clientY - box.top) / scale - this.top) / this.height;
      if (x < -0.02 || x > 1.02 || y < 0 || y > 1) return null;
      const [from, to] = this.shown;
      return from + Math.min(1, Math.max(0, x)) * (to - from);
    }

    /** From the axis to the picture of the curves. */
    toPicture(value) {
      return ((value - this.x[0]) / (this.x[1] - this.x[0] || 1)) * this.width;
    }

    read(value) {
      const x = this.toPicture(value);
      const share = (value - this.shown[0]) / (this.shown[1] - this.shown[0] || 1);
      if (!(share >= 0 && share <= 1)) return this.leave();
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
      const scale = box.width / this.picture.viewBox.baseVal.width;
      this.values.style.top = `${box.top - own.top + (this.top + 4) * scale}px`;
      const at = box.left - own.left + (this.left + share * this.width) * scale;
      if (share < 0.5) {
        this.values.style.left = `${at + 8}px`;
        this.values.style.right = "auto";
      } else {
        this.values.style.left = "auto";
        this.values.style.right = `${own.width - at + 8}px`;
      }
    }

    leave() {
      this.cursor.removeAttribute("d");
      this.values.hidden = true;
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
      const ticks = niceTicks(from, to, 6);
      const digits = decimals(ticks.length > 1 ? ticks[1] - ticks[0] : 1);
      const parts = [];
      for (const tick of ticks) {
        const x = this.left + ((tick - from) / (to - from || 1)) * this.width;
        const line = this.tickPath.cloneNode();
        line.setAttribute("d", `M${x} ${this.top}V${this.top + this.height}`);
        const text = this.tickText.cloneNode();
        text.setAttribute("x", x);
        text.textContent = format(tick, digits);
        parts.push(line, text);
      }
      this.ticks.replaceChildren(...parts);
    }
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

  /** Decimals that show steps of this size. */
  function decimals(step) {
    const digits = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
    return Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6 && digits
      ? digits + 1 : digits;
  }

  function format(value, digits) {
    return value.toFixed(Math.min(9, digits)).replace("-", "\u2212");
  }

  /** Round numbers within a stretch, about `count` of them. */
  function niceTicks(from, to, count) {
    const raw = (to - from) / count || 1;
    const magnitude = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].find((f) => f * magnitude >= raw * 0.999) * magnitude;
    const ticks = [];
    for (let n = Math.ceil(from / step - 1e-9); n * step <= to + 1e-9 * step; n++) ticks.push(n * step);
    return ticks;
  }

  const charts = [];
  for (const plot of document.querySelectorAll("figure svg.plot")) {
    charts.push(new Chart(plot.closest("figure"), plot));
  }
  const timed = charts.filter((chart) => chart.axis === TIME);
  const whole = [
    Math.min(...timed.map((chart) => chart.x[0])),
    Math.max(...timed.map((chart) => chart.x[1])),
  ];
  let bar = null;

  function zoom(stretch) {
    for (const chart of timed) chart.show(stretch);
    if (bar) bar.tell(stretch || whole);
  }

  class Bar {
    constructor() {
      this.from = this.input("first simulated second shown");
      this.to = this.input("last simulated second shown");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "whole run";
      button.addEventListener("click", () => zoom(null));
      const line = document.createElement("div");
      line.className = "times";
      line.append("Simulated time", this.from, "to", this.to, "s", button);
      line.append("Drag over a chart to enlarge a stretch of time in all of them.");
      document.querySelector(".charts").before(line);
      this.tell(whole);
    }

    input(label) {
      const made = document.createElement("input");
      made.type = "number";
      made.step = "any";
      made.setAttribute("aria-label", label);
      made.addEventListener("change", () => {
        const from = Math.max(whole[0], Number(this.from.value));
        const to = Math.min(whole[1], Number(this.to.value));
        if (to > from) zoom([from, to]);
        else this.tell(timed[0].shown);
      });
      return made;
    }

    tell([from, to]) {
      const digits = decimals((to - from) / 1000);
      this.from.value = from.toFixed(digits);
      this.to.value = to.toFixed(digits);
    }
  }

  for (const chart of charts) {
    const together = chart.axis === TIME ? timed : [chart];
    const { figure } = chart;
    let begun = null;
    figure.addEventListener("pointermove", (event) => {
      const value = chart.under(event);
      if (value === null) {
        for (const each of together) each.leave();
        return;
      }
      for (const each of together) each.read(value);
      if (begun !== null) for (const each of together) each.choose(begun, value);
    });
    figure.addEventListener("pointerleave", () => {
      for (const each of together) each.leave();
    });
    if (chart.axis !== TIME) continue;
    figure.addEventListener("pointerdown", (event) => {
      begun = event.button === 0 ? chart.under(event) : null;
      if (begun !== null) figure.setPointerCapture(event.pointerId);
    });
    const end = (event) => {
      const ended = event.type === "pointerup" ? chart.under(event) : null;
      for (const each of together) each.chooseNothing();
      if (begun !== null && ended !== null) {
        const [from, to] = [Math.min(begun, ended), Math.max(begun, ended)];
        // Less than that is a click.
        if (to - from > 0.01 * (chart.shown[1] - chart.shown[0])) zoom([from, to]);
      }
      begun = null;
    };
    figure.addEventListener("pointerup", end);
    figure.addEventListener("pointercancel", end);
    figure.addEventListener("dblclick", () => zoom(null));
  }
  if (timed.length) bar = new Bar();
})();
