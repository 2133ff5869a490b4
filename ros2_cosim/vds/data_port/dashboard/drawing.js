// SPDX-License-Identifier: Apache-2.0
// Draws the top view and the charts on canvases, in the colours of the style sheet.

import { colour, colourOf, prepared, sector } from "./canvas.js";
import { drawOver, drawUnder } from "./world.js";

const FOLLOWED_VIEW = 120; // m
const OLD_LINK_S = 0.25; // the oldest message that controllers use by default

// The point of a box that is nearest to a place.
function nearest(box, [x, y]) {
  const c = Math.cos(box.yaw);
  const s = Math.sin(box.yaw);
  const within = (value, size) => Math.max(-size / 2, Math.min(size / 2, value));
  const along = within((x - box.x) * c + (y - box.y) * s, box.length);
  const across = within((y - box.y) * c - (x - box.x) * s, box.width);
  return [box.x + along * c - across * s, box.y + along * s + across * c];
}

// A step of 1, 2 or 5 times a power of ten, so that about `count` of them fill the range.
export function niceStep(range, count) {
  const raw = Math.max(range, 1e-9) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const part = raw / power;
  return (part > 5 ? 10 : part > 2 ? 5 : part > 1 ? 2 : 1) * power;
}

// A number with so many decimals; what rounds to zero has no sign.
export function fixed(value, decimals) {
  return value.toFixed(decimals).replace(/^-(0(\.0*)?)$/, "$1");
}

function shown(value, step) {
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return fixed(value, Math.min(decimals, 6));
}

// Follows the vehicles; keeps its scale while they fit well, so that the picture stays calm.
export class Scene {
  constructor(canvas, scaleText) {
    this.canvas = canvas;
    this.scaleText = scaleText;
    this.centre = null;
    this.scale = 0;
    this.trails = new Map();
    this.lines = [];
    this.sectors = [];
    this.followed = ""; // name of a vehicle, or all of them
    this.view = null; // width of the picture around a followed one [m]
  }

  // Another run begins.
  forget() {
    this.trails.clear();
    this.scale = 0;
  }

  // Lines of the road, each a list of places, and the box around each; fields of view.
  take({ lines, sectors }) {
    this.sectors = sectors;
    this.lines = lines.map((points) => {
      const xs = points.map((p) => p[0]);
      const ys = points.map((p) => p[1]);
      return { points, box: [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)] };
    });
  }

  // Bring a followed vehicle nearer, or all of them; `factor` above 1 shows more.
  zoom(factor) {
    this.view = Math.min(Math.max((this.view ?? FOLLOWED_VIEW) * factor, 20), 5000);
  }

  draw(vehicles, objects, links, world = null) {
    const { pen, width, height } = prepared(this.canvas);
    if (!vehicles.length && !world?.whole) return;
    this.#follow(vehicles, world, width, height);
    const place = (x, y) => [
      width / 2 + (x - this.centre[0]) * this.scale,
      height / 2 - (y - this.centre[1]) * this.scale,
    ];
    pen.fillStyle = colour("--road");
    pen.fillRect(0, 0, width, height);
    this.#grid(pen, width, height, place);
    this.#road(pen, width, height, place);
    this.#views(pen, vehicles, place);
    if (world) drawUnder(pen, world, place, this.scale);
    this.#trails(pen, vehicles, place);
    for (const object of objects) this.#object(pen, object, place);
    const labels = [];
    vehicles.forEach((vehicle, index) => this.#vehicle(pen, vehicle, index, place, labels));
    this.#gaps(pen, vehicles, objects, place);
    this.#links(pen, vehicles, links, place);
    if (world) drawOver(pen, world, place, this.scale);
    this.#labels(pen, labels, width);
  }

  #follow(vehicles, world, width, height) {
    const followed = vehicles.find(({ name }) => name === this.followed);
    if (followed) {
      this.scale = width / (this.view ?? FOLLOWED_VIEW);
      this.centre = [followed.x, followed.y];
      return;
    }
    if (world?.whole) return this.#whole(width, height);
    const xs = vehicles.map((v) => v.x);
    const ys = vehicles.map((v) => v.y);
    const spanX = Math.max(...xs) - Math.min(...xs) + 24;
    const spanY = Math.max(...ys) - Math.min(...ys) + 12;
    const fits = Math.min(width / spanX, height / spanY, 14);
    if (!this.scale || this.scale > fits || this.scale < 0.6 * fits) this.scale = 0.88 * fits;
    this.centre = [
      (Math.max(...xs) + Math.min(...xs)) / 2,
      (Math.max(...ys) + Math.min(...ys)) / 2,
    ];
  }

  // The whole map, and nearer around its middle if the user wants.
  #whole(width, height) {
    const boxes = this.lines.map(({ box }) => box);
    if (!boxes.length) boxes.push([-50, 50, -50, 50]);
    const [left, right, bottom, top] = [0, 1, 2, 3].map((side) =>
      boxes.reduce((best, box) => (side % 2 ? Math.max : Math.min)(best, box[side]), boxes[0][side]));
    const fits = 0.95 * Math.min(width / (right - left), height / (top - bottom));
    this.scale = this.view ? Math.max(fits, width / this.view) : fits;
    this.centre = [(left + right) / 2, (bottom + top) / 2];
  }

  #grid(pen, width, height, place) {
    const step = niceStep(width / this.scale, 10);
    this.scaleText.textContent = `grid ${shown(step, step)} m`;
    pen.strokeStyle = colour("--grid");
    pen.fillStyle = colour("--soft");
    pen.lineWidth = 1;
    pen.textAlign = "left";
    pen.textBaseline = "alphabetic";
    const left = this.centre[0] - width / 2 / this.scale;
    const bottom = this.centre[1] - height / 2 / this.scale;
    pen.beginPath();
    for (let x = Math.ceil(left / step) * step; ; x += step) {
      const [px] = place(x, 0);
      if (px > width) break;
      pen.moveTo(px, 0);
      pen.lineTo(px, height);
      if (px < width - 50) pen.fillText(shown(x, step), px + 4, height - 6);
    }
    for (let y = Math.ceil(bottom / step) * step; ; y += step) {
      const [, py] = place(0, y);
      if (py < 0) break;
      pen.moveTo(0, py);
      pen.lineTo(width, py);
    }
    pen.stroke();
  }

  // The lines that are in the picture.
  #road(pen, width, height, place) {
    const reachX = width / 2 / this.scale;
    const reachY = height / 2 / this.scale;
    const [x, y] = this.centre;
    pen.strokeStyle = colour("--soft");
    pen.globalAlpha = 0.6;
    pen.lineWidth = 1.2;
    pen.beginPath();
    for (const { points, box } of this.lines) {
      const [left, right, bottom, top] = box;
      if (left > x + reachX || right < x - reachX || bottom > y + reachY || top < y - reachY)
        continue;
      points.forEach((point, index) =>
        index ? pen.lineTo(...place(...point)) : pen.moveTo(...place(...point)));
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  // What sensors see: sectors from the front bumpers of their vehicles.
  #views(pen, vehicles, place) {
    for (const { vehicle, angle, range } of this.sectors) {
      const index = vehicles.findIndex(({ name }) => name === vehicle);
      if (index < 0) continue;
      const { x, y, yaw, length } = vehicles[index];
      const [px, py] = place(x + (Math.cos(yaw) * length) / 2, y + (Math.sin(yaw) * length) / 2);
      pen.fillStyle = pen.strokeStyle = colourOf(index);
      sector(pen, px, py, range * this.scale, yaw, angle, 0.1);
    }
  }

  // Messages between vehicles: a bow from sender to receiver, beside the lane; dashed where the
  // newest one is old.
  #links(pen, vehicles, links, place) {
    const known = new Map(vehicles.map((vehicle) => [vehicle.name, vehicle]));
    pen.lineWidth = 1.5;
    for (const { sender, receiver, age } of links) {
      const [from, to] = [known.get(sender), known.get(receiver)];
      if (!from || !to) continue;
      const [ax, ay] = place(from.x, from.y);
      const [bx, by] = place(to.x, to.y);
      const way = Math.hypot(bx - ax, by - ay);
      if (way < 12) continue;
      const bow = Math.min(0.5 * way, 80);
      // Above the lane of a vehicle that drives to the right: distances are written below it.
      const [nx, ny] = [((ay - by) / way) * bow, ((bx - ax) / way) * bow];
      const [mx, my] = [(ax + bx) / 2 + nx, (ay + by) / 2 + ny];
      const old = age > OLD_LINK_S;
      pen.strokeStyle = pen.fillStyle = colour(old ? "--bad" : "--accent");
      pen.setLineDash(old ? [4, 4] : []);
      pen.beginPath();
      pen.moveTo(ax, ay);
      pen.quadraticCurveTo(mx, my, bx, by);
      pen.stroke();
      pen.setLineDash([]);
      const turn = Math.atan2(by - my, bx - mx);
      pen.beginPath(); // the arrow at the receiver
      pen.moveTo(bx, by);
      pen.lineTo(bx - 9 * Math.cos(turn - 0.35), by - 9 * Math.sin(turn - 0.35));
      pen.lineTo(bx - 9 * Math.cos(turn + 0.35), by - 9 * Math.sin(turn + 0.35));
      pen.fill();
    }
  }

  #trails(pen, vehicles, place) {
    vehicles.forEach((vehicle, index) => {
      const trail = this.trails.get(vehicle.name) ?? [];
      const last = trail.at(-1);
      if (last && Math.hypot(vehicle.x - last[0], vehicle.y - last[1]) > 50) trail.length = 0;
      if (!last || Math.hypot(vehicle.x - last[0], vehicle.y - last[1]) > 0.5) {
        trail.push([vehicle.x, vehicle.y]);
        if (trail.length > 160) trail.shift();
      }
      this.trails.set(vehicle.name, trail);
      pen.strokeStyle = colourOf(index);
      pen.globalAlpha = 0.35;
      pen.lineWidth = 2;
      pen.beginPath();
      for (const [x, y] of trail) pen.lineTo(...place(x, y));
      pen.lineTo(...place(vehicle.x, vehicle.y));
      pen.stroke();
      pen.globalAlpha = 1;
    });
  }

  #box(pen, box, place, smallest) {
    const [px, py] = place(box.x, box.y);
    const length = Math.max(box.length * this.scale, 2.2 * smallest);
    const width = Math.max(box.width * this.scale, smallest);
    pen.save();
    pen.translate(px, py);
    pen.rotate(-box.yaw);
    return { length, width };
  }

  #object(pen, object, place) {
    const { length, width } = this.#box(pen, object, place, 3);
    pen.fillStyle = colour("--soft");
    pen.fillRect(-length / 2, -width / 2, length, width);
    pen.restore();
  }

  #vehicle(pen, vehicle, index, place, labels) {
    const { length, width } = this.#box(pen, vehicle, place, 7);
    pen.fillStyle = colourOf(index);
    pen.beginPath();
    pen.roundRect(-length / 2, -width / 2, length, width, width * 0.3);
    pen.fill();
    pen.fillStyle = colour("--card");
    pen.globalAlpha = 0.75;
    pen.beginPath(); // the windscreen says where the front is
    pen.roundRect(length * 0.1, -width * 0.36, length * 0.14, width * 0.72, width * 0.1);
    pen.fill();
    pen.globalAlpha = 1;
    if (vehicle.status === "fail-safe" || (vehicle.brake ?? 0) > 0.02) {
      pen.fillStyle = colour("--bad");
      const lamp = Math.max(2, length * 0.05);
      pen.fillRect(-length / 2 - lamp / 2, -width * 0.45, lamp, width * 0.3);
      pen.fillRect(-length / 2 - lamp / 2, width * 0.15, lamp, width * 0.3);
    }
    pen.restore();
    const [px, py] = place(vehicle.x, vehicle.y);
    const reach = Math.abs(Math.sin(vehicle.yaw)) * length + Math.abs(Math.cos(vehicle.yaw)) * width;
    labels.push([vehicle.name, px, py - reach / 2 - 8, colourOf(index)]);
  }

  // A line from the front bumper to what is next on the way, with the gap below it, where there is
  // room for that.
  #gaps(pen, vehicles, objects, place) {
    const known = new Map([...objects, ...vehicles].map((box) => [box.name, box]));
    pen.fillStyle = colour("--soft");
    pen.strokeStyle = colour("--soft");
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (const vehicle of vehicles) {
      const ahead = known.get(vehicle.ahead);
      if (!ahead || vehicle.gap === null || vehicle.gap <= 0) continue;
      const c = Math.cos(vehicle.yaw);
      const s = Math.sin(vehicle.yaw);
      const front = [vehicle.x + (c * vehicle.length) / 2, vehicle.y + (s * vehicle.length) / 2];
      const [ax, ay] = place(...front);
      const [bx, by] = place(...nearest(ahead, front));
      const room = Math.hypot(bx - ax, by - ay);
      if (room < 12) continue;
      pen.setLineDash([3, 4]);
      pen.beginPath();
      pen.moveTo(ax + (4 * (bx - ax)) / room, ay + (4 * (by - ay)) / room);
      pen.lineTo(bx - (4 * (bx - ax)) / room, by - (4 * (by - ay)) / room);
      pen.stroke();
      pen.setLineDash([]);
      if (room > 52) pen.fillText(`${vehicle.gap.toFixed(1)} m`, (ax + bx) / 2, (ay + by) / 2 + 7);
    }
  }

  // Names above the vehicles; those that would run into one before them are left out.
  #labels(pen, labels, width) {
    pen.textAlign = "center";
    pen.textBaseline = "alphabetic";
    const taken = [];
    for (const [text, x, y, ink] of labels) {
      const half = pen.measureText(text).width / 2 + 3;
      const middle = Math.min(Math.max(x, half), width - half);
      if (taken.some(([l, r, ty]) => middle - half < r && middle + half > l && Math.abs(ty - y) < 14))
        continue;
      taken.push([middle - half, middle + half, y]);
      pen.fillStyle = ink;
      pen.fillText(text, middle, y);
    }
  }
}

// Lines over simulated time. `series`: [{name, index, points: [[t, value or null], ...]}, ...].
export class LineChart {
  constructor(canvas, unit, atLeast) {
    this.canvas = canvas;
    this.unit = unit;
    this.atLeast = atLeast; // smallest range of values that is shown
    this.pointer = null;
    canvas.addEventListener("pointermove", (event) => {
      this.pointer = event.offsetX;
    });
    canvas.addEventListener("pointerleave", () => {
      this.pointer = null;
    });
  }

  draw(series, from, to) {
    const { pen, width, height } = prepared(this.canvas);
    const values = series.flatMap((s) => s.points.map((p) => p[1])).filter((v) => v !== null);
    if (!values.length || to <= from) return this.#nothing(pen, width, height);
    let low = Math.min(...values);
    let high = Math.max(...values);
    if (low > 0 && low < 0.6 * high) low = 0; // zero belongs to the picture unless it is far off
    const missing = this.atLeast - (high - low);
    if (missing > 0) {
      high += missing / 2;
      low = low >= 0 ? Math.max(0, low - missing / 2) : low - missing / 2;
    }
    const step = niceStep(high - low, 4);
    low = Math.floor(low / step) * step;
    high = Math.ceil(high / step) * step;
    const area = { left: 42, right: width - 10, top: 8, bottom: height - 22 };
    const x = (t) => area.left + ((t - from) / (to - from)) * (area.right - area.left);
    const y = (v) => area.bottom - ((v - low) / (high - low)) * (area.bottom - area.top);
    this.#axes(pen, area, { low, high, step, from, to, x, y });
    pen.lineWidth = 2;
    pen.lineJoin = "round";
    for (const { index, points } of series) {
      pen.strokeStyle = colourOf(index);
      pen.beginPath();
      let drawing = false;
      for (const [t, value] of points) {
        if (value === null || t < from) drawing = false;
        else if (drawing) pen.lineTo(x(t), y(value));
        else {
          pen.moveTo(x(t), y(value));
          drawing = true;
        }
      }
      pen.stroke();
    }
    this.#readout(pen, area, series, { from, to, x, y });
  }

  #nothing(pen, width, height) {
    pen.fillStyle = colour("--soft");
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText("nothing to show yet", width / 2, height / 2);
  }

  #axes(pen, area, { low, high, step, from, to, x, y }) {
    pen.strokeStyle = colour("--grid");
    pen.fillStyle = colour("--soft");
    pen.lineWidth = 1;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.beginPath();
    for (let v = low; v <= high + step / 2; v += step) {
      const line = Math.round(y(v)) + 0.5;
      pen.moveTo(area.left, line);
      pen.lineTo(area.right, line);
      pen.fillText(shown(v, step), area.left - 7, line);
    }
    pen.stroke();
    pen.textAlign = "center";
    pen.textBaseline = "top";
    const seconds = niceStep(to - from, 5);
    for (let t = Math.ceil(from / seconds) * seconds; t <= to; t += seconds) {
      const px = x(t);
      if (px < area.right - 8) pen.fillText(`${shown(t, seconds)} s`, px, area.bottom + 6);
    }
  }

  // Values below the pointer.
  #readout(pen, area, series, { from, to, x, y }) {
    if (this.pointer === null || this.pointer < area.left || this.pointer > area.right) return;
    const t = from + ((this.pointer - area.left) / (area.right - area.left)) * (to - from);
    const lines = [];
    for (const { name, index, points } of series) {
      const near = points.reduce(
        (best, p) => (p[1] !== null && Math.abs(p[0] - t) < Math.abs(best[0] - t) ? p : best),
        [Infinity, null],
      );
      if (near[1] === null) continue;
      lines.push([`${name} ${near[1].toFixed(2)} ${this.unit}`, index]);
      pen.fillStyle = colourOf(index);
      pen.beginPath();
      pen.arc(x(near[0]), y(near[1]), 3.5, 0, 2 * Math.PI);
      pen.fill();
    }
    if (!lines.length) return;
    pen.strokeStyle = colour("--soft");
    pen.beginPath();
    pen.moveTo(this.pointer, area.top);
    pen.lineTo(this.pointer, area.bottom);
    pen.stroke();
    const wide = Math.max(...lines.map(([text]) => pen.measureText(text).width)) + 16;
    const left = this.pointer + wide + 10 > area.right ? this.pointer - wide - 8 : this.pointer + 8;
    pen.fillStyle = colour("--card");
    pen.strokeStyle = colour("--grid");
    pen.beginPath();
    pen.roundRect(left, area.top, wide, lines.length * 17 + 9, 6);
    pen.fill();
    pen.stroke();
    pen.textAlign = "left";
    pen.textBaseline = "top";
    lines.forEach(([text, index], row) => {
      pen.fillStyle = colourOf(index);
      pen.fillText(text, left + 8, area.top + 7 + row * 17);
    });
  }
}

// Bars of the histogram of lateness, `classes`: [[upper bound in s or null, count], ...]. Their
// heights are logarithms, so that rare ones show.
export function drawHistogram(canvas, entries) {
  const { pen, width, height } = prepared(canvas);
  if (!entries.length) return;
  const total = entries.reduce((sum, [, count]) => sum + count, 0);
  const most = Math.max(...entries.map(([, count]) => count));
  const area = { left: 6, right: width - 6, top: 20, bottom: height - 22 };
  const slot = Math.min((area.right - area.left) / entries.length, 90);
  const start = (area.left + area.right - slot * entries.length) / 2;
  pen.textAlign = "center";
  const every = Math.max(1, Math.ceil(54 / slot)); // a label needs so much room
  const tallest = entries.findIndex(([, count]) => count === most);
  entries.forEach(([bound, count], place) => {
    const full = area.bottom - area.top;
    const tall = Math.max(2, (Math.log(count + 1) / Math.log(most + 1)) * full);
    const left = start + place * slot;
    pen.fillStyle = colour("--c0");
    pen.beginPath();
    pen.roundRect(left + 3, area.bottom - tall, slot - 6, tall, [4, 4, 0, 0]);
    pen.fill();
    pen.fillStyle = colour("--soft");
    if ((place - tallest) % every) return;
    pen.textBaseline = "bottom";
    const share = (100 * count) / total;
    pen.fillText(share < 0.1 ? "<0.1%" : `${share.toFixed(share < 10 ? 1 : 0)}%`,
      left + slot / 2, area.bottom - tall - 3);
    pen.textBaseline = "top";
    pen.fillText(limit(bound), left + slot / 2, area.bottom + 5);
  });
}

// An upper bound as people read it.
function limit(seconds) {
  if (seconds === null) return "later";
  const us = seconds * 1e6;
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 1e4) return `${(us / 1000).toFixed(1)} ms`;
  return us < 1e6 ? `${Math.round(us / 1000)} ms` : `${(us / 1e6).toFixed(1)} s`;
}
