// What the figures that can be touched share. A page inlines this file, then its figures; none needs a network.
const touch = { figures: {}, data: {} };
touch.chinese = document.documentElement.lang.startsWith("zh");
touch.say = (english, chinese) => (touch.chinese ? chinese : english);
touch.count = (n) => (Number.isFinite(n) ? Math.round(n).toLocaleString("en") : "∞");
touch.many = (n, word) => `${touch.count(n)} ${word}${n === 1 ? "" : "s"}`;

// An element of SVG if its name starts with "svg:", else of HTML.
touch.make = (name, attributes = {}, ...children) => {
  const svg = name.startsWith("svg:");
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

// Whether a figure has a phone's width; one that draws itself otherwise then is drawn anew when that changes, as it was set.
touch.narrow = (host) => {
  const phone = matchMedia("(max-width: 40rem)"), named = () => [...host.querySelectorAll("[data-control]")];
  phone.addEventListener("change", () => {
    const kept = named().map((one) => (one.type === "checkbox" ? (one.checked ? "yes" : "no") : one.value ?? one.ariaValueNow ?? one.textContent));
    host.replaceChildren();
    touch.figures[host.dataset.touch](host);
    named().forEach((one, i) => (one.type === "range" ? touch.put(one, "value", kept[i]) : one.ask(kept[i])));
  }, { once: true });
  return phone.matches;
};

// Lets a figure move by itself once it is seen, from 0 to 1 in some seconds, until it is touched; never where motion is not wanted.
touch.play = (host, seconds, move, stopped) => {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  let start, moving = false, over = false;
  for (const each of ["pointerdown", "keydown", "input", "change"]) host.addEventListener(each, () => { over ||= !moving; }, true);
  const frame = (now) => {
    start ??= now;
    over ||= now - start > 1000 * seconds;
    host.querySelector("[aria-live]").ariaLive = over ? "polite" : "off"; // it would speak at every step
    if (over) return stopped();
    moving = true;
    move((now - start) / (1000 * seconds));
    moving = false;
    requestAnimationFrame(frame);
  };
  new IntersectionObserver((seen, observer) => {
    if (!seen.some((one) => one.isIntersecting)) return;
    observer.disconnect();
    requestAnimationFrame(frame);
  }, { threshold: 0.3 }).observe(host);
};

touch.caption = (host, english, chinese) => host.append(touch.make("figcaption", {}, touch.say(english, chinese)));

// Horizontal lines at powers of ten, with their names on the left.
touch.decades = (drawing, { left, right, y, from, to }) => {
  for (let power = from; power <= to; power += 1) {
    const name = [...`${power}`].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit] ?? "⁻").join(""), at = y(10 ** power);
    drawing.append(touch.make("svg:line", { x1: left, x2: right, y1: at, y2: at, class: "grid" }),
      touch.make("svg:text", { x: left - 6, y: at + 5, class: "small", "text-anchor": "end" }, `10${name}`));
  }
};

// Gives a control of a figure a name, by which words in the text set it; `set` gets what they ask for, in the reader's units.
touch.name = (control, name, set) => {
  if (name) control.dataset.control = name;
  control.ask = set;
};

// Sets a control of a form, as if the reader had.
touch.put = (control, key, value, event = "input") => {
  control[key] = value;
  control.dispatchEvent(new Event(event));
};

// A labelled range with its value beside it. `show` turns the value into words, for eyes and for screen readers. Where the range
// runs over something else than what these words say, such as a logarithm, `from` turns that into a value of the range.
touch.slider = (host, label, { name, from = Number, ...options }, show, changed) => {
  const input = touch.make("input", { type: "range", ...options });
  touch.name(input, name, (asked) => touch.put(input, "value", from(Number(asked))));
  const output = touch.make("output");
  const told = () => {
    output.textContent = show(Number(input.value));
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => { told(); changed(); });
  host.append(touch.make("label", {}, touch.make("span", {}, label), input, output));
  told();
  return input;
};

// A labelled choice between pairs of a value and its words.
touch.choice = (host, label, { name }, options, changed) => {
  const choice = touch.make("select", {}, ...options.map(([value, words]) => touch.make("option", { value }, words)));
  touch.name(choice, name, (asked) => touch.put(choice, "value", asked, "change"));
  choice.addEventListener("change", changed);
  host.append(touch.make("label", {}, touch.make("span", {}, label), choice));
  return choice;
};

// A box to tick, with its words; "yes" ticks it.
touch.tick = (host, words, { name, ...options }, changed) => {
  const box = touch.make("input", { type: "checkbox", ...options });
  touch.name(box, name, (asked) => touch.put(box, "checked", asked === "yes", "change"));
  box.addEventListener("change", changed);
  host.append(touch.make("label", { class: "tick" }, box, words));
  return box;
};

// Calls `moved` with the place in a drawing, in its own units, while a pointer drags an element of it. A finger does once it goes
// more along than up or down, for one that scrolls the page moves nothing; or at once, where the element takes `both` directions.
touch.drag = (drawing, element, moved, both = false) => {
  let start, along;
  const follow = (event) => {
    const box = drawing.getBoundingClientRect(), unit = drawing.viewBox.baseVal.width / box.width;
    moved((event.clientX - box.left) * unit, (event.clientY - box.top) * unit);
  };
  element.addEventListener("pointerdown", (event) => {
    [start, along] = [event, both || event.pointerType === "mouse"];
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    if (!element.hasPointerCapture(event.pointerId)) return;
    along ||= Math.abs(event.clientX - start.clientX) > Math.abs(event.clientY - start.clientY);
    if (along) follow(event);
  });
  element.addEventListener("click", follow);
};

// A point at an angle from the middle of a clock, and the way along its rim; a whole turn at most.
touch.point = (angle, radius) => [radius * Math.cos(angle), -radius * Math.sin(angle)].map((each) => each.toFixed(2));
touch.arc = (from, to, radius) => {
  const end = Math.min(to, 2 * Math.PI - 1e-3); // an arc that ends where it starts would not be drawn
  return `M${touch.point(from, radius)}A${radius} ${radius} 0 ${end - from > Math.PI ? 1 : 0} 0 ${touch.point(end, radius)}`;
};

// Lets a pointer on a chart set a slider; `value` is the slider's at a share of the chart's width.
touch.chart = (drawing, { left, right, top, bottom }, input, value) => {
  const [low, high] = [input.min, input.max].map(Number);
  const at = value ?? ((share) => Math.round(low + share * (high - low)));
  const area = touch.make("svg:rect", { x: left, y: top, width: right - left, height: bottom - top, class: "chart" });
  touch.drag(drawing, area, (place) => {
    touch.put(input, "value", at(Math.min(1, Math.max(0, (place - left) / (right - left)))));
  });
  drawing.append(area);
};

// A straight scale with handles, each dragged by pointer or moved by arrow keys, Page Up and Down, Home and End. A handle's
// name is what stands on it.
touch.scale = (drawing, { left, right, y, last, handles }, changed) => {
  const x = (value) => left + ((right - left) * value) / last;
  drawing.append(touch.make("svg:line", { x1: left, x2: right, y1: y, y2: y, class: "axis" }));
  for (let value = 0; value <= last; value += last / 4) {
    drawing.append(touch.make("svg:text", { x: x(value), y: y + 26, class: "small mark", "text-anchor": "middle" }, `${value}`));
  }
  return handles.map(({ name, label, start, style }) => {
    const text = touch.make("svg:text", { y: 5, "text-anchor": "middle" }, name);
    const knob = touch.make("svg:g", { role: "slider", tabindex: 0, class: `knob ${style}`, "aria-label": label,
      "aria-valuemin": 0, "aria-valuemax": last }, touch.make("svg:circle", { r: 14 }), text);
    const handle = { value: start, knob };
    handle.set = (value) => {
      handle.value = Math.min(last, Math.max(0, Math.round(value)));
      knob.setAttribute("aria-valuenow", handle.value);
      knob.setAttribute("transform", `translate(${x(handle.value)} ${y})`);
    };
    const moved = (value) => { const before = handle.value; handle.set(value); changed(handle, handle.value - before); };
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -last, End: last };
    knob.addEventListener("keydown", (event) => {
      if (event.key in steps) { moved(handle.value + steps[event.key]); event.preventDefault(); }
    });
    touch.name(knob, name, (asked) => moved(Number(asked)));
    touch.drag(drawing, knob, (place) => moved(((place - left) * last) / (right - left)));
    knob.addEventListener("pointerdown", () => knob.focus());
    drawing.append(knob);
    handle.set(start);
    return handle;
  });
};

// A number as the worked examples write it: whole, as a small fraction, or rounded to four digits.
touch.number = (value) => {
  for (const below of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 32, 64, 128, 256]) {
    const above = Math.round(value * below);
    if (Math.abs(value * below - above) < 1e-9) return below === 1 ? `${above}` : `${above}/${below}`;
  }
  return `${Number(value.toPrecision(4))}`;
};

touch.table = (host) => [...host.previousElementSibling.querySelectorAll("tr")].map((row) => [...row.cells]);

// Makes numbers of the table before a figure fields to edit. A field has a cell, a label, a start, a text before it, and
// limits, or choices; one without a cell stands in the figure. `compute` gets all values, writes the other cells, and
// returns what changed, in words.
touch.worked = (host, fields, compute) => {
  const { make, say } = touch;
  touch.caption(host, "Edit a framed number; the table updates", "动手：修改带框的数，表格随之变化");
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const table = host.previousElementSibling.querySelector("table");
  for (const cell of new Set(fields.map((field) => field.cell))) cell?.replaceChildren();
  const inputs = fields.map(({ cell, label, start, text = "", choices, ...limits }) => {
    const input = choices
      ? make("select", {}, ...choices.map((one) => make("option", {}, `${one}`)))
      : make("input", { class: "number", type: "number", step: "any", min: -1000, max: 1000, required: "", ...limits });
    input.value = start;
    if (cell) {
      input.setAttribute("aria-label", label);
      cell.append(cell.childNodes.length ? ", " : text, input);
    } else controls.append(make("label", {}, make("span", {}, label), input));
    input.addEventListener("input", () => draw());
    return input;
  });
  const draw = () => {
    const wrong = inputs.findIndex((input) => !input.validity.valid), label = fields[wrong]?.label;
    table.classList.toggle("behind", wrong >= 0);
    told.textContent = wrong < 0
      ? compute(inputs.map((input) => Number(input.value)))
      : say(`${label}: a ${whole(inputs[wrong]) ? "whole " : ""}number from ${inputs[wrong].min} to ${inputs[wrong].max} is needed.`,
        `${label}：需要 ${inputs[wrong].min} 到 ${inputs[wrong].max} 之间的${whole(inputs[wrong]) ? "整" : ""}数。`);
  };
  const whole = (input) => input.step === "1";
  const back = make("button", { type: "button" }, say("as in the text", "恢复原样"));
  back.addEventListener("click", () => { inputs.forEach((input, i) => { input.value = fields[i].start; }); draw(); });
  controls.append(back);
  host.append(controls, told);
  draw();
};

// Words in the text that set a figure's controls, such as `walk?base=500000&distance=31`, become a button. It scrolls only to a
// figure of which most is out of sight.
touch.setting = (words) => {
  const [name, asked] = words.dataset.sets.split("?");
  const button = touch.make("button", { type: "button", class: "sets", title: touch.say("show this in the figure", "在图中显示"),
    "data-sets": words.dataset.sets }, ...words.childNodes);
  button.addEventListener("click", () => {
    const figure = document.querySelector(`[data-touch="${name}"]`);
    for (const [control, value] of new URLSearchParams(asked)) figure.querySelector(`[data-control="${control}"]`).ask(value);
    const { top, bottom } = figure.getBoundingClientRect(), seen = Math.min(bottom, innerHeight) - Math.max(top, 0);
    if (seen < Math.min(bottom - top, innerHeight) / 2) figure.scrollIntoView({ block: "nearest" });
  });
  words.replaceWith(button);
};

touch.start = () => {
  for (const host of document.querySelectorAll("[data-touch]")) touch.figures[host.dataset.touch](host);
  document.querySelectorAll("[data-sets]").forEach(touch.setting);
};
