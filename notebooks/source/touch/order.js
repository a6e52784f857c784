// Three words through one layer of attention, in any order: without positions, each word's vector stays what it was.
touch.figures.order = (host) => {
  const { make, say, data } = touch;
  if (!data.order) return; // the page was made without the cell's output
  const { words, token, place } = data.order; // token, place: queries, keys and values of each word, of each position
  touch.caption(host, "Try it: change the order, and see whether the layer notices", "动手：改变词序，看这一层能否察觉");
  const [left, top, wide, high, gap] = [70, 12, 27, 40, 14], dim = token[0][0].length;
  const added = (a, b) => a.map((number, i) => number + b[i]), dot = (a, b) => a.reduce((sum, number, i) => sum + number * b[i], 0);
  const attend = (order, layer) => {
    const [query, key, value] = token.map((part, p) => order.map((word, n) => (layer === "added" ? added(part[word], place[p][n]) : part[word])));
    return query.map((q, m) => {
      const seen = key.map((k, n) => (layer === "causal" && n > m ? 0 : Math.exp(dot(q, k) / Math.sqrt(dim))));
      const sum = seen.reduce((a, b) => a + b);
      return value[0].map((_, i) => seen.reduce((mixed, weight, n) => mixed + (weight / sum) * value[n][i], 0));
    });
  };
  const drawing = make("svg:svg", { viewBox: "0 0 640 172", role: "img", "aria-label":
    say("What comes out for each word: a row of coloured numbers", "每个词的输出：一行着色的数") });
  const rows = words.map((_, n) => {
    const y = top + n * (high + gap), group = drawing.appendChild(make("svg:g"));
    const name = group.appendChild(make("svg:text", { x: left - 10, y: y + high / 2 + 5, "text-anchor": "end" }));
    const cells = Array.from({ length: dim }, (_, i) => group.appendChild(make("svg:rect", { x: left + i * wide, y, width: wide - 1, height: high, class: "face" })));
    const over = cells.map((cell) => { const one = cell.cloneNode(); group.append(one); return one; });
    return { name, over, moved: group.appendChild(make("svg:text", { x: left + dim * wide + 10, y: y + high / 2 + 5, class: "small" })) };
  });
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const order = words.map((_, n) => n);
  const draw = () => {
    const first = attend(words.map((_, n) => n), layer.value), now = attend(order, layer.value);
    const moves = order.map((word, n) => Math.max(...now[n].map((number, i) => Math.abs(number - first[word][i]))));
    rows.forEach(({ name, over, moved }, n) => {
      name.textContent = words[order[n]];
      over.forEach((cell, i) => { cell.setAttribute("class", now[n][i] > 0 ? "after" : "idle"); cell.setAttribute("opacity", Math.min(1, Math.abs(now[n][i]) / 2).toFixed(3)); });
      moved.textContent = moves[n] < 1e-9 ? say("same", "不变") : `± ${moves[n].toFixed(2)}`;
    });
    const same = Math.max(...moves) < 1e-9, begun = order.every((word, n) => word === n), [said, start] = [order, words.map((_, n) => n)].map((each) => each.map((word) => words[word]).join(" "));
    told.textContent = begun ? say(`“${said}”: swap two words.`, `“${said}”：交换两个词。`)
      : same ? say(`“${said}”: each word has the vector that it had in “${start}”. Whatever follows cannot know the order.`, `“${said}”：每个词的向量都与“${start}”里的一样。后面的任何东西都无从知道词序。`)
        : say(`“${said}”: the vectors differ from those in “${start}” by up to ${Math.max(...moves).toFixed(2)}. The order left a trace.`, `“${said}”：与“${start}”里的向量最多相差 ${Math.max(...moves).toFixed(2)}。词序留下了痕迹。`);
  };
  words.slice(1).forEach((_, n) => {
    const swap = controls.appendChild(make("button", { type: "button" }, say(`swap words ${n + 1} and ${n + 2}`, `交换第 ${n + 1}、${n + 2} 个词`)));
    swap.addEventListener("click", () => { [order[n], order[n + 1]] = [order[n + 1], order[n]]; draw(); });
  });
  touch.name(controls, "words", (asked) => { order.splice(0, order.length, ...asked.split(" ").map((word) => words.indexOf(word))); draw(); });
  const layer = touch.choice(controls, say("attention", "注意力"), { name: "attention" }, [["plain", say("as above", "与上文相同")], ["causal", say("with causal mask", "带因果掩码")], ["added", say("with positions added", "加上位置")]], () => draw());
  host.append(controls, drawing, told);
  draw();
};
