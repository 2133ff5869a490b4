// SPDX-License-Identifier: Apache-2.0
// Adds faults to a run while it goes on: at any port, of any kind that the port can have.

const element = (id) => document.getElementById(id);
const NUMBERS = ["number", "integer", "duration"];

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
    const numeric = this.#known.numeric.includes(kind);
    const fields = Object.entries(this.#known.fields[this.#port().type] ?? {})
      .filter(([, type]) => !numeric || type === "number");
    options("fault-field", fields.map(([name]) => [name]));
    element("fault-field").parentElement.hidden = !("field" in keys);
    const asked = Object.entries(keys).filter(([key, { type }]) => key !== "field" && type !== "any");
    element("fault-keys").replaceChildren(...asked.map(([key, told]) => entry(key, told)));
    this.#chooseField();
  }

  #chooseField() {
    const wanted = this.#free() !== undefined;
    const list = this.#type() === "list";
    element("fault-value").parentElement.hidden = !wanted;
    element("fault-value").required = wanted;
    element("fault-value").readOnly = list;
    if (list) element("fault-value").value = "[]";
  }

  #type() { return this.#known.fields[this.#port().type]?.[element("fault-field").value]; }

  // The key whose value is of the type of the field; undefined: the kind has none.
  #free() {
    const keys = this.#known.keys[element("fault-kind").value];
    return Object.keys(keys).find((key) => keys[key].type === "any");
  }

  #value() {
    const text = element("fault-value").value;
    return this.#type() === "text" ? text : parsed(text);
  }

  async #add() {
    const { port, side } = this.#port();
    const kind = element("fault-kind").value;
    const keys = this.#known.keys[kind];
    const fault = { port, side, kind };
    if ("field" in keys) fault.field = element("fault-field").value;
    if (this.#free()) fault[this.#free()] = this.#value();
    for (const input of element("fault-keys").querySelectorAll("input")) {
      if (input.value !== "") fault[input.dataset.key] = read(input);
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

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;  // the answer says what is allowed
  }
}

function read(input) {
  const { type } = input.dataset;
  if (type === "duration") return `${input.valueAsNumber} ms`;
  return type === "string" ? input.value : parsed(input.value);
}

function entry(key, { type, text, required }) {
  const label = document.createElement("label");
  const told = document.createElement("span");
  told.textContent = type === "duration" ? `${key} [ms]` : key;
  label.title = text;
  const input = document.createElement("input");
  input.type = NUMBERS.includes(type) ? "number" : "text";
  input.step = type === "integer" ? "1" : "any";
  input.required = required;
  input.dataset.key = key;
  input.dataset.type = type;
  label.append(told, input);
  return label;
}
