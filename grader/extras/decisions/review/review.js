"use strict";
// Keys for what the page's buttons do. Without scripts, forms and links work all the same.

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
  m: () => follow("to-mistakes"),
  g: () => byId("group")?.requestSubmit(),
  u: () => byId("undo")?.requestSubmit(),
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
for (const button of document.querySelectorAll(".to-comment")) {
  button.addEventListener("click", () => {
    byId("comment-comment").value = button.textContent;
  });
}
// A click on a line takes it as the place of a comment; a double click also opens the comment.
for (const line of byId("at") ? document.querySelectorAll(".line") : []) {
  line.addEventListener("click", () => {
    document.querySelector(".line.taken")?.classList.remove("taken");
    line.classList.add("taken");
    byId("at").value = `${line.closest("pre").dataset.path}:${line.dataset.n}`;
  });
  line.addEventListener("dblclick", () => openPanel("comment"));
}
// What has just been done, as the address says; said once, and not again when the page is loaded anew.
const done = new URLSearchParams(location.search), told = byId("told"), sentence = told?.dataset[done.get("told")];
if (sentence) {
  told.textContent = sentence.replace("{n}", Number(done.get("n")));
  told.hidden = false;
  history.replaceState(null, "", location.pathname + location.hash);
}
document.querySelector(".panels details[open] textarea")?.focus();
showMost();
