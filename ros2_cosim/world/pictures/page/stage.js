// SPDX-License-Identifier: Apache-2.0
// A scene that is looked at from above or in three dimensions, and its choices.

import { Scene } from "./scene.js";
import { Scene3D } from "./scene3d.js";

const VIEWS = `
<figcaption>
  <span class="view" role="group" aria-label="View">
    <button type="button" data-view="top" aria-pressed="true">Top view</button>
    <button type="button" data-view="solid" aria-pressed="false">3-D</button></span>
  <span class="view" role="group" aria-label="Zoom">
    <button type="button" data-zoom="0.77" aria-label="Nearer">+</button>
    <button type="button" data-zoom="1.3" aria-label="Farther">\u2212</button></span>
  <label class="key">follow <select class="follow"></select></label>
  <span class="keys"></span>
  <span class="scale"></span>
</figcaption>
<canvas class="top" role="img" aria-label="Vehicles from above"></canvas>
<canvas class="solid" role="img" hidden
  aria-label="Vehicles in 3-D; drag or the keys a, d, w and s turn, the wheel and + and - zoom"></canvas>`;

export class Stage {
  #shown = null;
  #ghosts = [];

  constructor(figure) {
    figure.innerHTML = VIEWS;
    this.find = (selector) => figure.querySelector(selector);
    this.figure = figure;
    this.select = this.find(".follow");
    this.flat = new Scene(this.find("canvas.top"), this.find(".scale"));
    this.solid = new Scene3D(this.find("canvas.solid"));
    for (const each of [this.flat, this.solid]) each.changed = () => this.#draw();
    figure.addEventListener("click", ({ target }) => {
      if (target.dataset.view) this.#choose(target.dataset.view);
      if (target.dataset.zoom) this.#now.zoom(Number(target.dataset.zoom));
    });
    this.select.addEventListener("change", () => {
      this.flat.follow(this.select.value);
      this.solid.followed = this.select.value;
      this.#draw();
    });
    addEventListener("resize", () => this.#draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
  }

  get isSolid() {
    return !this.find("canvas.solid").hidden;
  }

  get followed() {
    return this.flat.followed;
  }

  get #now() {
    return this.isSolid ? this.solid : this.flat;
  }

  take(road) {
    this.flat.take(road);
    this.solid.take(road);
  }

  forget() {
    this.flat.forget();
  }

  draw(shown, ghosts = []) {
    this.#shown = shown;
    this.#ghosts = ghosts;
    this.#offer([...shown.vehicles, ...ghosts.flatMap((run) => run.vehicles)], shown.world);
    this.#draw();
  }

  #draw() {
    if (this.#shown) this.#now.draw(this.#shown, this.#ghosts);
  }

  #choose(view) {
    this.find("canvas.solid").hidden = view !== "solid";
    this.find("canvas.top").hidden = view === "solid";
    this.find(".scale").hidden = this.find(".keys").hidden = view === "solid";
    for (const button of this.figure.querySelectorAll("[data-view]"))
      button.setAttribute("aria-pressed", String(button.dataset.view === view));
    this.#draw();
  }

  // The vehicles to choose from; what is chosen stays, also while it is not there.
  #offer(vehicles, world) {
    const { select } = this;
    const names = ["", ...new Set(vehicles.map(({ name }) => name))];
    select.parentElement.hidden = !world && names.length < 3;
    if (document.activeElement === select && select.options.length) return; // the user is choosing
    if (this.followed && !names.includes(this.followed)) names.push(this.followed);
    const shown = [...select.options].map(({ value }) => value);
    if (names.join("\n") === shown.join("\n")) return;
    select.replaceChildren(...names.map((name) => new Option(name || "all", name)));
    select.value = this.followed;
  }
}
