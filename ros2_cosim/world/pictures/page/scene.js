// SPDX-License-Identifier: Apache-2.0
// The scene from above: roads, markings, vehicles, people, what sensors see, in the colours of the
// style sheet.

import { colour, colourOf, prepared, sector } from "./canvas.js";
import { clamp, format, decimals, niceStep } from "./numbers.js";
import { isTraffic } from "./recording.js";
import { drawOver, drawUnder, person } from "./world.js";

const FOLLOWED_VIEW = 120; // m
const OLD_LINK_S = 0.25; // the oldest message that controllers use by default
const SMALL = 16; // shorter vehicles are drawn as arrows [px]
const BRAKES = -0.7; // without a brake pedal the lamps light up below that [m/s^2]
export const PERSON = 1.2; // road users that are shorter walk [m]
const TRAIL_S = 1; // a longer leap of time begins new trails
const MARKING = 0.15; // width of the lines on a road [m]

// The point of a box that is nearest to a place.
function nearest(box, [x, y]) {
  const c = Math.cos(box.yaw);
  const s = Math.sin(box.yaw);
  const within = (value, size) => clamp(value, -size / 2, size / 2);
  const along = within((x - box.x) * c + (y - box.y) * s, box.length);
  const across = within((y - box.y) * c - (x - box.x) * s, box.width);
  return [box.x + along * c - across * s, box.y + along * s + across * c];
}

export function isBraking({ brake, acceleration, status }) {
  if (status === "fail-safe") return true;
  return (brake ?? null) === null ? (acceleration ?? 0) < BRAKES : brake > 0.02;
}

// A text that reads on everything.
export function written(pen, text, x, y, ink) {
  pen.strokeStyle = colour("--card");
  pen.lineWidth = 3;
  pen.lineJoin = "round";
  pen.strokeText(text, x, y);
  pen.fillStyle = ink;
  pen.fillText(text, x, y);
}

// A path of all polygons or lines together, in metres.
function pathOf(shapes, closed) {
  const path = new Path2D();
  for (const points of shapes) {
    points.forEach(([x, y], place) => (place ? path.lineTo(x, y) : path.moveTo(x, y)));
    if (closed) path.closePath();
  }
  return path;
}

// Follows the vehicles; keeps its scale while they fit well, so that the picture stays calm.
export class Scene {
  constructor(canvas, scaleText) {
    this.canvas = canvas;
    this.scaleText = scaleText;
    this.centre = null;
    this.scale = 0;
    this.trails = new Map();
    this.time = null;
    this.sectors = [];
    this.followed = ""; // name of a vehicle, or all of them
    this.changed = () => {}; // it looks elsewhere
    this.take({ surfaces: [], lines: [], sectors: [] });
    this.#look();
    this.#listen();
  }

  // Another run begins.
  forget() {
    this.trails.clear();
    this.scale = 0;
  }

  // Surfaces and lines of the road, each a list of places; fields of view.
  take({ surfaces, lines, sectors }) {
    this.sectors = sectors;
    this.surface = pathOf(surfaces, true);
    this.markings = pathOf(lines, false);
    const all = [...surfaces, ...lines].flat();
    const range = (axis) => all.reduce(
      ([low, high], point) => [Math.min(low, point[axis]), Math.max(high, point[axis])],
      [Infinity, -Infinity]);
    this.bounds = all.length ? [range(0), range(1)] : [[-50, 50], [-50, 50]];
  }

  follow(name) {
    this.followed = name;
    this.#look();
  }

  #look() {
    this.view = null; // width of the picture [m]; null: as it fits
    this.moved = [0, 0]; // from the middle of what is shown [m]
  }

  #listen() {
    const canvas = this.canvas;
    canvas.tabIndex = 0;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(clamp(event.deltaY, -100, 100) * 0.002));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
    canvas.addEventListener("pointermove", (event) => {
      if (!canvas.hasPointerCapture(event.pointerId) || !this.scale) return;
      this.moved[0] -= event.movementX / this.scale;
      this.moved[1] += event.movementY / this.scale;
      this.changed();
    });
    canvas.addEventListener("dblclick", () => {
      this.#look();
      this.changed();
    });
    canvas.addEventListener("keydown", ({ key }) => {
      if (key === "+" || key === "-") this.zoom(key === "+" ? 1 / 1.3 : 1.3);
    });
  }

  // `factor` above 1 shows more.
  zoom(factor) {
    const shown = this.view ?? (this.scale ? this.canvas.clientWidth / this.scale : FOLLOWED_VIEW);
    this.view = clamp(shown * factor, 10, 20000);
    this.changed();
  }

  // `ghosts`: the same vehicles in other runs, [{vehicles, index}, ...]; each run has a colour then.
  draw({ time = null, vehicles, objects, links = [], world = null }, ghosts = []) {
    const { pen, width, height } = prepared(this.canvas);
    pen.fillStyle = colour("--ground");
    pen.fillRect(0, 0, width, height);
    const shown = [...vehicles, ...ghosts.flatMap((run) => run.vehicles)];
    if (!shown.length && !world?.whole) return this.#nothing(pen, width, height);
    this.#follow(shown, world, width, height);
    const place = (x, y) => [
      width / 2 + (x - this.centre[0]) * this.scale,
      height / 2 - (y - this.centre[1]) * this.scale,
    ];
    const ink = (index) => colourOf(ghosts.length ? 0 : index);
    this.#grid(pen, width, height, place);
    this.#road(pen, width, height);
    this.#views(pen, vehicles, place, ink);
    if (world) drawUnder(pen, world, place, this.scale);
    this.#trails(pen, vehicles, place, time, ink);
    for (const object of objects) this.#object(pen, object, place);
    for (const run of ghosts) for (const each of run.vehicles) this.#ghost(pen, each, run.index, place);
    const labels = [];
    vehicles.forEach((each, index) => this.#vehicle(pen, each, ink(index), place, labels));
    this.#gaps(pen, vehicles, objects, place);
    this.#links(pen, vehicles, links, place);
    if (world) drawOver(pen, world, place, this.scale);
    this.#labels(pen, labels, width);
  }

  #nothing(pen, width, height) {
    pen.fillStyle = colour("--soft");
    pen.textAlign = "center";
    pen.fillText("Vehicles are here as soon as they tell where they are.", width / 2, height / 2);
  }

  #follow(vehicles, world, width, height) {
    const followed = vehicles.find(({ name }) => name === this.followed);
    if (followed) {
      this.scale = width / (this.view ?? FOLLOWED_VIEW);
      this.centre = [followed.x, followed.y];
    } else if (world?.whole) this.#whole(width, height);
    else {
      const [xs, ys] = [vehicles.map((v) => v.x), vehicles.map((v) => v.y)];
      const spanX = Math.max(...xs) - Math.min(...xs) + 24;
      const spanY = Math.max(...ys) - Math.min(...ys) + 12;
      const fits = Math.min(width / spanX, height / spanY, 14);
      if (this.view) this.scale = width / this.view;
      else if (!this.scale || this.scale > fits || this.scale < 0.6 * fits) this.scale = 0.88 * fits;
      this.centre = [
        (Math.max(...xs) + Math.min(...xs)) / 2,
        (Math.max(...ys) + Math.min(...ys)) / 2,
      ];
    }
    this.centre = this.centre.map((value, axis) => value + this.moved[axis]);
  }

  // The whole map, and nearer if the user wants.
  #whole(width, height) {
    const [[left, right], [bottom, top]] = this.bounds;
    const fits = 0.95 * Math.min(width / (right - left), height / (top - bottom));
    this.scale = this.view ? width / this.view : fits;
    this.centre = [(left + right) / 2, (bottom + top) / 2];
  }

  #grid(pen, width, height, place) {
    const step = niceStep(width / this.scale, width < 600 ? 5 : 10);
    const shown = (value) => format(value, Math.min(decimals(step), 6));
    this.scaleText.textContent = `grid ${shown(step)} m`;
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
      if (px < width - 50) pen.fillText(shown(x), px + 4, height - 6);
    }
    for (let y = Math.ceil(bottom / step) * step; ; y += step) {
      const [, py] = place(0, y);
      if (py < 0) break;
      pen.moveTo(0, py);
      pen.lineTo(width, py);
    }
    pen.stroke();
  }

  #road(pen, width, height) {
    pen.save();
    pen.translate(width / 2, height / 2);
    pen.scale(this.scale, -this.scale);
    pen.translate(-this.centre[0], -this.centre[1]);
    pen.fillStyle = colour("--road");
    pen.fill(this.surface);
    pen.strokeStyle = colour("--marking");
    pen.lineWidth = Math.max(MARKING, 1 / this.scale);
    pen.globalAlpha = clamp(this.scale / 2, 0.35, 1); // of a whole map they are a hint
    pen.stroke(this.markings);
    pen.restore();
  }

  // What sensors see: sectors from the front bumpers of their vehicles.
  #views(pen, vehicles, place, ink) {
    for (const { vehicle, angle, range } of this.sectors) {
      const index = vehicles.findIndex(({ name }) => name === vehicle);
      if (index < 0) continue;
      const { x, y, yaw, length } = vehicles[index];
      const [px, py] = place(x + (Math.cos(yaw) * length) / 2, y + (Math.sin(yaw) * length) / 2);
      pen.fillStyle = pen.strokeStyle = ink(index);
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

  #trails(pen, vehicles, place, time, ink) {
    if (time !== null && this.time !== null && (time < this.time || time > this.time + TRAIL_S))
      this.trails.clear();
    this.time = time;
    vehicles.forEach((vehicle, index) => {
      const trail = this.trails.get(vehicle.name) ?? [];
      const last = trail.at(-1);
      if (last && Math.hypot(vehicle.x - last[0], vehicle.y - last[1]) > 50) trail.length = 0;
      if (!last || Math.hypot(vehicle.x - last[0], vehicle.y - last[1]) > 0.5) {
        trail.push([vehicle.x, vehicle.y]);
        if (trail.length > 160) trail.shift();
      }
      this.trails.set(vehicle.name, trail);
      pen.strokeStyle = ink(index);
      pen.globalAlpha = 0.35;
      pen.lineWidth = 2;
      pen.beginPath();
      for (const [x, y] of trail) pen.lineTo(...place(x, y));
      pen.lineTo(...place(vehicle.x, vehicle.y));
      pen.stroke();
      pen.globalAlpha = 1;
    });
  }

  // The pen in the frame of a box; the caller restores it.
  #box(pen, box, place, smallest) {
    const [px, py] = place(box.x, box.y);
    const length = Math.max(box.length * this.scale, 2.2 * smallest);
    const width = Math.max(box.width * this.scale, smallest);
    pen.save();
    pen.translate(px, py);
    pen.rotate(-box.yaw);
    return { length, width };
  }

  #body(pen, { length, width }) {
    pen.beginPath();
    if (length < SMALL) {
      pen.moveTo(length / 2 + 2, 0);
      pen.lineTo(-length / 2, -width / 2 - 1);
      pen.lineTo(-length / 4, 0);
      pen.lineTo(-length / 2, width / 2 + 1);
      pen.closePath();
    } else pen.roundRect(-length / 2, -width / 2, length, width, width * 0.3);
  }

  #object(pen, object, place) {
    const moves = isTraffic(object.name);
    pen.fillStyle = colour("--c3");
    if (moves && object.length < PERSON) return person(pen, object, place, this.scale);
    const size = this.#box(pen, object, place, 3);
    pen.fillStyle = colour(moves ? "--traffic" : "--soft");
    if (moves) this.#body(pen, size);
    else {
      pen.beginPath();
      pen.rect(-size.length / 2, -size.width / 2, size.length, size.width);
    }
    pen.fill();
    if (moves && size.length >= SMALL) this.#windscreen(pen, size);
    pen.restore();
  }

  #ghost(pen, vehicle, index, place) {
    const size = this.#box(pen, vehicle, place, 7);
    pen.strokeStyle = pen.fillStyle = colourOf(index);
    this.#body(pen, size);
    pen.globalAlpha = 0.2;
    pen.fill();
    pen.globalAlpha = 1;
    pen.lineWidth = 2;
    pen.stroke();
    pen.restore();
  }

  // It says where the front is.
  #windscreen(pen, { length, width }) {
    pen.fillStyle = colour("--card");
    pen.globalAlpha = 0.75;
    pen.beginPath();
    pen.roundRect(length * 0.1, -width * 0.36, length * 0.14, width * 0.72, width * 0.1);
    pen.fill();
    pen.globalAlpha = 1;
  }

  #vehicle(pen, vehicle, ink, place, labels) {
    const [px, py] = place(vehicle.x, vehicle.y);
    pen.fillStyle = ink;
    if (vehicle.length < PERSON) {
      person(pen, vehicle, place, this.scale);
      return labels.push([vehicle.name, px, py - 12, ink]);
    }
    const size = this.#box(pen, vehicle, place, 7);
    const { length, width } = size;
    this.#body(pen, size);
    pen.fill();
    if (length >= SMALL) this.#windscreen(pen, size);
    if (isBraking(vehicle)) {
      pen.fillStyle = colour("--lamp");
      const lamp = Math.max(2.5, length * 0.07);
      pen.fillRect(-length / 2 - lamp / 2, -width * 0.47, lamp, width * 0.34);
      pen.fillRect(-length / 2 - lamp / 2, width * 0.13, lamp, width * 0.34);
    }
    pen.restore();
    const reach = Math.abs(Math.sin(vehicle.yaw)) * length + Math.abs(Math.cos(vehicle.yaw)) * width;
    labels.push([vehicle.name, px, py - reach / 2 - 8, ink]);
  }

  // A line from the front bumper to what is next on the way, with the gap below it, where there is
  // room for that.
  #gaps(pen, vehicles, objects, place) {
    const known = new Map([...objects, ...vehicles].map((box) => [box.name, box]));
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
      pen.strokeStyle = colour("--fg");
      pen.lineWidth = 1;
      pen.setLineDash([3, 4]);
      pen.beginPath();
      pen.moveTo(ax + (4 * (bx - ax)) / room, ay + (4 * (by - ay)) / room);
      pen.lineTo(bx - (4 * (bx - ax)) / room, by - (4 * (by - ay)) / room);
      pen.stroke();
      pen.setLineDash([]);
      if (room > 52)
        written(pen, `${vehicle.gap.toFixed(1)} m`, (ax + bx) / 2, (ay + by) / 2 + 7, colour("--fg"));
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
      written(pen, text, middle, y, ink);
    }
  }
}
