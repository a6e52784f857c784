// A model of notebook 6, run here: its weights, and the sums of its forward pass. Each character of a text is as orange as the
// model was surprised by it; from a chosen one, blue shows where a head looks, and words say what the model expects next.
touch.figures.reader = (host) => {
  const { make, say, data } = touch;
  if (!data.reader) return; // the page was made without the cell's output
  const { letters, trained, heads, theta, slow, text, at: first, order, weights } = data.reader, alphabet = [...letters];
  const number = new Map(alphabet.map((letter, i) => [letter, i])), blank = number.get(" ") ?? 0, most = 512;
  const names = { none: say("as trained", "不加改动"), PI: "PI", NTK: "NTK", YaRN: "YaRN", clamped: say("slow pairs clamped", "截住低频对") };
  const half = (bits) => { // a float of 16 bits: a sign, five bits of exponent, ten of fraction
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
    return (bits >> 15 ? -1 : 1) * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : fraction * 2 ** -24);
  };
  const bytes = atob(weights), of = {}, shapes = Object.fromEntries(order);
  let start = 0;
  for (const [name, shape] of order) { // one after the other, in an order that the keys of an object would lose; the lower byte first
    of[name] = Float32Array.from({ length: shape.reduce((product, size) => product * size, 1) }, () =>
      half(bytes.charCodeAt(start++) | (bytes.charCodeAt(start++) << 8)));
  }
  const width = shapes["norm.weight"][0], dim = width / heads, pairs = dim / 2;
  const blocks = Object.keys(shapes).filter((name) => name.endsWith("project.weight")).length;
  const linear = (x, name) => { // [n, in] to [n, out]
    const weight = of[name], [out, within] = shapes[name], n = x.length / within, y = new Float32Array(n * out);
    for (let p = 0; p < n; p += 1) {
      for (let row = 0; row < out; row += 1) {
        let sum = 0;
        for (let j = 0; j < within; j += 1) sum += weight[row * within + j] * x[p * within + j];
        y[p * out + row] = sum;
      }
    }
    return y;
  };
  const normed = (x, name) => { // RMSNorm
    const y = new Float32Array(x.length), gain = of[name];
    for (let p = 0; p < x.length; p += width) {
      let sum = 0;
      for (let j = p; j < p + width; j += 1) sum += x[j] * x[j];
      const scale = 1 / Math.sqrt(sum / width + 2 ** -23); // torch's eps: that of a float
      for (let j = 0; j < width; j += 1) y[p + j] = x[p + j] * scale * gain[j];
    }
    return y;
  };
  const softmax = (row) => { // in place
    const top = row.reduce((a, b) => Math.max(a, b)), sum = row.reduce((total, one, i) => total + (row[i] = Math.exp(one - top)), 0);
    row.forEach((one, i) => { row[i] = one / sum; });
    return row;
  };
  // Mixes values by the weights of attention, and keeps these, by head and query. The score of a query and a key is the sum over
  // pairs of the real part of q k* e^(jθΔ), so each pair can have a distance Δ of its own, as in exercise 6.2.
  const attend = (all, n, cos, sin, kept) => {
    const mixed = new Float32Array(n * width);
    for (let head = 0; head < heads; head += 1) {
      for (let m = 0; m < n; m += 1) {
        const row = new Float32Array(m + 1), query = m * 3 * width + head * dim;
        for (let key = 0; key <= m; key += 1) {
          const at = key * 3 * width + width + head * dim, angle = (m - key) * pairs;
          let sum = 0;
          for (let i = 0; i < pairs; i += 1) { // pair i is (i, i + d/2)
            const qx = all[query + i], qy = all[query + i + pairs], kx = all[at + i], ky = all[at + i + pairs];
            sum += (qx * kx + qy * ky) * cos[angle + i] + (qx * ky - qy * kx) * sin[angle + i];
          }
          row[key] = sum / Math.sqrt(dim);
        }
        (kept[head] ??= [])[m] = softmax(row);
        for (let key = 0; key <= m; key += 1) {
          const value = key * 3 * width + 2 * width + head * dim;
          for (let j = 0; j < dim; j += 1) mixed[m * width + head * dim + j] += row[key] * all[value + j];
        }
      }
    }
    return mixed;
  };
  const run = (numbers, hands) => { // the probabilities of what comes after each character, and the last block's attention
    const n = numbers.length, speeds = theta[hands] ?? theta.none, [cos, sin] = [Math.cos, Math.sin].map((wave) =>
      Float32Array.from({ length: n * pairs }, (_, at) => {
        const [distance, i] = [Math.floor(at / pairs), at % pairs];
        return wave(speeds[i] * (hands === "clamped" && slow[i] ? Math.min(distance, trained - 1) : distance));
      }));
    let z = new Float32Array(n * width), attention;
    const add = (more) => { for (let j = 0; j < z.length; j += 1) z[j] += more[j]; };
    numbers.forEach((letter, p) => z.set(of["letters.weight"].subarray(letter * width, (letter + 1) * width), p * width));
    for (let block = 0; block < blocks; block += 1) {
      const name = (part) => `blocks.${block}.${part}.weight`;
      attention = [];
      add(linear(attend(linear(normed(z, name("attention_norm")), name("project")), n, cos, sin, attention), name("output")));
      add(linear(linear(normed(z, name("mlp_norm")), name("mlp.0")).map((one) => Math.max(0, one)), name("mlp.2")));
    }
    const logits = linear(normed(z, "norm.weight"), "head.weight"), many = alphabet.length;
    return { attention, chances: numbers.map((_, p) => softmax(logits.subarray(p * many, (p + 1) * many))) };
  };
  touch.caption(host, "Try it: a trained model that runs in this page", "动手：一个训练好的模型，就在这个页面里运行");
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const shown = make("div", { class: "read", role: "slider", tabindex: 0, "aria-valuemin": 1, "aria-label":
    say("character of the text: arrow keys move it", "文本中的字符：方向键移动") });
  const readable = { " ": say("space", "空格"), "\n": say("new line", "换行") };
  const quoted = (letter) => (letter in readable ? readable[letter] : say(`“${letter}”`, `“${letter}”`));
  let characters, cells, found, summary, at = first;
  const compute = () => {
    characters = [...area.value].slice(0, most);
    if (characters.length < 2) { // nothing to expect anything of
      cells = undefined;
      shown.replaceChildren(...characters);
      told.textContent = say("Write two characters or more.", "请写至少两个字符。");
      return;
    }
    const numbers = characters.map((letter) => number.get(letter) ?? blank), strange = characters.filter((letter) => !number.has(letter)).length;
    found = run(numbers, hands.value);
    const surprise = ({ chances }) => numbers.slice(1).map((letter, p) => -Math.log(chances[p][letter])), losses = surprise(found);
    const compared = colour.value === "change" && surprise(run(numbers, "none"));
    const style = (p) => { // orange: more, blue: less
      const more = compared && losses[p] - compared[p];
      return compared ? `--loss: ${Math.min(100, 50 * Math.abs(more)).toFixed(0)}%; --tint: var(--${more > 0 ? "second" : "first"})` : `--loss: ${Math.min(100, 4 * losses[p] ** 2).toFixed(0)}%`;
    };
    const mean = (some) => (some.reduce((sum, one) => sum + one, 0) / some.length).toFixed(2);
    cells = characters.map((letter, p) => {
      const cell = make("span", p ? { style: style(p - 1) } : {}, letter === "\n" ? "↵\n" : letter);
      cell.classList.toggle("sign", letter === "\n");
      return cell;
    });
    const mark = make("span", { class: "bound" });
    shown.replaceChildren(...cells.slice(0, trained), ...(cells.length > trained ? [mark] : []), ...cells.slice(trained));
    shown.setAttribute("aria-valuemax", cells.length);
    const [inside, beyond] = [losses.slice(0, trained), losses.slice(trained)], name = names[hands.value];
    summary = say(
      `${name[0].toUpperCase()}${name.slice(1)}: ${mean(inside)} nats${beyond.length ? ` while up to ${trained} characters are read, ${mean(beyond)} beyond` : ""}.`,
      `${name}：${beyond.length ? `读过的字符不超过 ${trained} 个时` : ""}损失 ${mean(inside)} nat${beyond.length ? `，再往后 ${mean(beyond)}` : ""}。`)
      + (strange ? say(` It reads ${touch.many(strange, "character")} that it does not know as blanks.`, `它不认识的 ${strange} 个字符当作空格读。`) : "")
      + (compared ? say(" Blue: less surprised than as trained; orange: more.", "蓝：比不加改动时意外小；橙：意外大。") : "");
    move(at);
  };
  const move = (to) => { // to a character: where a head looks from there, and what is likely to come next
    if (!cells) return;
    at = Math.min(cells.length - 1, Math.max(0, to));
    const chosen = head.value === "mean" ? found.attention : [found.attention[head.value]];
    const looks = cells.map((_, key) => chosen.reduce((sum, rows) => sum + (rows[at][key] ?? 0), 0)), strongest = Math.max(...looks);
    cells.forEach((cell, p) => {
      cell.style.setProperty("--look", `${(100 * Math.sqrt(looks[p] / strongest)).toFixed(0)}%`);
      cell.classList.toggle("here", p === at);
    });
    const likely = [...found.chances[at].keys()].sort((a, b) => found.chances[at][b] - found.chances[at][a]).slice(0, 4)
      .map((letter) => `${quoted(alphabet[letter])} ${Math.round(100 * found.chances[at][letter])}\u00a0%`);
    const word = characters.slice(Math.max(0, at - 7), at + 1).join("").trimStart().replaceAll("\n", "↵"), next = characters[at + 1];
    const here = `${at > 7 ? "…" : ""}${word || "␣"}`;
    shown.setAttribute("aria-valuenow", at + 1);
    shown.setAttribute("aria-valuetext", say(`${quoted(characters[at])}, ${at + 1} of ${cells.length}`, `${quoted(characters[at])}，第 ${at + 1} 个，共 ${cells.length} 个`));
    told.textContent = summary + say(` After “${here}”: ${likely.join(", ")}${next ? `; it was ${quoted(next)}` : ""}.`,
      `“${here}”之后：${likely.join("，")}${next ? `；实际是${quoted(next)}` : ""}。`);
  };
  const line = (down) => { // the character above or below
    const here = cells[at].offsetTop, tops = cells.map((cell) => cell.offsetTop).filter((top) => (down > 0 ? top > here + 4 : top < here - 4));
    const wanted = down > 0 ? Math.min(...tops) : Math.max(...tops), far = (p) => Math.abs(cells[p].offsetLeft - cells[at].offsetLeft);
    return cells.reduce((best, cell, p) => (Math.abs(cell.offsetTop - wanted) <= 4 && (best === at || far(p) < far(best)) ? p : best), at);
  };
  const steps = { ArrowRight: () => at + 1, ArrowLeft: () => at - 1, ArrowDown: () => line(1), ArrowUp: () => line(-1), Home: () => 0, End: () => cells.length };
  shown.addEventListener("keydown", (event) => {
    if (event.key in steps && cells) { move(steps[event.key]()); event.preventDefault(); }
  });
  for (const kind of ["click", "pointermove"]) {
    shown.addEventListener(kind, (event) => { // a finger that moves scrolls; it chooses by touching
      const to = cells?.indexOf(event.target) ?? -1;
      if (to >= 0 && to !== at && (kind === "click" || event.buttons === 1)) move(to);
    });
  }
  const hands = touch.choice(controls, say("hands", "指针"), { name: "hands" }, Object.entries(names), () => compute());
  const colour = touch.choice(controls, say("colour", "颜色"), { name: "colour" }, [["surprise", say("surprise", "意外")], ["change", say("what the hands change", "指针带来的变化")]], () => compute());
  const head = touch.choice(controls, say("looking", "谁在看"), { name: "head" }, [["mean", say(`block ${blocks}, all heads`, `第 ${blocks} 块，全部的头`)],
    ...Array.from({ length: heads }, (_, i) => [i, say(`block ${blocks}, head ${i + 1}`, `第 ${blocks} 块第 ${i + 1} 个头`)])], () => move(at));
  const area = make("textarea", { rows: 3, maxlength: most, spellcheck: "false" }, text), back = make("button", { type: "button" }, say("as given", "恢复原文"));
  let waiting;
  area.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(compute, 200); });
  back.addEventListener("click", () => touch.put(area, "value", text));
  touch.name(shown, "at", (asked) => move(Number(asked) - 1));
  const own = make("label", { class: "own" }, make("span", {}, say(`Your own text, up to ${most} characters:`, `你自己的文本，最多 ${most} 个字符：`)), area);
  const note = make("p", { class: "note" }, say(
    `The more orange a character, the more it surprised the model, which had read all before it (wholly at 5 nats, a chance of 0.7 %); the blue bar stands where training ended. Choose a character by pointer or arrow keys: the bluer the line below an earlier one, the more the head looks at it from there. The model has ${touch.count(bytes.length / 2)} weights and learned from Python’s manual; nothing that you write leaves the page.`,
    `字符越橙，读过前文的模型对它越意外（5 nat 时最橙，概率为 0.7 %）；蓝色竖线是训练长度。用指针或方向键选一个字符：前面哪个字符下面的线越蓝，头从这里看它就越多。模型有 ${touch.count(bytes.length / 2)} 个权重，是从 Python 手册学来的；你写的内容不会离开这个页面。`));
  host.append(controls, shown, told, make("div", { class: "controls" }, own, back), note);
  compute();
};
