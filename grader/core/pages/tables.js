"use strict";
// Sorting and searching, for those who have scripts; without them every table is whole and in its order.
// Numbers stand in data-value; a cell without one comes last, whichever way a column of numbers is sorted.

const keyOf = (cell) => ("value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim());

function compare(a, b, sign) {
  const [x, y] = [keyOf(a), keyOf(b)];
  if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
  return sign * (typeof x === "number" ? x - y : x.localeCompare(y, document.documentElement.lang, { numeric: true }));
}

for (const table of document.querySelectorAll("table[data-sortable]")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const numbers = head.classList.contains("number");
      const now = head.getAttribute("aria-sort");
      const down = now ? now === "ascending" : numbers; // of numbers, the largest are looked for first
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => compare(a.cells[column], b.cells[column], down ? -1 : 1));
      table.tBodies[0].append(...rows);
    });
  });
}

const input = document.getElementById("find");
const output = document.querySelector("output[for=find]");
const rows = [...document.querySelector("table[data-searchable]").tBodies[0].rows];

function find() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const text = row.dataset.text.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    shown += !row.hidden;
  }
  output.textContent = output.dataset.text.replace("#", shown);
}

input.closest("p").hidden = false;
input.addEventListener("input", find);
for (const link of document.querySelectorAll("a[data-find]")) {
  link.addEventListener("click", () => {
    input.value = link.dataset.find;
    find(); // and the link leads to the table
  });
}
find();
