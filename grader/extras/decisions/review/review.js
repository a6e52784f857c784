"use strict";
// Keys for what the page's buttons do, and the slider. Without scripts, forms and links work all the same.

const byId = (id) => document.getElementById(id);
const help = byId("help");
const keysOff = byId("keys-off");

function openPanel(name, what) {
  const panel = byId(name);
  if (!panel) return;
  for (const other of document.querySelectorAll(".panels details")) other.open = other === panel;
  if (what) panel.querySelector("[name=what]").value = what;
  showMost();
  const field = panel.querySelector(what ? "[name=points]" : "select, input:not([type=hidden]), textarea");
  field.focus();
}

function closeAll() {
  for (const panel of document.querySelectorAll(".panels details[open]")) panel.open = false;
}

function showMost() {
  const what = byId("what");
  if (what) byId("most").textContent = `/ ${what.selectedOptions[0].dataset.most}`;
}

const namedLines = [...document.querySelectorAll(".line.named")];
const marked = namedLines.length ? namedLines : [...document.querySelectorAll(".line.begins")];
let at = -1;

function nextLine() {
  if (!marked.length) return;
  at = (at + 1) % marked.length;
  location.hash = marked[at].id;
}

const source = document.querySelector(".source");
if (source && marked.length && !location.hash) {
  source.scrollTop += marked[0].getBoundingClientRect().top - source.getBoundingClientRect().top - 80;
}

const follow = (id) => byId(id)?.click();
const keys = {
  a: () => byId("accept")?.requestSubmit(),
  o: () => openPanel("override"),
  c: () => openPanel("comment"),
  e: () => openPanel("excuse"),
  n: () => follow("next"),
  j: () => follow("next"),
  p: () => follow("previous"),
  k: () => follow("previous"),
  l: nextLine,
  q: () => follow("to-queue"),
  "?": () => help.showModal(),
};

document.addEventListener("keydown", (event) => {
  const field = event.target.closest("input, textarea, select");
  if (event.key === "Enter" && event.ctrlKey && field?.form) {
    event.preventDefault();
    field.form.requestSubmit();
    return;
  }
  if (event.key === "Escape" && !help.open) {
    if (field) field.blur();
    closeAll();
    return;
  }
  if (field || help.open || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (keysOff.checked && event.key !== "?") return;
  if (Object.hasOwn(keys, event.key)) {
    event.preventDefault();
    keys[event.key]();
  }
});

keysOff.checked = sessionStorage.getItem("keys") === "off";
keysOff.addEventListener("change", () => sessionStorage.setItem("keys", keysOff.checked ? "off" : "on"));
byId("show-help")?.addEventListener("click", () => help.showModal());
byId("what")?.addEventListener("change", showMost);
for (const button of document.querySelectorAll("[data-opens]")) {
  button.addEventListener("click", () => openPanel(button.dataset.opens));
}
for (const button of document.querySelectorAll(".to-override")) {
  button.addEventListener("click", () => openPanel("override", button.dataset.what));
}
document.querySelector(".panels details[open] textarea")?.focus();
showMost();

// ── What if: the server computes, since it knows the policy and the decisions; nothing is written ──

const tried = byId("what-if");
if (tried) {
  const [property, points, shown] = ["try-property", "try-points", "try-shown"].map(byId);
  let latest = 0;

  async function ask() {
    const mine = (latest += 1);
    shown.textContent = points.value;
    const query = new URLSearchParams(new FormData(tried));
    const answer = await fetch(`${tried.action}?${query}`);
    const text = await answer.text();
    if (mine === latest) byId("moved").innerHTML = text; // made by our templates, which escape every value
  }

  function start() {
    const now = Number(property.selectedOptions[0].dataset.points);
    points.max = 2 * now;
    points.value = now;
    shown.textContent = points.value;
    byId("moved").replaceChildren();
  }

  property.addEventListener("change", start);
  points.addEventListener("input", ask);
  byId("try-limit").addEventListener("input", ask);
  tried.addEventListener("submit", (event) => event.preventDefault());
  start();
}
