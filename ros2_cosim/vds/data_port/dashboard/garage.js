// SPDX-License-Identifier: Apache-2.0
// Forms for the vehicle file and the tyre file of a vehicle; what is changed acts at once.

import { attempt } from "./start.js";

const FORMS = `
<details><summary>Vehicle and tyre files</summary>
  <p class="note" id="garage-note"></p>
  <form id="garage-form">
    <div class="fields"><label><span>level</span><select id="garage-level"></select></label></div>
    <h2>Vehicle file</h2><div class="fields" id="vehicle-fields"></div>
    <h2>Tyre file</h2><div class="fields" id="tyre-fields"></div>
    <div class="row">
      <button type="submit" class="main">Apply</button>
      <button type="button" data-save="vehicle">Save vehicle file</button>
      <button type="button" data-save="tyre">Save tyre file</button>
      <label class="open">Open vehicle file <input type="file" data-open="vehicle" accept=".yaml,.yml"></label>
      <label class="open">Open tyre file <input type="file" data-open="tyre" accept=".yaml,.yml"></label>
    </div>
  </form>
</details>`;
const LONGEST = 12000; // characters of a file

const element = (id) => document.getElementById(id);

export class Garage {
  // ask: (path, body) -> promise of the answer; complain: shows a text, or none
  constructor(place, ask, complain) {
    this.place = place;
    this.ask = ask;
    this.complain = complain;
  }

  // Show the files of a vehicle.
  async show(vehicle) {
    this.vehicle = vehicle;
    if (!this.place.childElementCount) this.#build();
    await this.#try(async () =>
      this.#fill(await this.ask(`api/vehicle?vehicle=${encodeURIComponent(vehicle)}`)));
  }

  #build() {
    this.place.innerHTML = FORMS;
    this.place.hidden = false;
    element("garage-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#change({ level: element("garage-level").value,
        vehicle_file: this.#text("vehicle"), tyre_file: this.#text("tyre") });
    });
    this.place.addEventListener("click", ({ target }) => {
      if (target.dataset.save) this.#save(target.dataset.save);
    });
    this.place.addEventListener("change", ({ target }) => {
      if (target.dataset.open) this.#open(target.dataset.open, target);
    });
  }

  #fill(known) {
    element("garage-note").textContent = known.refusal
      ? `These are the values; nothing changes: ${known.refusal}.`
      : `What ${known.vehicle} is made of. A change keeps its position.`;
    element("garage-form").querySelector("[type=submit]").disabled = Boolean(known.refusal);
    choices(element("garage-level"), known.levels, known.level);
    const { kind, ...values } = known.vehicle_file;
    const kinds = document.createElement("select");
    kinds.dataset.key = "kind";
    choices(kinds, known.kinds, kind);
    const help = (key) => known.help[key] ?? "";
    element("vehicle-fields").replaceChildren(labelled("kind", kinds, "type of the vehicle"),
      ...Object.entries(values).flatMap(([key, value]) => (typeof value === "object"
        ? Object.entries(value).map(([inner, v]) => number(`${key}.${inner}`, v, help(inner)))
        : [number(key, value, help(key))])));
    element("tyre-fields").replaceChildren(...Object.entries(known.tyre_file).map(
      ([key, value]) => number(key, value, help(key))));
  }

  // The file that the form stands for.
  #text(which) {
    const lines = [], sections = {};
    for (const input of element(`${which}-fields`).querySelectorAll("[data-key]")) {
      const [section, inner] = input.dataset.key.split(".");
      if (inner) (sections[section] ??= []).push(`  ${inner}: ${input.value}`);
      else lines.push(`${section}: ${input.value}`);
    }
    for (const [section, found] of Object.entries(sections)) lines.push(`${section}:`, ...found);
    return `${lines.join("\n")}\n`;
  }

  #save(which) {
    const link = document.createElement("a");
    link.setAttribute("href", URL.createObjectURL(new Blob([this.#text(which)])));
    link.download = `${which}.yaml`;
    link.click();
  }

  async #open(which, input) {
    const [file] = input.files;
    if (!file) return;
    if (file.size > LONGEST) this.complain(`${file.name}: too long; allowed are ${LONGEST} bytes`);
    else await this.#change({ [`${which}_file`]: await file.text() });
    input.value = "";
  }

  async #change(files) {
    await this.#try(async () =>
      this.#fill(await this.ask("api/vehicle", { vehicle: this.vehicle, ...files })));
  }

  #try(action) {
    return attempt(action, this.complain);
  }
}

function choices(select, values, chosen) {
  select.replaceChildren(...values.map((value) => new Option(value)));
  select.value = chosen;
}

function labelled(key, input, help) {
  const label = document.createElement("label");
  label.title = help;
  const text = document.createElement("span");
  text.textContent = key;
  label.append(text, input);
  return label;
}

function number(key, value, help) {
  const input = document.createElement("input");
  input.type = "number";
  input.step = "any";
  input.required = true;
  input.dataset.key = key;
  input.value = input.defaultValue = String(value);
  return labelled(key, input, help);
}
