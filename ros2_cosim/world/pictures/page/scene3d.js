// SPDX-License-Identifier: Apache-2.0
// The run from behind and above: road, vehicles and objects as solids, projected onto a canvas.

import { colour, colourOf, prepared } from "./canvas.js";
import { clamp } from "./numbers.js";
import { isTraffic } from "./recording.js";
import { isBraking, PERSON, written } from "./scene.js";

const NEAREST = 0.5; // what is nearer to the eye is cut off [m]
const WIDE = 1.6; // the view opens at most so far from side to side [rad],
const HIGH = 0.9; // and from top to bottom
const FAR = 400; // lines of the road are drawn as far as this from the middle [m]
const LOWEST = 0.08; // the eye stays above the ground, and does not pass the zenith [rad]
const HIGHEST = 1.5;
const TALL_FROM = 6.5; // longer vehicles are lorries and buses: a single box [m]
const ARC = 12; // pieces of the far side of a field of view

// Where the way from a place behind the eye to one ahead of it comes into view.
function cut(behind, ahead) {
  const part = (NEAREST - behind[2]) / (ahead[2] - behind[2]);
  return behind.map((value, axis) => value + part * (ahead[axis] - value));
}

// The eight corners of a box: first those below, then those above.
function corners(box, from, to, width, low, high) {
  const c = Math.cos(box.yaw);
  const s = Math.sin(box.yaw);
  const found = [];
  for (const z of [low, high])
    for (const [along, aside] of [[from, -width], [to, -width], [to, width], [from, width]])
      found.push([
        box.x + c * along * box.length - (s * aside * box.width) / 2,
        box.y + s * along * box.length + (c * aside * box.width) / 2,
        z,
      ]);
  return found;
}

// Corners of each face, against the clock as seen from outside, and how light it is.
const FACES = [
  [[4, 5, 6, 7], 1], // above
  [[0, 1, 5, 4], 0.8], // right
  [[2, 3, 7, 6], 0.8], // left
  [[1, 2, 6, 5], 0.65], // front
  [[3, 0, 4, 7], 0.65], // rear
];

function solids(vehicle) {
  if (vehicle.length < PERSON) return [corners(vehicle, -0.5, 0.5, 1, 0, 1.8)];
  if (vehicle.length > TALL_FROM) return [corners(vehicle, -0.5, 0.5, 1, 0.3, 3.2)];
  return [
    corners(vehicle, -0.5, 0.5, 1, 0.2, 0.85),
    corners(vehicle, -0.42, 0.22, 0.86, 0.85, 1.45),
  ];
}

// The two brake lamps, which stand out a little behind.
function lamps(vehicle) {
  const low = vehicle.length > TALL_FROM ? 0.6 : 0.55;
  const aside = (0.36 * vehicle.width);
  return [-aside, aside].map((shift) => corners({
    ...vehicle, width: 0.4,
    x: vehicle.x - Math.sin(vehicle.yaw) * shift,
    y: vehicle.y + Math.cos(vehicle.yaw) * shift,
  }, -0.5 - 0.06 / vehicle.length, -0.5, 1, low, low + 0.22));
}

export class Scene3D {
  constructor(canvas) {
    this.canvas = canvas;
    this.lines = [];
    this.surfaces = []; // with the middle and the reach of each
    this.sectors = []; // fields of view
    this.turned = 0; // from straight behind the first vehicle [rad]
    this.raised = 0.3;
    this.zoomed = 1;
    this.heading = null;
    this.followed = ""; // the vehicle that is looked at; else all of them
    this.changed = () => {}; // it looks from elsewhere
    this.#listen();
  }

  take({ surfaces, lines, sectors }) {
    this.lines = lines;
    this.sectors = sectors;
    this.surfaces = surfaces.map((points) => {
      const [x, y] = [0, 1].map((axis) =>
        points.reduce((sum, point) => sum + point[axis], 0) / points.length);
      const reach = points.reduce((most, p) => Math.max(most, Math.hypot(p[0] - x, p[1] - y)), 0);
      return { points, x, y, reach };
    });
  }

  // Around the vehicles, and up or down [rad].
  orbit(turn, raise) {
    this.turned += turn;
    this.raised = clamp(this.raised + raise, LOWEST, HIGHEST);
    this.changed();
  }

  // `factor` above 1 shows more.
  zoom(factor) {
    this.zoomed = clamp(this.zoomed * factor, 0.1, 10);
    this.changed();
  }

  #listen() {
    const canvas = this.canvas;
    canvas.tabIndex = 0;
    canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
    canvas.addEventListener("pointermove", (event) => {
      if (canvas.hasPointerCapture(event.pointerId))
        this.orbit(-event.movementX * 0.008, event.movementY * 0.006);
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY * 0.001));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const action = {
        "+": () => this.zoom(1 / 1.3), "-": () => this.zoom(1.3),
        a: () => this.orbit(-0.15, 0), d: () => this.orbit(0.15, 0),
        w: () => this.orbit(0, 0.1), s: () => this.orbit(0, -0.1),
      }[event.key];
      if (action && !event.ctrlKey) action();
    });
  }

  draw({ vehicles, objects, world = null }, ghosts = []) {
    const { pen, width, height } = prepared(this.canvas);
    const shown = [...vehicles, ...ghosts.flatMap((run) => run.vehicles)];
    if (!shown.length) return;
    const one = shown.filter(({ name }) => name === this.followed);
    this.#look(one.length ? one.slice(0, 1) : shown, width, height);
    pen.fillStyle = colour("--sky");
    pen.fillRect(0, 0, width, height);
    pen.fillStyle = colour("--ground");
    // Straight ahead at the height of the eye; above the picture if that looks down steeply.
    const horizon = Math.max(0, height / 2 - Math.tan(this.raised) * this.focal);
    pen.fillRect(0, horizon, width, height - horizon);
    this.#surfaces(pen);
    this.#road(pen);
    this.#views(pen, vehicles, ghosts.length);
    const plain = (box, high, ink) => ({
      box, parts: [corners(box, -0.5, 0.5, 1, 0, high)], ink: colour(ink) });
    const bodies = [
      ...(world?.people ?? []).map((box) => plain(box, 1.8, "--c3")),
      // Background traffic comes as objects, by its names.
      ...objects.map((box) => (isTraffic(box.name)
        ? { box, parts: solids(box), ink: colour("--traffic") } : plain(box, 1.1, "--soft"))),
      ...ghosts.flatMap((run) => run.vehicles.map((box) => ({
        box, parts: solids(box), ink: colourOf(run.index), opacity: 0.45 }))),
      ...vehicles.map((box, index) => ({
        box, parts: solids(box), ink: colourOf(ghosts.length ? 0 : index),
        lamps: isBraking(box) ? lamps(box) : [] })),
    ];
    // Those behind first: what is nearer is painted over them.
    const distance = ({ box }) => Math.hypot(box.x - this.eye[0], box.y - this.eye[1]);
    bodies.sort((a, b) => distance(b) - distance(a));
    for (const { parts, ink, opacity = 1, lamps: lit = [] } of bodies) {
      pen.globalAlpha = opacity;
      for (const part of parts) this.#solid(pen, part, ink);
      for (const lamp of lit) this.#solid(pen, lamp, colour("--lamp"), true);
      pen.globalAlpha = 1;
    }
    this.#names(pen, vehicles, ghosts.length);
  }

  // Behind the first vehicle, so far away that all are in the picture.
  #look(vehicles, width, height) {
    const xs = vehicles.map((v) => v.x);
    const ys = vehicles.map((v) => v.y);
    const middle = (values) => (Math.max(...values) + Math.min(...values)) / 2;
    const span = Math.hypot(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys));
    this.focal = Math.max(width / 2 / Math.tan(WIDE / 2), height / 2 / Math.tan(HIGH / 2));
    const away = Math.max(16, 0.9 * span + 6) * this.zoomed; // the last one is in the picture, too
    const goal = vehicles[0].yaw;
    // The eye follows the road softly: a turn of the vehicle must not throw the picture about.
    const off = this.heading === null ? 0 : Math.atan2(
      Math.sin(goal - this.heading), Math.cos(goal - this.heading));
    this.heading = this.heading === null ? goal : this.heading + 0.1 * off;
    const azimuth = this.heading + this.turned;
    const [c, s] = [Math.cos(azimuth), Math.sin(azimuth)];
    const [up, flat] = [Math.sin(this.raised), Math.cos(this.raised)];
    this.target = [middle(xs), middle(ys), 0.5];
    this.eye = [this.target[0] - away * flat * c, this.target[1] - away * flat * s, 0.5 + away * up];
    this.forward = [flat * c, flat * s, -up];
    this.right = [s, -c, 0];
    this.above = [up * c, up * s, flat];
    this.half = [width / 2, height / 2];
  }

  // Place in the eye's frame: to the right, up, and ahead [m].
  #seen(point) {
    const d = point.map((value, axis) => value - this.eye[axis]);
    const dot = (v) => v[0] * d[0] + v[1] * d[1] + v[2] * d[2];
    return [dot(this.right), dot(this.above), dot(this.forward)];
  }

  #pixel([right, up, ahead]) {
    return [this.half[0] + (this.focal * right) / ahead, this.half[1] - (this.focal * up) / ahead];
  }

  #road(pen) {
    pen.strokeStyle = colour("--marking");
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const points of this.lines) {
      let before = null;
      for (const [x, y] of points) {
        const near = Math.hypot(x - this.target[0], y - this.target[1]) < FAR;
        const now = near ? this.#seen([x, y, 0]) : null;
        if (before && now) this.#segment(pen, before, now);
        before = now;
      }
    }
    pen.stroke();
  }

  // The filled roads that are near enough.
  #surfaces(pen) {
    pen.fillStyle = colour("--road");
    pen.beginPath();
    for (const { points, x, y, reach } of this.surfaces)
      if (Math.hypot(x - this.target[0], y - this.target[1]) <= FAR + reach) this.#area(pen, points);
    pen.fill();
  }

  // What sensors see, on the ground: from the front bumpers of their vehicles.
  #views(pen, vehicles, ghosts) {
    for (const { vehicle, angle, range } of this.sectors) {
      const index = vehicles.findIndex(({ name }) => name === vehicle);
      if (index < 0) continue;
      const { x, y, yaw, length } = vehicles[index];
      const front = [x + (Math.cos(yaw) * length) / 2, y + (Math.sin(yaw) * length) / 2];
      const points = [front];
      for (let piece = 0; piece <= ARC; piece++) {
        const way = yaw + angle * (piece / ARC - 0.5);
        points.push([front[0] + range * Math.cos(way), front[1] + range * Math.sin(way)]);
      }
      pen.fillStyle = colourOf(ghosts ? 0 : index);
      pen.globalAlpha = 0.12;
      pen.beginPath();
      this.#area(pen, points);
      pen.fill();
      pen.globalAlpha = 1;
    }
  }

  // The path of an area on the ground, without what lies behind the eye.
  #area(pen, points) {
    let before = this.#seen([...points.at(-1), 0]);
    let begun = false;
    const corner = (place) => {
      if (begun) pen.lineTo(...this.#pixel(place));
      else pen.moveTo(...this.#pixel(place));
      begun = true;
    };
    for (const point of points) {
      const now = this.#seen([...point, 0]);
      if ((before[2] < NEAREST) !== (now[2] < NEAREST))
        corner(before[2] < NEAREST ? cut(before, now) : cut(now, before));
      if (now[2] >= NEAREST) corner(now);
      before = now;
    }
  }

  // A line from place to place, without what lies behind the eye.
  #segment(pen, a, b) {
    if (a[2] < NEAREST && b[2] < NEAREST) return;
    const from = a[2] < NEAREST ? cut(a, b) : a;
    const to = b[2] < NEAREST ? cut(b, a) : b;
    pen.moveTo(...this.#pixel(from));
    pen.lineTo(...this.#pixel(to));
  }

  #solid(pen, part, ink, shines = false) {
    const seen = part.map((corner) => this.#seen(corner));
    if (seen.some((place) => place[2] < NEAREST)) return;
    const flat = seen.map((place) => this.#pixel(place));
    for (const [face, light] of FACES) {
      const [a, b, c] = face.map((corner) => flat[corner]);
      // The faces on the far side run with the clock.
      if ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) >= 0) continue;
      pen.beginPath();
      for (const corner of face) pen.lineTo(...flat[corner]);
      pen.closePath();
      pen.fillStyle = ink;
      pen.fill();
      if (shines) continue;
      pen.fillStyle = `rgba(0, 0, 0, ${1 - light})`;
      pen.fill();
    }
  }

  #names(pen, vehicles, ghosts) {
    pen.textAlign = "center";
    pen.textBaseline = "bottom";
    vehicles.forEach((vehicle, index) => {
      const high = vehicle.length > TALL_FROM ? 3.9 : 2.2;
      const place = this.#seen([vehicle.x, vehicle.y, high]);
      if (place[2] < NEAREST) return;
      written(pen, vehicle.name, ...this.#pixel(place), colourOf(ghosts ? 0 : index));
    });
  }
}
