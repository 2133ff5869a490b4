// SPDX-License-Identifier: Apache-2.0
// Chooses a scenario, changes numbers of it, starts and ends its run; where the port can do that.

const LOOK_MS = 1000; // interval of the question whether a run failed

const element = (id) => document.getElementById(id);
const OWN = ["seed", "duration"]; // numbers of the scenario itself

/** Do what a user asks for; `complain` shows why it is not possible. */
export async function attempt(action, complain) {
  try {
    await action();
    complain("");
  } catch (error) {
    complain(error.message);
  }
}

export class Starter {
  // ask: (path, body) -> promise of the answer; complain: shows a text, or none
  constructor(ask, complain) {
    this.ask = ask;
    this.complain = complain;
    this.offered = false;
    this.failure = "";
    element("start-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#try(() => this.#start());
    });
    element("stop").addEventListener("click", () => this.#try(() => ask("api/stop", {})));
    element("scenario").addEventListener("change", () => this.#try(() => this.#choose()));
    element("reset-values").addEventListener("click", () => this.#try(() => this.#choose()));
  }

  // Show the list, once.
  async offer() {
    if (this.offered) return;
    this.offered = true;
    const { scenarios } = await this.ask("api/scenarios");
    this.scenarios = new Map(scenarios.map((scenario) => [scenario.name, scenario]));
    for (const origin of ["folder", "library"]) {
      const group = document.createElement("optgroup");
      group.label = origin === "folder" ? "This folder" : "Library";
      for (const scenario of scenarios)
        if (scenario.origin === origin) group.append(new Option(scenario.name, scenario.name));
      if (group.children.length) element("scenario").append(group);
    }
    element("launcher").hidden = false;
    await this.#choose();
    this.#look();
  }

  // What can be done now.
  show(state) {
    const goes = state === "running" || state === "paused";
    element("start").disabled = goes;
    element("stop").disabled = !goes;
  }

  #try(action) {
    return attempt(action, this.complain);
  }

  async #choose() {
    const name = element("scenario").value;
    element("description").textContent = this.scenarios.get(name).description;
    element("values").replaceChildren();
    const { values } = await this.ask(`api/scenarios?name=${encodeURIComponent(name)}`);
    if (element("scenario").value !== name) return; // another one was chosen meanwhile
    const isOwn = ({ key, declared }) => declared || OWN.includes(key);
    element("values").replaceChildren(...values.filter(isOwn).map((value) => this.#field(value)));
    const others = values.filter((value) => !isOwn(value));
    element("other-values").replaceChildren(...others.map((value) => this.#field(value)));
    element("others").hidden = !others.length;
  }

  #field({ key, value, declared }) {
    const label = document.createElement("label");
    const text = document.createElement("span");
    text.textContent = (declared ? key.replace("parameters.", "") : key.replace(
      /^participants\.(.*?)\.parameters\./, "$1: ")) + (key === "duration" ? " [s]" : "");
    const input = document.createElement("input");
    input.dataset.key = key;
    if (typeof value === "boolean") {
      input.type = "checkbox";
      input.checked = input.defaultChecked = value;
    } else {
      input.type = "number";
      input.step = "any";
      input.required = true;
      input.value = input.defaultValue = String(value);
    }
    label.append(text, input);
    return label;
  }

  async #start() {
    const changed = {};
    for (const input of document.querySelectorAll("#start-form input[data-key]")) {
      if (input.type === "checkbox" && input.checked !== input.defaultChecked)
        changed[input.dataset.key] = input.checked;
      if (input.type === "number" && input.value !== input.defaultValue)
        changed[input.dataset.key] = input.valueAsNumber;
    }
    element("start").disabled = true;
    this.failure = "";
    try {
      await this.ask("api/start", { scenario: element("scenario").value, values: changed });
    } catch (error) {
      element("start").disabled = false;
      throw error;
    }
  }

  // A run that fails while it comes up is never shown.
  async #look() {
    try {
      const { failure, busy } = await this.ask("api/start");
      if (failure && failure !== this.failure) this.complain(failure);
      this.failure = failure;
      if (!busy) element("start").disabled = false;
    } catch {
      // The page says that nothing answers.
    }
    setTimeout(() => this.#look(), LOOK_MS);
  }
}
