// The worked example of the norm, with other numbers: the rows of the table are the steps of the formula.
touch.figures.norm_example = (host) => {
  const { say, number, table, worked } = touch;
  const [, x, means, plus, roots, ratios, gammas, outputs] = table(host).map((row) => row.slice(1));
  const fields = [["x", x], ["γ", gammas]].flatMap(([name, cells]) =>
    cells.map((cell, j) => ({ cell, label: say(`${name}, feature ${j}`, `${name}，特征 ${j}`), start: cell.textContent })));
  worked(host, [...fields, { label: "gz", start: 2, choices: [1, 2, 4] }, { label: "eps", start: 24, min: 0 }], (values) => {
    const [given, gamma] = [values.slice(0, 4), values.slice(4, 8)], [gz, eps] = values.slice(8);
    given.forEach((each, j) => {
      const group = given.filter((_, i) => Math.floor(i / gz) === Math.floor(j / gz));
      const mean = group.reduce((sum, one) => sum + one ** 2, 0) / gz, root = Math.sqrt(mean + eps);
      const column = [mean, mean + eps, root, each / root, (each / root) * gamma[j]];
      [means, plus, roots, ratios, outputs].forEach((row, step) => { row[j].textContent = number(column[step]); });
    });
    return say(`gz = ${gz}, so ${4 / gz} ${gz === 4 ? "root" : "roots"}: ${rootsOf(roots, gz)}.`, `gz = ${gz}，所以有 ${4 / gz} 个根：${rootsOf(roots, gz)}。`);
  });
  function rootsOf(cells, gz) {
    return cells.filter((_, j) => j % gz === 0).map((cell) => cell.textContent).join(", ");
  }
};
