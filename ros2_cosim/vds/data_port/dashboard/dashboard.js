// SPDX-License-Identifier: Apache-2.0
// Asks the data port for the picture of the run again and again, shows it, and controls the run.

import { Cameras } from "./cameras.js";
import { colourOf } from "./canvas.js";
import { LiveChart, Together } from "./charts.js";
import { Drive } from "./drive.js";
import { Garage } from "./garage.js";
import { drawHistogram } from "./histogram.js";
import { known as number } from "./numbers.js";
import { Parameters } from "./parameters.js";
import { Player } from "./player.js";
import { Memory, Recording, isTraffic } from "./recording.js";
import { Stage } from "./stage.js";
import { Starter, attempt } from "./start.js";

const INTERVAL_MS = 50;
const RETRY_MS = 1000;
const HISTORY_S = 30; // simulated time that the charts show while the run goes on
const MOST_POINTS = 4000; // of a curve; more are thinned out
const APART_S = 0.1; // of two points
const CHART_MS = 200; // interval of drawing the charts
const HISTORY_MS = 60000; // a long past takes its time
const MOST_REMEMBERED = 60000; // vehicles in all pictures that are kept
const MOST_LISTED = 24; // of more vehicles charts and table show the followed one and the first
const FACTOR_MS = 2000; // the measured factor is that of the last two seconds

const element = (id) => document.getElementById(id);
const stage = new Stage(element("stage"));
const charts = {
  speed: new LiveChart(element("speeds"), "Speeds of the vehicles over time, in m/s", 5),
  gap: new LiveChart(element("gaps"), "Gaps ahead of the vehicles over time, in m", 5),
  acceleration: new LiveChart(
    element("accelerations"), "Accelerations of the vehicles over time, in m/s²", 2),
};
const REMEMBERED = Object.keys(charts);
const together = new Together(Object.values(charts));
const player = new Player(element("player"), showPast, { live: true, follow: () => showNow(true) });
const memory = new Memory(MOST_REMEMBERED);
const curves = new Map(); // vehicle -> {speed: [[t, v]], gap: [[t, v]], acceleration: [[t, v]]}
const passed = []; // [wall ms, simulated s, steps]
let recording = null; // what was before this page was opened
const sizes = {}; // of all that this page has seen: name -> length and width
let sectors = [];
let shownRun = null;
let newest = null; // the picture of the run as it is
let drawn = -Infinity; // when the charts were drawn [wall ms]
let episode = null; // of the world whose roads are shown

stage.find(".keys").innerHTML = `
  <span class="key" id="field-key" hidden><i class="field"></i>field of view</span>
  <span class="key" id="link-key" hidden><i class="link"></i>V2V<i class="link old"></i>older than 0.25 s</span>
  <span class="key" id="world-key" hidden><i class="dot"></i><span id="people">0</span> walkers,
    <span id="shapes">0</span> debug shapes</span>`;
together.seek = (time) => player.go(time);
together.enlarged = () => showCharts(true);
together.bounds = () => [player.begin, player.end];

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

async function ask(path, body, patience = 10000) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const options = { headers, cache: "no-store", signal: AbortSignal.timeout(patience) };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  }
  const response = await fetch(path, options);
  const data = await response.json();
  if (response.status !== 200) throw new Error(data.error ?? `status ${response.status}`);
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

function change(request) {
  return attempt(() => ask("api/run", request), complain);
}

const starter = new Starter(ask, complain);
const parameters = new Parameters(ask, complain);
const drive = new Drive(element("drive"), ask, complain);
const garage = new Garage(element("garage"), ask, complain);
drive.chosen = (vehicle) => garage.show(vehicle);

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

// What does not change.
async function recall() {
  const known = await ask("api/scene");
  stage.take(known);
  ({ sectors } = known);
  element("field-key").hidden = !sectors.length;
  if (known.starts) await starter.offer();
  drive.offer(known.driven);
  if (known.driven.length) await garage.show(drive.vehicle);
  recallPast().catch(() => {}); // what is seen from now on is shown in any case
}

// What was before this page was opened.
async function recallPast() {
  const found = new Recording({ ...await ask("api/history", undefined, HISTORY_MS), sizes });
  if (found.isEmpty) return;
  recording = found;
  for (const [name] of found.tracks.filter(([name]) => !isTraffic(name))) {
    const now = curves.get(name) ?? nothingYet();
    for (const key of REMEMBERED) {
      const before = now[key][0]?.[0] ?? Infinity;
      now[key].unshift(...found.series(name, key).filter(([time]) => time < before));
    }
    curves.set(name, now);
  }
  showCharts(true);
}

// Another run at the same address.
async function renew() {
  forget();
  episode = null;
  await recall();
  await parameters.renew();
}

function forget() {
  curves.clear();
  memory.forget();
  passed.length = 0;
  recording = null;
  together.stretch = null;
  player.goLive();
  stage.forget();
}

function nothingYet() {
  return Object.fromEntries(REMEMBERED.map((key) => [key, []]));
}

function remember(time, vehicles) {
  for (const vehicle of vehicles) {
    let points = curves.get(vehicle.name);
    if (!points) curves.set(vehicle.name, (points = nothingYet()));
    const last = points.speed.at(-1)?.[0] ?? -Infinity;
    if (time < last) for (const key of REMEMBERED) points[key].length = 0;
    else if (time - last < APART_S - 1e-9) continue;
    for (const key of REMEMBERED) {
      points[key].push([time, vehicle[key]]);
      if (points[key].length > MOST_POINTS)
        points[key] = points[key].filter((_, place) => place % 2 === 0);
    }
  }
}

// While the run is followed its last half minute, else all of it; or what was enlarged.
function showCharts(at_once = false) {
  const now = performance.now();
  if (!newest || (!at_once && now - drawn < CHART_MS)) return;
  drawn = now;
  const vehicles = listed(newest.vehicles).filter(({ name }) => curves.has(name));
  const first = Math.min(player.begin, newest.run.time_s);
  const end = Math.max(newest.run.time_s, first + 5);
  const [from, to] = together.stretch
    ?? (player.following ? [Math.max(first, end - HISTORY_S), end] : [first, end]);
  for (const [key, chart] of Object.entries(charts))
    chart.fill(vehicles.map(({ name }, index) => (
      { name, index, points: curves.get(name)[key] })), from, to);
  together.mark(player.following ? null : player.time);
  element("gaps").hidden = !vehicles.some((vehicle) => vehicle.gap !== null);
}

function showLeast(vehicles) {
  const found = vehicles.map((v) => v.gap).filter((gap) => gap !== null && gap !== undefined);
  setText("min-gap", found.length ? `${Math.min(...found).toFixed(1)} m` : "–");
  const times = vehicles.map((v) => v.ttc).filter((ttc) => ttc !== null && ttc !== undefined);
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
  element("no-vehicles").hidden = vehicles.length > 0;
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

function listed(vehicles) {
  if (vehicles.length <= MOST_LISTED) return vehicles;
  const first = vehicles.filter(({ name }) => name === stage.followed);
  return [...first, ...vehicles.filter((v) => !first.includes(v))].slice(0, MOST_LISTED);
}

async function showWorld(world) {
  element("world-key").hidden = !world?.people.length && !world?.shapes.length;
  stage.figure.classList.toggle("world", Boolean(world?.whole));
  if (!world) return;
  cameras.show(world.cameras);
  setText("people", String(world.people.length));
  setText("shapes", String(world.shapes.length));
  if (episode !== null && episode !== world.episode) {
    forget(); // another map
    stage.take(await ask("api/scene"));
  }
  episode = world.episode;
}

function show(picture) {
  if (newest && picture.run.time_s < newest.run.time_s) forget(); // it begins anew
  const { run, vehicles, objects, timing, world } = (newest = { ...picture, time: picture.run.time_s });
  showRun(run);
  showFactor(run);
  showTiming(timing);
  memory.add(run.time_s, newest);
  for (const { name, length, width } of [...vehicles, ...objects]) sizes[name] = [length, width];
  remember(run.time_s, listed(vehicles));
  player.range(Math.min(recording?.begin ?? Infinity, memory.begin), run.time_s);
  showWorld(world).catch((error) => complain(error.message));
  if (player.following) showNow();
  showCharts();
}

function showNow(at_once = false) {
  if (!newest) return;
  showScene(newest);
  if (at_once) showCharts(true);
}

// The scene as it was: what this page has seen, and before that what the run remembers.
function showPast(time) {
  const then = memory.at(time) ?? recording?.at(time);
  if (then) showScene(then);
  together.mark(time);
  showCharts();
}

function showScene(picture) {
  stage.draw(picture);
  element("link-key").hidden = !picture.links.length;
  showLeast(picture.vehicles);
  showTable(listed(picture.vehicles));
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

element("pause").addEventListener("click", () =>
  change({ action: shownRun?.state === "paused" ? "resume" : "pause" }));
element("step").addEventListener("click", () =>
  change({ action: "step", count: Number(element("count").value) }));
element("rate").addEventListener("change", () => {
  const value = element("rate").value;
  element("rate").blur();
  change({ action: "rate", rate: value === "max" ? null : Number(value) });
});
recall().then(() => parameters.renew()).catch((error) => complain(error.message)).then(watch);
