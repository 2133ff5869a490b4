// SPDX-License-Identifier: Apache-2.0
// Changes parameters of a run while it goes on, switches its faults and adds new ones; where the
// port can do that.
import { Faults } from "./faults.js";

const element = (id) => document.getElementById(id);

export class Parameters {
  // ask: (path, body) -> promise of the answer; complain: shows a text, or none
  constructor(ask, complain) {
    this.ask = ask;
    this.complain = complain;
    this.faults = new Faults(ask, complain, () => this.#showValues());
    element("parameters-form").addEventListener("submit", (event) => event.preventDefault());
    element("parameters-form").addEventListener("change", (event) => this.#change(event.target));
  }

  // Show what may be changed in the run that is there now.
  async renew() {
    const shown = await this.#showValues();
    const faulty = await this.faults.renew();
    element("fault-form").hidden = !faulty;
    element("parameters-card").hidden = !shown && !faulty;
  }

  async #showValues() {
    const { changes } = await this.ask("api/changes");
    const plain = changes.filter(({ value }) => ["number", "boolean"].includes(typeof value));
    element("parameters").replaceChildren(...plain.map((change) => this.#field(change)));
    return plain.length > 0;
  }

  #field({ path, value }) {
    const label = document.createElement("label");
    const text = document.createElement("span");
    text.textContent = path.replace(/^participants\.(.*?)\.parameters\./, "$1: ")
      .replace(/^faults\.(.*)\.active$/, "fault $1");
    const input = document.createElement("input");
    input.dataset.path = path;
    if (typeof value === "boolean") {
      input.type = "checkbox";
      input.checked = value;
    } else {
      input.type = "number";
      input.step = "any";
      input.required = true;
      input.value = String(value);
    }
    label.append(text, input);
    return label;
  }

  async #change(input) {
    if (!input.reportValidity()) return;
    const to = input.type === "checkbox" ? input.checked : input.valueAsNumber;
    try {
      await this.ask("api/changes", { set: input.dataset.path, to });
      this.complain("");
    } catch (error) {
      this.complain(error.message);
      await this.#showValues();
    }
  }
}
