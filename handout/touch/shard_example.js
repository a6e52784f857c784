// The worked example of the shards, with other ids: what each rank answers, and what the answers add up to.
touch.figures.shard_example = (host) => {
  const { say, table, worked } = touch;
  const [head, ...rows] = table(host), n = 2;
  const fields = head.slice(2).map((cell, place) =>
    ({ cell, text: "id ", label: say(`id ${place + 1} of 4`, `第 ${place + 1} 个 id`), start: cell.textContent.slice(3), min: 0, max: 5, step: 1 }));
  worked(host, fields, (ids) => {
    ids.forEach((id, place) => rows.forEach((row, rank) => {
      const answers = rank === 3 || (id >= rank * n && id <= (rank + 1) * n - 1);
      row[place + 2].textContent = answers ? `${id + 1}, ${10 * (id + 1)}` : "0, 0";
    }));
    const silent = [0, 1, 2].filter((rank) => !ids.some((id) => Math.floor(id / n) === rank));
    return silent.length
      ? say(`Nothing to say about this sentence: rank ${silent.join(", rank ")}.`, `这句话里没有它的 id：rank ${silent.join("、rank ")}。`)
      : say("Every rank has something to say about this sentence.", "每个 rank 在这句话里都有 id。");
  });
};
