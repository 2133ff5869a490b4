// SPDX-License-Identifier: Apache-2.0
// Asks the data port for the picture of the run again and again, shows it, and controls the run.

import { colourOf } from "./canvas.js";
import { LineChart, Scene, drawHistogram, fixed } from "./drawing.js";
import { Scene3D } from "./scene3d.js";
import { Parameters } from "./parameters.js";
import { Starter } from "./start.js";
import { Cameras } from "./world.js";

const INTERVAL_MS = 50;
const RETRY_MS = 1000;
const HISTORY_S = 30; // simulated time that the charts show
const MOST_POINTS = 1500;
const MOST_LISTED = 24; // of more vehicles charts and table show the followed one and the first
const FACTOR_MS = 2000; // the measured factor is that of the last two seconds

const element = (id) => document.getElementById(id);
const scene = new Scene(element("scene"), element("scale"));
const solid = new Scene3D(element("solid"));
const speeds = new LineChart(element("speeds"), "m/s", 5);
const gaps = new LineChart(element("gaps"), "m", 5);
const accelerations = new LineChart(element("accelerations"), "m/s²", 2);
const REMEMBERED = ["speed", "gap", "acceleration"];
const history = new Map(); // vehicle -> {speed: [[t, v]], gap: [[t, v]], acceleration: [[t, v]]}
const passed = []; // [wall ms, simulated s, steps]
let shownRun = null;
let shownPicture = null;
let episode = null; // of the world whose roads are shown

const token = takeToken();
const cameras = new Cameras(element("cameras"), askImage);

// A token comes behind # of the address, so that it is in no log; it stays with this tab.
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    window.history.replaceState(null, "", location.pathname);
  }
  return given ?? sessionStorage.getItem("token");
}

async function ask(path, body) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const options = { headers, cache: "no-store", signal: AbortSignal.timeout(10000) };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  }
  const response = await fetch(path, options);
  const data = await response.json();
  if (!response.ok) throw new Error(data.error ?? `status ${response.status}`);
  return data;
}

async function askImage(camera) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = await fetch(`api/camera?id=${camera}`, { headers, cache: "no-store" });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.blob();
}

function complain(text) {
  element("message").textContent = text;
  element("message").hidden = !text;
}

async function change(request) {
  try {
    await ask("api/run", request);
    complain("");
  } catch (error) {
    complain(error.message);
  }
}

const starter = new Starter(ask, complain);
const parameters = new Parameters(ask, complain);

function number(value, decimals, unit = "") {
  return value === null || value === undefined ? "–" : `${fixed(value, decimals)}${unit}`;
}

function setText(id, text) {
  const place = element(id);
  if (place.textContent !== text) place.textContent = text;
}

function showRun(run) {
  setText("name", run.name);
  document.title = `${run.name} · ${run.state}`;
  document.querySelector("main").classList.toggle("idle", run.state === "idle");
  setText("state", run.state);
  element("state").className = `badge ${run.state}`;
  setText("time", `${run.time_s.toFixed(2)} s`);
  setText("steps", String(run.steps));
  setText("pause", run.state === "paused" ? "Resume" : "Pause");
  const over = run.state === "ended" || run.state === "idle";
  element("pause").disabled = over || !run.may_pause;
  element("step").disabled = over || !run.may_pause;
  element("rate").disabled = over || !run.may_change_rate;
  showRate(run.rate);
  starter.show(run.state);
  shownRun = run;
}

function showRate(rate) {
  const select = element("rate");
  if (document.activeElement === select) return; // the user is choosing
  const value = rate === null ? "max" : String(rate);
  if (![...select.options].some((option) => option.value === value))
    select.add(new Option(`${rate} ×`, value));
  select.value = value;
}

function showFactor(run) {
  const now = performance.now();
  const last = passed.at(-1);
  if (last && run.steps < last[2]) passed.length = 0;
  passed.push([now, run.time_s, run.steps]);
  while (now - passed[0][0] > FACTOR_MS) passed.shift();
  const [wall, simulated] = passed[0];
  const factor = now - wall > 300 ? (1000 * (run.time_s - simulated)) / (now - wall) : null;
  setText("factor", run.state === "running" ? number(factor, 2, " ×") : "–");
}

function showTiming(timing) {
  for (const part of document.querySelectorAll(".timing")) part.hidden = !timing;
  if (!timing) return;
  const late = timing.lateness_us.mean;
  setText("late", late < 1000 ? `${late.toFixed(0)} µs` : `${(late / 1000).toFixed(1)} ms`);
  setText("overruns", String(timing.overruns));
  element("overruns").parentElement.classList.toggle("bad-value", timing.overruns > 0);
  drawHistogram(element("timing"), timing.lateness_classes);
}

function nothingYet() {
  return Object.fromEntries(REMEMBERED.map((key) => [key, []]));
}

// What does not change, and what was before this page was opened.
async function recall() {
  const known = await ask("api/scene");
  scene.take(known);
  solid.take(known);
  element("field-key").hidden = !known.sectors.length;
  if (known.starts) await starter.offer();
  const { fields, vehicles } = await ask("api/history");
  for (const [name, rows] of Object.entries(vehicles)) {
    const known = nothingYet();
    for (const key of REMEMBERED)
      known[key] = rows.map((row) => [row[0], row[fields.indexOf(key)]]);
    if (rows.length) history.set(name, known);
  }
}

// Another run at the same address.
async function renew() {
  history.clear();
  passed.length = 0;
  episode = null;
  scene.forget();
  await recall();
  await parameters.renew();
}

function remember(run, vehicles) {
  for (const vehicle of vehicles) {
    let known = history.get(vehicle.name);
    if (!known) history.set(vehicle.name, (known = nothingYet()));
    const last = known.speed.at(-1);
    if (last && run.time_s < last[0]) for (const key of REMEMBERED) known[key].length = 0;
    else if (last && run.time_s === last[0]) continue;
    for (const key of REMEMBERED) {
      known[key].push([run.time_s, vehicle[key]]);
      while (known[key].length > MOST_POINTS || known[key][0][0] < run.time_s - HISTORY_S - 1)
        known[key].shift();
    }
  }
}

function showCharts(run, vehicles) {
  if (!vehicles.length) return;
  const first = Math.min(...vehicles.map(({ name }) => history.get(name).speed[0][0]));
  const to = Math.max(run.time_s, first + 5);
  const from = Math.max(first, to - HISTORY_S);
  const series = (key) =>
    vehicles.map(({ name }, index) => ({ name, index, points: history.get(name)[key] }));
  speeds.draw(series("speed"), from, to);
  accelerations.draw(series("acceleration"), from, to);
  element("gap-figure").hidden = !vehicles.some((v) => v.gap !== null);
  if (!element("gap-figure").hidden) gaps.draw(series("gap"), from, to);
  const found = vehicles.map((v) => v.gap).filter((gap) => gap !== null);
  setText("min-gap", found.length ? `${Math.min(...found).toFixed(1)} m` : "–");
  const times = vehicles.map((v) => v.ttc).filter((ttc) => ttc !== null);
  setText("min-ttc", times.length ? `${Math.min(...times).toFixed(1)} s` : "–");
}

function rowOf(index) {
  const row = document.createElement("tr");
  row.innerHTML =
    '<th scope="row"><span class="swatch"></span><span></span></th><td><span class="badge"></span></td>' +
    '<td class="number"></td><td class="number"></td><td class="number"></td><td class="number"></td>' +
    '<td><span class="bar"><i></i></span><span class="percent"></span></td>' +
    '<td><span class="bar brake"><i></i></span><span class="percent"></span></td>' +
    '<td class="number"></td>';
  row.querySelector(".swatch").dataset.index = index;
  return row;
}

function showTable(vehicles) {
  const body = element("vehicles");
  while (body.rows.length > vehicles.length) body.deleteRow(-1);
  vehicles.forEach((vehicle, index) => {
    const row = body.rows[index] ?? body.appendChild(rowOf(index));
    const [name, state, speed, acceleration, gap, ttc, throttle, brake, steer] = row.cells;
    name.firstChild.style.background = colourOf(index);
    name.lastChild.textContent = vehicle.name;
    state.firstChild.textContent = vehicle.status;
    state.firstChild.className = `badge ${vehicle.status.replace(/\W+/g, "-")}`;
    speed.textContent = number(vehicle.speed, 2, " m/s");
    acceleration.textContent = number(vehicle.acceleration, 2, " m/s²");
    gap.textContent = number(vehicle.gap, 2, " m");
    ttc.textContent = number(vehicle.ttc, 1, " s");
    for (const [cell, value] of [[throttle, vehicle.throttle], [brake, vehicle.brake]]) {
      cell.firstChild.firstChild.style.width = `${100 * (value ?? 0)}%`;
      cell.lastChild.textContent = number(value === null ? null : 100 * value, 0, " %");
    }
    const degrees = vehicle.steer === null ? null : (vehicle.steer * 180) / Math.PI;
    steer.textContent = number(degrees, 1, "°");
  });
}

// The vehicles to choose from; what is chosen stays, also while it is not there.
function showFollow(vehicles, world) {
  const select = element("follow");
  element("follow-choice").hidden = !world && vehicles.length < 2;
  if (document.activeElement === select) return; // the user is choosing
  const names = ["", ...vehicles.map(({ name }) => name)];
  if (scene.followed && !names.includes(scene.followed)) names.push(scene.followed);
  const shown = [...select.options].map(({ value }) => value);
  if (names.join("\n") === shown.join("\n")) return;
  select.replaceChildren(...names.map((name) => new Option(name || "all", name)));
  select.value = scene.followed;
}

function listed(vehicles) {
  if (vehicles.length <= MOST_LISTED) return vehicles;
  const first = vehicles.filter(({ name }) => name === scene.followed);
  return [...first, ...vehicles.filter((v) => !first.includes(v))].slice(0, MOST_LISTED);
}

async function showWorld(world) {
  element("world-key").hidden = !world;
  element("scene").parentElement.classList.toggle("world", Boolean(world?.whole));
  if (!world) return;
  cameras.show(world.cameras);
  setText("people", String(world.people.length));
  setText("shapes", String(world.shapes.length));
  if (episode !== null && episode !== world.episode) {
    episode = world.episode;
    history.clear();
    scene.trails.clear();
    const known = await ask("api/scene"); // another map
    scene.take(known);
    solid.take(known);
  }
  episode = world.episode;
}

function show(picture) {
  const { run, vehicles, objects, links, timing, world } = (shownPicture = picture);
  showRun(run);
  showFactor(run);
  showTiming(timing);
  const some = listed(vehicles);
  remember(run, some);
  showFollow(vehicles, world);
  if (isSolid()) solid.draw(vehicles, objects, world?.people, scene.followed);
  else scene.draw(vehicles, objects, links, world);
  element("link-key").hidden = isSolid() || !links.length;
  showWorld(world).catch((error) => complain(error.message));
  showCharts(run, some);
  showTable(some);
}

function isSolid() {
  return !element("solid").hidden;
}

// From above, or from behind: the one that is hidden is not drawn.
function choose(view) {
  const fromBehind = view === "solid";
  element("solid").hidden = !fromBehind;
  element("scene").hidden = fromBehind;
  element("scale").hidden = element("field-key").hidden = fromBehind;
  element("field-key").hidden ||= !scene.sectors.length;
  element("solid-view").setAttribute("aria-pressed", String(fromBehind));
  element("top-view").setAttribute("aria-pressed", String(!fromBehind));
  if (shownPicture) show(shownPicture);
}

function showOffline(error) {
  if (shownRun?.state === "ended") return; // it has said good-bye
  setText("state", "offline");
  element("state").className = "badge offline";
  for (const id of ["pause", "step", "rate"]) element(id).disabled = true;
  complain(shownRun ? `The run does not answer: ${error.message}` : error.message);
}

async function watch() {
  let wait = INTERVAL_MS;
  if (!document.hidden) {
    try {
      const picture = await ask("api/run");
      if (shownRun && picture.run.number !== shownRun.number) await renew();
      if (element("state").textContent === "offline") complain("");
      show(picture);
      document.body.dataset.steps = picture.run.steps;
    } catch (error) {
      showOffline(error);
      wait = RETRY_MS;
    }
  }
  setTimeout(watch, wait);
}

element("top-view").addEventListener("click", () => choose("top"));
element("solid-view").addEventListener("click", () => choose("solid"));
element("pause").addEventListener("click", () =>
  change({ action: shownRun?.state === "paused" ? "resume" : "pause" }));
element("step").addEventListener("click", () =>
  change({ action: "step", count: Number(element("count").value) }));
element("follow").addEventListener("change", () => {
  scene.followed = element("follow").value;
  scene.view = null;
  element("follow").blur();
});
element("scene").addEventListener("wheel", (event) => {
  event.preventDefault();
  scene.zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2);
}, { passive: false });
element("rate").addEventListener("change", () => {
  const value = element("rate").value;
  element("rate").blur();
  change({ action: "rate", rate: value === "max" ? null : Number(value) });
});
recall().then(() => parameters.renew()).catch((error) => complain(error.message)).then(watch);
