// SPDX-License-Identifier: Apache-2.0
// What all that draws has in common: colours of the style sheet, canvases, fields of view.

const COLOURS = 8;

// Style sheets are asked once for each colour, until the user prefers others.
const inks = new Map();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => inks.clear());

export function colour(name) {
  if (!inks.has(name))
    inks.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return inks.get(name);
}

export function colourOf(index) {
  return colour(`--c${index % COLOURS}`);
}

// A canvas cleared and scaled to the pixels of the screen, in units of CSS pixels.
export function prepared(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  return { pen, width, height };
}

// A field of view: `angle` wide about the heading `yaw`.
export function sector(pen, x, y, radius, yaw, angle, opacity) {
  pen.lineWidth = 1;
  pen.beginPath();
  if (angle < 6.28) pen.moveTo(x, y);
  pen.arc(x, y, radius, -yaw - angle / 2, -yaw + angle / 2);
  pen.closePath();
  pen.globalAlpha = opacity;
  pen.fill();
  pen.globalAlpha = 0.35;
  pen.stroke();
  pen.globalAlpha = 1;
}
