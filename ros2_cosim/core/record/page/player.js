// SPDX-License-Identifier: Apache-2.0
// The slider over a whole run, with play, steps and speed; by pointer and by keys.

import { format } from "./numbers.js";

const SPEEDS = [0.25, 0.5, 1, 2, 5, 10];
const STEP = 0.1; // of the arrow keys [s]; with shift ten times as much
const TAKEN = "input, select, textarea, button, summary, a, figure.read";

function made(kind, attributes, ...content) {
  const found = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  found.append(...content);
  return found;
}

export class Player {
  /** `seek(time, byUser)` shows a time; with `live`, `follow()` returns to the newest time. */
  constructor(place, seek, { live = false, follow = () => {} } = {}) {
    this.seek = seek;
    this.follow = follow;
    this.time = this.begin = this.end = 0;
    this.playing = false;
    this.following = live;
    this.button = made("button", { type: "button", class: "play", "aria-label": "Play" }, "\u25b6");
    this.slider = made("input",
      { type: "range", min: 0, max: 1, step: "any", "aria-label": "Simulated time" });
    this.told = made("output", { class: "told" });
    this.speed = made("select", { "aria-label": "Speed" }, ...SPEEDS.map(
      (speed) => made("option", { value: speed }, `${speed} \u00d7`)));
    this.speed.value = "1";
    this.now = made("button", { type: "button" }, "Live");
    this.now.hidden = true;
    place.replaceChildren(this.button, this.slider, this.told, this.speed, this.now);
    this.live = live;
    this.button.addEventListener("click", () => this.toggle());
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.slider.addEventListener("keydown", (event) => this.#key(event));
    this.now.addEventListener("click", () => this.goLive());
    document.addEventListener("keydown", (event) => {
      if (!event.target.closest?.(TAKEN)) this.#key(event);
    });
  }

  /** The stretch that there is; while the end is followed, the slider is there. */
  range(begin, end) {
    if (begin === this.begin && end === this.end) return;
    [this.begin, this.end] = [begin, end];
    this.slider.min = begin;
    this.slider.max = end;
    if (this.following) this.#tell(end);
    else this.#tell(this.time);
  }

  /** Go to a time as the user wants; at the end of a run under way, follow it. */
  go(time) {
    const wanted = Math.min(Math.max(time, this.begin), this.end);
    if (this.live && wanted >= this.end - 1e-6 * (this.end - this.begin)) return this.goLive();
    this.following = false;
    this.now.hidden = !this.live;
    this.#tell(wanted);
    this.seek(wanted);
  }

  goLive() {
    this.#play(false);
    this.following = true;
    this.now.hidden = true;
    this.#tell(this.end);
    this.follow();
  }

  toggle() {
    this.#play(!this.playing);
  }

  #play(on) {
    this.playing = on;
    this.button.textContent = on ? "\u275a\u275a" : "\u25b6";
    this.button.setAttribute("aria-label", on ? "Hold" : "Play");
    if (!on) return;
    if (this.time >= this.end) this.go(this.begin);
    let before = performance.now();
    const frame = (now) => {
      if (!this.playing) return;
      const time = this.time + ((now - before) / 1000) * Number(this.speed.value);
      before = now;
      this.go(time);
      if (this.time >= this.end) this.#play(false);
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  #tell(time) {
    this.time = time;
    this.slider.value = time;
    const text = `${format(time, 1)} / ${format(this.end, 1)} s`;
    if (this.told.textContent !== text) {
      this.told.textContent = text;
      this.slider.setAttribute("aria-valuetext", `${format(time, 1)} s of ${format(this.end, 1)} s`);
    }
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const step = STEP * (event.shiftKey ? 10 : 1);
    const actions = {
      " ": () => this.toggle(),
      ArrowLeft: () => this.go(this.time - step),
      ArrowRight: () => this.go(this.time + step),
      Home: () => this.go(this.begin),
      End: () => this.go(this.end),
    };
    const action = actions[event.key];
    if (!action || this.slider.disabled) return;
    event.preventDefault();
    action();
  }
}
