// A sentence, and with each word the hands of its pairs of numbers: a little further from word to word, fast pairs first, and
// orange where training never took them. The sentence says what the picture shows. A phone has a row for each word.
touch.figures.sentence = (host) => {
  const { make, say } = touch, round = 2 * Math.PI;
  touch.caption(host, "Many hands (RoPE): how far those of each word have turned since the first word",
    "许多根指针（RoPE）：从第一个词起，每个词的指针转了多少");
  const words = say("Each word turns its hands a bit more: fast ones first, slow last. An orange one is at a new angle.",
    "每个 词 的 指针 都比 前 一个 多转 一点： 快的 在前， 慢的 在后。 训练 时 没 见过 的 角度 是 橙色。").split(" ");
  const theta = [0, 1, 2, 3, 4].map((pair) => 20 ** (-pair / 5)), last = words.length - 1;
  const phone = touch.narrow(host), [radius, down, start] = phone ? [24, 100, 180] : [19, 45, 49]; // the dials of a word
  const [wide, apart, high] = phone ? [640, 54, 640] : [960, 960 / words.length, 255]; // the words
  const placed = (along, across) => `translate(${phone ? [across, along] : [along, across]})`;
  const drawing = make("svg:svg", { viewBox: `0 0 ${wide} ${phone ? apart * words.length : high}`, class: "open", role: "img", "aria-label":
    say("For each word of a sentence five hands, turned further from word to word", "句子的每个词有五根指针，一个词比一个词转得多") });
  const beyond = make("svg:rect", { class: "beyond" });
  drawing.append(beyond);
  const columns = words.map((word, p) => {
    const column = make("svg:g", { transform: placed((p + 0.5) * apart, 0) });
    column.append(make("svg:text", phone ? { x: 110, y: 7, "text-anchor": "end" } : { y: 20, "text-anchor": "middle" }, word));
    drawing.append(column);
    return theta.map((_, pair) => {
      const known = make("svg:path", { class: "after share" }), strange = make("svg:path", { class: "idle share" }), hand = make("svg:line", { x1: 0, y1: 0 });
      column.append(make("svg:g", { transform: placed(0, start + pair * down) }, make("svg:circle", { r: radius, class: "dial" }), known, strange, hand));
      return { known, strange, hand };
    });
  });
  const slice = (from, to) => (to > from + 1e-9 ? `M0 0L${touch.arc(from, to, radius).slice(1)}Z` : "");
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const draw = (now = last) => { // with all words read up to `now`, which may stand between two
    const seen = trained.value - 1, stretch = slower.checked ? last / seen : 1;
    let lost = 0;
    const from = (seen + 1) * apart, rest = (last - seen) * apart;
    for (const [key, value] of Object.entries(phone ? { y: from, width: wide, height: rest } : { x: from, width: rest, height: high })) beyond.setAttribute(key, value);
    columns.forEach((hands, p) => {
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
    told.textContent = seen === last ? say(`The model was trained on ${words.length} words: no angle is new.`, `训练时就有 ${words.length} 个词：没有新角度。`)
      : say(`The model was trained on ${seen + 1} words; this text has ${words.length}. Between its first and last word, ${lost} of ${theta.length} hands ${lost === 1 ? "makes" : "make"} a new angle.`,
        `训练时 ${seen + 1} 个词，这段文本 ${words.length} 个：首尾两个词之间，${theta.length} 根指针里${lost ? `有 ${lost} 根张开` : "没有一根张开"}新角度。`);
  };
  const trained = touch.slider(controls, say("words in training", "训练时的词数"), { name: "trained", min: 4, max: words.length, step: 1, value: 13 },
    String, () => draw());
  const slower = touch.tick(controls, say("slow only the hands that did not get round in training", "只放慢训练时没转满一圈的指针"), { name: "slower" }, () => draw());
  const legend = make("p", { class: "note" }, say("Grey: beyond the trained length. Orange: an angle that no training text showed.", "灰底：超出训练长度。橙色：训练文本里没有的角度。"));
  host.append(legend, drawing, controls, told);
  draw();
  touch.play(host, 6, (share) => draw(share * last), () => draw());
};
