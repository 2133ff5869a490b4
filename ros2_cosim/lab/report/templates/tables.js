// SPDX-License-Identifier: Apache-2.0
// Tables that are sorted by a click on a head, and filtered by what is typed above them.

const COMPARED = /^(.+?)\s*(<=|>=|<|>|=)\s*(-?[\d.]+(?:e-?\d+)?)$/i;

function numberOf(cell) {
  const text = cell?.dataset.value ?? cell?.textContent ?? "";
  const found = text.trim() === "" ? NaN : Number(text.replace("\u2212", "-"));
  return Number.isFinite(found) ? found : null;
}

/** What a row has to have: words that stand in it, and `column < number`. */
function wanted(text, heads) {
  return text.split(",").map((part) => part.trim()).filter(Boolean).map((part) => {
    const found = part.match(COMPARED);
    const column = found ? heads.findIndex((head) => head.endsWith(found[1].toLowerCase())) : -1;
    if (column < 0) return (row) => row.textContent.toLowerCase().includes(part.toLowerCase());
    const limit = Number(found[3]);
    const holds = { "<": (v) => v < limit, ">": (v) => v > limit, "=": (v) => v === limit,
      "<=": (v) => v <= limit, ">=": (v) => v >= limit }[found[2]];
    return (row) => {
      const value = numberOf(row.cells[column]);
      return value !== null && holds(value);
    };
  });
}

export function searchable(table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const names = heads.map((head) => head.textContent.trim().toLowerCase());
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "failed, or min_gap_m < 5";
  input.setAttribute("aria-label", "Filter of the runs");
  const told = document.createElement("output");
  const none = body.insertRow();
  none.insertCell().textContent = "No run is like that.";
  none.cells[0].colSpan = heads.length;
  const line = document.createElement("div");
  line.className = "times";
  line.append("Filter", input, told);
  table.closest(".card").before(line);

  const filter = () => {
    const conditions = wanted(input.value, names);
    for (const row of rows) row.hidden = !conditions.every((holds) => holds(row));
    const count = rows.filter((row) => !row.hidden).length;
    told.textContent = `${count} of ${rows.length}`;
    none.hidden = count > 0;
  };
  input.addEventListener("input", filter);
  filter();

  const sort = (column, down) => {
    const valued = rows.map((row) => [numberOf(row.cells[column]), row]);
    const isText = valued.every(([value]) => value === null);
    const text = (row) => row.cells[column].textContent.trim();
    rows.sort((a, b) => {
      if (isText) return text(a).localeCompare(text(b)) * (down ? -1 : 1);
      const [x, y] = [numberOf(a.cells[column]), numberOf(b.cells[column])];
      if (x === null || y === null) return (x === null) - (y === null); // those without come last
      return down ? y - x : x - y;
    });
    body.append(...rows, none);
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(column, down);
    });
  });
}
