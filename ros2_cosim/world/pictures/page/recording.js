// SPDX-License-Identifier: Apache-2.0
// Where everything was at any time of a run, between the rows that are known of it.

const USUAL = [4.8, 1.9]; // length and width of what has none [m]
const LONGEST = 2; // what is not told of for longer is not there meanwhile [s], or than three rows

/** The number of entries up to a time. */
function upTo(rows, time) {
  let low = 0, high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle][0] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function isTraffic(name) {
  return name.startsWith("traffic ");
}

export class Recording {
  /**
   * `fields`: what a row has, `time_s` first; `vehicles`: name -> rows; `sizes`: name -> length and
   * width; `objects`: what does not move.
   */
  constructor({ fields, vehicles, sizes = {}, objects = [] }) {
    this.places = Object.fromEntries(fields.map((field, place) => [field, place]));
    this.tracks = Object.entries(vehicles).filter(([, rows]) => rows.length);
    this.sizes = sizes;
    this.objects = objects;
    const most = this.tracks.reduce((best, [, rows]) => (rows.length > best.length ? rows : best), []);
    const step = most.length > 1 ? (most.at(-1)[0] - most[0][0]) / (most.length - 1) : 0;
    this.longest = Math.max(LONGEST, 3 * step);
    this.begin = Math.min(...this.tracks.map(([, rows]) => rows[0][0]));
    this.end = Math.max(...this.tracks.map(([, rows]) => rows.at(-1)[0]));
  }

  get isEmpty() {
    return !this.tracks.length;
  }

  /** The scene at a time: vehicles, and what else there is. */
  at(time) {
    const vehicles = [], objects = [...this.objects];
    for (const [name, rows] of this.tracks) {
      const found = this.#between(rows, time);
      if (!found) continue;
      const [length, width] = this.sizes[name] ?? USUAL;
      (isTraffic(name) ? objects : vehicles).push({ name, length, width, ...found });
    }
    return { time, vehicles, objects, links: [] };
  }

  #between(rows, time) {
    const count = upTo(rows, time);
    const before = rows[count - 1] ?? rows[0], after = rows[count] ?? rows.at(-1);
    const apart = after[0] - before[0];
    if (apart > this.longest || time < before[0] - 0.5 || time > after[0] + 0.5) return null;
    const share = apart > 0 ? Math.min(Math.max((time - before[0]) / apart, 0), 1) : 0;
    const found = { status: "driven", throttle: null, steer: null };
    for (const [field, place] of Object.entries(this.places)) {
      const [a, b] = [before[place] ?? null, after[place] ?? null];
      found[field] = a === null || b === null ? a : a + share * (b - a);
    }
    const turn = after[this.places.yaw] - before[this.places.yaw];
    found.yaw = before[this.places.yaw] + share * Math.atan2(Math.sin(turn), Math.cos(turn));
    return found;
  }

  /** A field over time: [[t, value or null], ...]. */
  series(name, field) {
    const found = this.tracks.find(([known]) => known === name);
    return found ? found[1].map((row) => [row[0], row[this.places[field]]]) : [];
  }
}

/** Pictures of a run under way, thinned out as they become many. */
export class Memory {
  #rows = []; // [time, picture]
  #held = 0; // vehicles in all of them
  #apart = 0.05;

  constructor(most) {
    this.most = most;
  }

  forget() {
    this.#rows = [];
    this.#held = 0;
    this.#apart = 0.05;
  }

  add(time, picture) {
    const last = this.#rows.at(-1);
    if (last && time < last[0]) this.forget();
    else if (last && time - last[0] < this.#apart) return;
    this.#rows.push([time, picture]);
    this.#held += picture.vehicles.length + picture.objects.length;
    if (this.#held > this.most) this.#thin();
  }

  #thin() {
    this.#apart *= 2;
    this.#rows = this.#rows.filter((_, place) => place % 2 === 0);
    this.#held = this.#rows.reduce(
      (sum, [, { vehicles, objects }]) => sum + vehicles.length + objects.length, 0);
  }

  get begin() {
    return this.#rows.length ? this.#rows[0][0] : Infinity;
  }

  /** The picture that was there at a time; null: none was seen so early. */
  at(time) {
    const count = upTo(this.#rows, time + 1e-9);
    return count ? this.#rows[count - 1][1] : null;
  }
}
