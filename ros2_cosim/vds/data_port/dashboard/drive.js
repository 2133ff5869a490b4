// SPDX-License-Identifier: Apache-2.0
// Drives a vehicle by hand: pedals, steering and gear by keys or by touch, over the data port.

import { clamp } from "./numbers.js";

const INTERVAL_MS = 40; // without commands for 100 ms the simulator brakes
const RISE = { throttle: 1.6, brake: 3, steer: 1.4 }; // per second while a key is held
const FALL = { throttle: 4, brake: 6, steer: 2.2 }; // and after it
const KEYS = {
  ArrowUp: "throttle", w: "throttle", ArrowDown: "brake", s: "brake",
  ArrowLeft: "left", a: "left", ArrowRight: "right", d: "right", " ": "handbrake",
};
const CARD = `
<div class="row">
  <button type="button" id="take" class="main" aria-pressed="false">Drive by hand</button>
  <label class="joined"><span>Vehicle</span><select id="driven"></select></label>
  <label class="joined"><span>Gear</span><select id="gear">
    <option value="1">forward</option><option value="0">neutral</option>
    <option value="-1">reverse</option></select></label>
</div>
<p id="drive-help">Throttle ▲ or W, brake ▼ or S, steering ◀ ▶ or A and D, hand brake: space.</p>
<div class="pedals" id="pedals" hidden>
  <button type="button" data-held="left" aria-label="Steer to the left">◀</button>
  <button type="button" data-held="brake">Brake</button>
  <button type="button" data-held="throttle">Throttle</button>
  <button type="button" data-held="right" aria-label="Steer to the right">▶</button>
  <label>Throttle <meter id="throttle-meter" min="0" max="1"></meter></label>
  <label>Brake <meter id="brake-meter" min="0" max="1"></meter></label>
  <label>Steering <meter id="steer-meter" min="-1" max="1"></meter></label>
  <output id="speed-told"></output>
</div>`;

const element = (id) => document.getElementById(id);

export class Drive {
  #held = new Set();
  #now = { throttle: 0, brake: 0, steer: 0 };
  #taken = false;
  #before = 0;
  #asking = false;

  // ask: (path, body) -> promise of the answer; complain: shows a text, or none
  constructor(place, ask, complain) {
    this.place = place;
    this.ask = ask;
    this.complain = complain;
    this.chosen = () => {}; // another vehicle is chosen
  }

  // Show the vehicles that can be driven, once.
  offer(names) {
    if (!names.length || this.place.childElementCount) return;
    this.place.innerHTML = CARD;
    this.place.hidden = false;
    element("driven").append(...names.map((name) => new Option(name)));
    element("driven").addEventListener("change", () => this.chosen(this.vehicle));
    element("take").addEventListener("click", () => this.#take(!this.#taken));
    for (const kind of ["keydown", "keyup"])
      document.addEventListener(kind, (event) => this.#key(event), { capture: true });
    for (const button of this.place.querySelectorAll("[data-held]")) {
      const held = button.dataset.held;
      button.addEventListener("pointerdown", (event) => {
        button.setPointerCapture(event.pointerId);
        this.#held.add(held);
      });
      for (const kind of ["pointerup", "pointercancel"])
        button.addEventListener(kind, () => this.#held.delete(held));
    }
    addEventListener("blur", () => this.#held.clear());
  }

  get vehicle() {
    return element("driven").value;
  }

  #take(on) {
    this.#taken = on;
    this.#held.clear();
    this.#now = { throttle: 0, brake: 0, steer: 0 };
    element("take").setAttribute("aria-pressed", String(on));
    element("take").textContent = on ? "Let go" : "Drive by hand";
    element("pedals").hidden = !on;
    this.#before = performance.now();
    if (on) this.#drive();
  }

  #key(event) {
    const held = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    const typing = event.target.closest?.("input, select, textarea");
    if (!this.#taken || !held || typing || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.type === "keydown") this.#held.add(held);
    else this.#held.delete(held);
  }

  // Pedals and wheel follow the keys as a foot and a hand would.
  #move(seconds) {
    const now = this.#now;
    for (const pedal of ["throttle", "brake"]) {
      const rate = this.#held.has(pedal) ? RISE[pedal] : -FALL[pedal];
      now[pedal] = clamp(now[pedal] + rate * seconds, 0, 1);
    }
    const wanted = Number(this.#held.has("left")) - Number(this.#held.has("right"));
    const rate = (wanted ? RISE.steer : FALL.steer) * seconds;
    now.steer = clamp(now.steer + clamp(wanted - now.steer, -rate, rate), -1, 1);
  }

  async #drive() {
    if (!this.#taken) return;
    const now = performance.now();
    this.#move(Math.min(now - this.#before, 200) / 1000);
    this.#before = now;
    for (const [name, value] of Object.entries(this.#now)) element(`${name}-meter`).value =
      name === "steer" ? -value : value;
    if (!this.#asking) this.#send();
    setTimeout(() => this.#drive(), INTERVAL_MS);
  }

  // One request at a time.
  async #send() {
    this.#asking = true;
    try {
      const { state } = await this.ask("api/io", {
        vehicle: this.vehicle, ...this.#now, gear: Number(element("gear").value),
        handbrake: this.#held.has("handbrake"),
      });
      element("speed-told").textContent = `${(3.6 * state.vx).toFixed(0)} km/h`;
      this.complain("");
    } catch (error) {
      this.complain(error.message);
      this.#take(false);
    } finally {
      this.#asking = false;
    }
  }
}
