// SPDX-License-Identifier: Apache-2.0
// Adds faults to a run while it goes on: at any port, of any kind that the port can have.

const element = (id) => document.getElementById(id);
// Key of a fault -> how a form asks for it.
const KEYS = {
  delay: { text: "delay [ms]", read: (input) => `${input.valueAsNumber} ms` },
  std: { text: "standard deviation", read: (input) => input.valueAsNumber },
  offset: { text: "offset", read: (input) => input.valueAsNumber },
  bit: { text: "bit, 0 to 63 (drawn)", read: (input) => input.valueAsNumber, optional: true },
};
const NUMERIC = ["noise", "bias", "bit_error"];

export class Faults {
  #known = { ports: [] };

  // ask: (path, body) -> promise of the answer; complain: shows a text, or none; done: one is added
  constructor(ask, complain, done) {
    this.ask = ask;
    this.complain = complain;
    this.done = done;
    element("fault-port").addEventListener("change", () => this.#choosePort());
    element("fault-kind").addEventListener("change", () => this.#chooseKind());
    element("fault-field").addEventListener("change", () => this.#chooseField());
    element("fault-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#add();
    });
  }

  // Show the ports of the run that is there now; returns whether there are any.
  async renew() {
    const known = await this.ask("api/faultable");
    this.#known = known.ports ? known : { ports: [] };
    options("fault-port", this.#known.ports.map(({ port, side }) => [`${port} (${side})`]));
    if (this.#known.ports.length) this.#choosePort();
    return this.#known.ports.length > 0;
  }

  #port() { return this.#known.ports[element("fault-port").selectedIndex]; }

  #choosePort() {
    options("fault-kind", this.#port().kinds.map((kind) => [kind.replace("_", " "), kind]));
    this.#chooseKind();
  }

  #chooseKind() {
    const kind = element("fault-kind").value;
    const keys = this.#known.keys[kind];
    const fields = Object.entries(this.#known.fields[this.#port().type] ?? {})
      .filter(([, type]) => !NUMERIC.includes(kind) || type === "number");
    options("fault-field", fields.map(([name]) => [name]));
    element("fault-field").parentElement.hidden = !keys.includes("field");
    const asked = keys.filter((key) => key in KEYS);
    element("fault-keys").replaceChildren(...asked.map((key) => number(key, KEYS[key])));
    this.#chooseField();
  }

  #chooseField() {
    const wanted = element("fault-kind").value === "replace";
    const list = this.#type() === "list";
    element("fault-value").parentElement.hidden = !wanted;
    element("fault-value").required = wanted;
    element("fault-value").readOnly = list;
    if (list) element("fault-value").value = "[]";
  }

  #type() { return this.#known.fields[this.#port().type]?.[element("fault-field").value]; }

  #value() {
    const text = element("fault-value").value;
    if (this.#type() === "text") return text;
    try {
      return JSON.parse(text);
    } catch {
      return text;  // the answer says what is allowed
    }
  }

  async #add() {
    const { port, side } = this.#port();
    const kind = element("fault-kind").value;
    const keys = this.#known.keys[kind];
    const fault = { port, side, kind };
    if (keys.includes("field")) fault.field = element("fault-field").value;
    if (keys.includes("value")) fault.value = this.#value();
    for (const input of element("fault-keys").querySelectorAll("input")) {
      if (input.value !== "") fault[input.dataset.key] = KEYS[input.dataset.key].read(input);
    }
    try {
      await this.ask("api/changes", { set: `faults.${element("fault-name").value}`, to: fault });
      this.complain("");
      element("fault-name").value = "";
      await this.done();
    } catch (error) {
      this.complain(error.message);
    }
  }
}

function options(id, found) {
  element(id).replaceChildren(...found.map(([text, value]) => new Option(text, value ?? text)));
}

function number(key, { text, optional }) {
  const label = document.createElement("label");
  const told = document.createElement("span");
  told.textContent = text;
  const input = document.createElement("input");
  input.type = "number";
  input.step = key === "bit" ? "1" : "any";
  input.required = !optional;
  input.dataset.key = key;
  label.append(told, input);
  return label;
}
