// SPDX-License-Identifier: Apache-2.0
// Bars of the histogram of lateness, `classes`: [[upper bound in s or null, count], ...]. Their
// heights are logarithms, so that rare ones show.
import { colour, prepared } from "./canvas.js";

export function drawHistogram(canvas, entries) {
  const { pen, width, height } = prepared(canvas);
  if (!entries.length) {
    pen.fillStyle = colour("--soft");
    pen.textAlign = "center";
    pen.fillText("nothing to show yet", width / 2, height / 2);
    return;
  }
  const total = entries.reduce((sum, [, count]) => sum + count, 0);
  const most = Math.max(...entries.map(([, count]) => count));
  const area = { left: 6, right: width - 6, top: 20, bottom: height - 22 };
  const slot = Math.min((area.right - area.left) / entries.length, 90);
  const start = (area.left + area.right - slot * entries.length) / 2;
  pen.textAlign = "center";
  const every = Math.max(1, Math.ceil(54 / slot)); // a label needs so much room
  const tallest = entries.findIndex(([, count]) => count === most);
  entries.forEach(([bound, count], place) => {
    const full = area.bottom - area.top;
    const tall = Math.max(2, (Math.log(count + 1) / Math.log(most + 1)) * full);
    const left = start + place * slot;
    pen.fillStyle = colour("--c0");
    pen.beginPath();
    pen.roundRect(left + 3, area.bottom - tall, slot - 6, tall, [4, 4, 0, 0]);
    pen.fill();
    pen.fillStyle = colour("--soft");
    if ((place - tallest) % every) return;
    pen.textBaseline = "bottom";
    const share = (100 * count) / total;
    pen.fillText(share < 0.1 ? "<0.1%" : `${share.toFixed(share < 10 ? 1 : 0)}%`,
      left + slot / 2, area.bottom - tall - 3);
    pen.textBaseline = "top";
    pen.fillText(limit(bound), left + slot / 2, area.bottom + 5);
  });
}

// An upper bound as people read it.
function limit(seconds) {
  if (seconds === null) return "later";
  const us = seconds * 1e6;
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 1e4) return `${(us / 1000).toFixed(1)} ms`;
  return us < 1e6 ? `${Math.round(us / 1000)} ms` : `${(us / 1e6).toFixed(1)} s`;
}
