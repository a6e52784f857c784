// A sentence, and below each word the hands of its pairs of numbers: a little further from word to word, fast pairs on top, and
// orange where training never took them. The sentence says what the picture shows.
touch.figures.sentence = (host) => {
  const { make, say } = touch, round = 2 * Math.PI;
  touch.caption(host, "Rotary embeddings (RoPE): how far each word's hands have turned since the first word; orange, further than in any training text",
    "旋转位置编码（RoPE）：从第一个词起，每个词的指针转了多少；橙色，超过训练文本里最大的角");
  const words = say("Each word turns its hands a bit more: fast on top, slow below. If it is orange, the turn is new.",
    "每个 词 都把 自己的 指针 比前 一个 多转 一点： 快的 在上， 慢的 在下。 橙色 是 训练 文本 里 没有 过的 角度。").split(" ");
  const theta = [0, 1, 2, 3, 4].map((pair) => 20 ** (-pair / 5)), last = words.length - 1;
  const [wide, lines, radius, text] = touch.narrow(host) ? [640, 3, 27, 22] : [960, 1, 19, 15];
  const many = words.length / lines, apart = wide / many, down = 2 * radius + 7, high = 2 * text + theta.length * down;
  const drawing = make("svg:svg", { viewBox: `0 0 ${wide} ${lines * (high + text) - text}`, class: "open", role: "img", "aria-label":
    say("Below each word of a sentence five hands, turned further from word to word", "句子的每个词下面有五根指针，一个词比一个词转得多") });
  const columns = words.map((word, p) => {
    const transform = `translate(${(p % many) * apart} ${Math.floor(p / many) * (high + text)})`, column = make("svg:g", { transform });
    const behind = make("svg:rect", { width: apart, height: high, class: "beyond", transform });
    const hands = theta.map((_, pair) => {
      const known = make("svg:path", { class: "after share" }), strange = make("svg:path", { class: "idle share" }), hand = make("svg:line", { x1: 0, y1: 0 });
      column.append(make("svg:g", { transform: `translate(${apart / 2} ${2 * text + radius + pair * down})` },
        make("svg:circle", { r: radius, class: "dial" }), known, strange, hand));
      return { known, strange, hand };
    });
    column.prepend(make("svg:text", { x: apart / 2, y: 1.3 * text, "text-anchor": "middle" }, word));
    drawing.append(column);
    drawing.prepend(behind); // below all words, of which one may be wider than its column
    return { behind, hands };
  });
  const slice = (from, to) => (to > from + 1e-9 ? `M0 0L${touch.arc(from, to, radius).slice(1)}Z` : "");
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const draw = (now = last) => { // with all words read up to `now`, which may stand between two
    const seen = trained.value - 1, stretch = slower.checked ? last / seen : 1;
    let lost = 0;
    columns.forEach(({ behind, hands }, p) => {
      behind.style.display = p > seen ? "" : "none";
      hands.forEach(({ known, strange, hand }, pair) => {
        const reach = Math.min(round, seen * theta[pair]), slowed = theta[pair] / (reach < round ? stretch : 1);
        const angle = Math.min(p, now) * slowed, at = reach < round ? Math.min(angle, round) : angle % round;
        const gone = reach < round && angle % round > reach + 1e-9; // a hand that has come round may be where it was in training
        known.setAttribute("d", slice(0, Math.min(at, reach)));
        strange.setAttribute("d", slice(reach, at));
        const [x2, y2] = touch.point(angle, radius);
        for (const [key, value] of Object.entries({ x2, y2, class: `hand thin ${gone ? "key" : "query"}` })) hand.setAttribute(key, value);
        const end = p * slowed; // at the end of the text, also while the hands are still on their way
        lost += p === last && reach < round && end % round > reach + 1e-9;
      });
    });
    told.textContent = seen === last ? say(`Trained on all ${words.length} words: no angle is new.`, `全部 ${words.length} 个词都训练过：没有陌生的角度。`)
      : say(`Trained on ${seen + 1} words, this text has ${words.length}: between its first and its last word, ${lost} of ${theta.length} hands make an angle that training never showed${lost ? " (orange)" : ""}.`,
        `训练时 ${seen + 1} 个词，这段文本 ${words.length} 个：首尾两个词之间，${theta.length} 根指针里有 ${lost} 根张开的角是训练时没有的${lost ? "（橙色）" : ""}。`);
  };
  const trained = touch.slider(controls, say("words in training", "训练时的词数"), { name: "trained", min: 4, max: words.length, step: 1, value: 13 },
    String, () => draw());
  const slower = touch.tick(controls, say("slow only the hands that did not get round in training", "只把训练时没转满一圈的指针放慢"), { name: "slower" }, () => draw());
  host.append(drawing, controls, told);
  draw();
  touch.play(host, 6, (share) => draw(share * last), () => draw());
};
