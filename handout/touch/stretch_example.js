// The worked example of one stretched base, with another base and another ratio.
touch.figures.stretch_example = (host) => {
  const { say, number, table, worked } = touch;
  const [, trained, scaled, slower] = table(host), hd = 6;
  const fields = [{ cell: scaled[0], text: touch.make("code", {}, "k = "), label: "k", start: 4, min: 1, max: 100 }, { label: "base", start: 64, min: 2, max: 1000000 }];
  worked(host, fields, ([k, base]) => {
    const stretched = base * k ** (hd / (hd - 2)), angle = (from, i) => from ** ((-2 * i) / hd);
    [0, 1, 2].forEach((i) => {
      trained[i + 1].textContent = number(angle(base, i));
      scaled[i + 1].textContent = number(angle(stretched, i));
      slower[i + 1].textContent = number(angle(base, i) / angle(stretched, i));
    });
    return say(`base' = ${number(base)} * ${number(k)} ** (6 / 4) = ${number(stretched)}.`, `base' = ${number(base)} * ${number(k)} ** (6 / 4) = ${number(stretched)}。`);
  });
};
