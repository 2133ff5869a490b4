// SPDX-License-Identifier: Apache-2.0
// Draws what a world has besides vehicles: traffic lights, lamps, people, fields of view, shapes.

import { colour, sector } from "./canvas.js";

const SIGNALS = ["#e5382b", "#f2b01e", "#2fb24c", "#777777", "#777777"]; // red, yellow, green, off
const SHOWN_TEXTS = 60;

// Below the vehicles: fields of view of sensors, street lamps.
export function drawUnder(pen, world, place, scale) {
  for (const { x, y, yaw, angle, range } of world.fields) {
    const [px, py] = place(x, y);
    pen.fillStyle = pen.strokeStyle = colour("--accent");
    sector(pen, px, py, range * scale, yaw, angle, 0.08);
  }
  for (const [x, y, shines] of world.lamps) {
    const [px, py] = place(x, y);
    if (shines) {
      pen.fillStyle = "#f2b01e";
      pen.globalAlpha = 0.18;
      disc(pen, px, py, Math.max(4, 6 * scale));
      pen.globalAlpha = 1;
    } else pen.fillStyle = colour("--soft");
    disc(pen, px, py, Math.max(1, Math.min(2.5, 0.3 * scale)));
  }
}

// Above the vehicles: lights, people, shapes that clients have drawn.
export function drawOver(pen, world, place, scale) {
  for (const { x, y, state } of world.signals) {
    const [px, py] = place(x, y);
    const size = Math.max(3, Math.min(6, 0.8 * scale));
    pen.fillStyle = "#15181c";
    pen.fillRect(px - size - 1, py - size - 1, 2 * size + 2, 2 * size + 2);
    pen.fillStyle = SIGNALS[state] ?? SIGNALS[4];
    disc(pen, px, py, size);
  }
  pen.fillStyle = colour("--c3");
  for (const each of world.people) person(pen, each, place, scale);
  let texts = 0;
  for (const shape of world.shapes) {
    if (shape.kind !== "string" || texts++ < SHOWN_TEXTS) drawShape(pen, shape, place, scale);
  }
}

function drawShape(pen, { kind, points, size, text, colour: [red, green, blue] }, place, scale) {
  pen.fillStyle = pen.strokeStyle = `rgb(${red} ${green} ${blue})`;
  pen.lineWidth = Math.max(1.5, size * scale);
  const places = points.map(([x, y]) => place(x, y));
  const [px, py] = places[0];
  if (kind === "point") return disc(pen, px, py, Math.max(2, 0.5 * size * scale));
  if (kind === "string") {
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    return pen.fillText(text, px + 4, py);
  }
  pen.beginPath();
  for (const point of places) pen.lineTo(...point);
  if (kind === "box") pen.closePath();
  pen.stroke();
  if (kind !== "arrow") return;
  const [ex, ey] = places[1];
  const turn = Math.atan2(ey - py, ex - px);
  pen.beginPath();
  pen.moveTo(ex, ey);
  pen.lineTo(ex - 10 * Math.cos(turn - 0.4), ey - 10 * Math.sin(turn - 0.4));
  pen.lineTo(ex - 10 * Math.cos(turn + 0.4), ey - 10 * Math.sin(turn + 0.4));
  pen.fill();
}

// A walker, in the colour of the pen: a round head, and a line to where it goes.
export function person(pen, { x, y, yaw }, place, scale) {
  const [px, py] = place(x, y);
  const size = Math.max(2.5, 0.35 * scale);
  disc(pen, px, py, size);
  pen.strokeStyle = pen.fillStyle;
  pen.lineWidth = Math.max(1, size / 3);
  pen.beginPath();
  pen.moveTo(px, py);
  pen.lineTo(px + 1.9 * size * Math.cos(yaw), py - 1.9 * size * Math.sin(yaw));
  pen.stroke();
}

function disc(pen, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}
