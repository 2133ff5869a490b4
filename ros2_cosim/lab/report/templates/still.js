// SPDX-License-Identifier: Apache-2.0
// A page that stands alone: its charts, the player of what moved, tables that are filtered.

import { readable } from "./charts.js";
import { Player } from "./player.js";
import { Recording } from "./recording.js";
import { Stage } from "./stage.js";
import { searchable } from "./tables.js";

const charts = readable();
const data = document.getElementById("played");
if (data) play(JSON.parse(data.textContent));
for (const table of document.querySelectorAll("table.searched")) searchable(table);
// Keys move a table that is wider than the page, too.
for (const card of document.querySelectorAll(".card"))
  if (card.scrollWidth > card.clientWidth) card.tabIndex = 0;

function play({ road, runs }) {
  const stage = new Stage(document.getElementById("stage"));
  stage.take(road);
  const recordings = runs.map((run) => new Recording(run));
  if (runs.length > 1) stage.find(".keys").append(...runs.map(({ label }, index) => key(label, index)));
  const player = new Player(document.getElementById("player"), show);
  player.range(Math.min(...recordings.map(({ begin }) => begin)),
    Math.max(...recordings.map(({ end }) => end)));
  if (charts) charts.seek = (time) => player.go(time);
  player.go(player.begin);

  function show(time) {
    const [first, ...others] = recordings.map((recording) => recording.at(time));
    stage.draw(first, others.map(({ vehicles }, number) => ({ vehicles, index: number + 1 })));
    charts?.mark(time);
  }
}

function key(label, index) {
  const made = document.createElement("span");
  made.className = "key";
  const mark = document.createElement("i");
  mark.style.background = `var(--c${index % 8})`;
  made.append(mark, label);
  return made;
}
