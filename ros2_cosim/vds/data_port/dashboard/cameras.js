// SPDX-License-Identifier: Apache-2.0
// The pictures of the cameras, one figure for each; `fetchImage(id)` gives a Blob.
import { prepared } from "./canvas.js";

export class Cameras {
  constructor(place, fetchImage) {
    this.place = place;
    this.fetchImage = fetchImage;
    this.figures = new Map(); // camera -> {figure, canvas, asked, wait, notBefore}
  }

  show(cameras) {
    for (const [id, { figure }] of this.figures)
      if (!cameras.some((camera) => camera.id === id)) {
        figure.remove();
        this.figures.delete(id);
      }
    this.place.hidden = !cameras.length;
    for (const camera of cameras) this.#ask(camera, this.figures.get(camera.id) ?? this.#add(camera));
  }

  #add({ id, kind, carrier, width, height }) {
    const figure = document.createElement("figure");
    const caption = figure.appendChild(document.createElement("figcaption"));
    caption.appendChild(document.createElement("strong")).textContent = `Camera ${id}`;
    caption.appendChild(document.createElement("span")).textContent =
      [kind.replaceAll("_", " "), carrier && `on ${carrier}`].filter(Boolean).join(" ");
    const canvas = figure.appendChild(document.createElement("canvas"));
    canvas.style.height = "auto";
    canvas.style.aspectRatio = `${width} / ${height}`;
    canvas.role = "img";
    canvas.ariaLabel = `What camera ${id} sees`;
    this.place.appendChild(figure);
    const known = { figure, canvas, asked: false, wait: 500, notBefore: 0 }; // [ms]
    this.figures.set(id, known);
    return known;
  }

  // One request at a time for each camera: a slow server is not asked faster than it answers.
  async #ask({ id }, known) {
    if (known.asked || performance.now() < known.notBefore) return;
    known.asked = true;
    try {
      const image = await createImageBitmap(await this.fetchImage(id));
      const { pen, width, height } = prepared(known.canvas);
      pen.drawImage(image, 0, 0, width, height);
      known.canvas.dataset.pictures = Number(known.canvas.dataset.pictures ?? 0) + 1;
    } catch {
      // Gone meanwhile, or a kind without pictures; or there is none yet (204).
      known.wait *= 2;
      known.notBefore = performance.now() + known.wait;
    } finally {
      known.asked = false;
    }
  }
}
