// Grades the page when every question is answered. A slow digest stands for each right option, so that none can be read.
"use strict";
const form = document.getElementById("quiz");
const sealed = JSON.parse(form.dataset.sealed);
const fields = [...form.querySelectorAll("fieldset")];
const output = form.querySelector("output");

async function digest(text, salt) {
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(text), "PBKDF2", false, ["deriveBits"]);
  const how = { name: "PBKDF2", hash: "SHA-256", salt: new TextEncoder().encode(salt), iterations: sealed.iterations };
  const bits = new Uint8Array(await crypto.subtle.deriveBits(how, key, 256));
  return [...bits].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function quoted(text) {
  return `"${text.replaceAll('"', '""')}"`;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const chosen = fields.map((field) => field.querySelector("input:checked"));
  if (chosen.includes(null)) {
    output.textContent = form.dataset.missing;
    fields[chosen.indexOf(null)].scrollIntoView();
    return;
  }
  form.querySelector("button").disabled = true;
  form.querySelectorAll("input").forEach((input) => { input.disabled = true; });
  output.textContent = form.dataset.checking;
  const answers = chosen.map((input) => input.parentElement.textContent.trim());
  let right = 0;
  for (const [number, field] of fields.entries()) {
    const known = (await digest(answers[number], field.dataset.code + sealed.salt)) === sealed.digests[number];
    const verdict = field.querySelector(".verdict");
    verdict.textContent = known ? verdict.dataset.right : verdict.dataset.wrong;
    verdict.hidden = false;
    field.classList.add(known ? "right" : "wrong");
    right += known;
  }
  output.textContent = form.dataset.result.replace("#", right);
  const rows = fields.map((field, number) => `${quoted(`[${field.dataset.code}]`)},${quoted(answers[number])}`);
  const link = document.getElementById("save");
  link.href = "data:text/csv;charset=utf-8," + encodeURIComponent(["question,answer", ...rows].join("\n") + "\n");
  link.hidden = false;
});
