// What each `rope_type` does to the frequencies of a head's pairs: the rules of ref/position, which are those of transformers.
// A rule takes the dictionary `rope_parameters`, the head, and the length of the text; frequencies are radians per position.
touch.rope = (() => {
  const frequencies = (dim, base) => Array.from({ length: dim / 2 }, (_, i) => base ** ((-2 * i) / dim));
  const clamp = (share) => Math.min(1, Math.max(0, share));
  const temperature = (factor, slope = 1) => (factor > 1 ? 0.1 * slope * Math.log(factor) + 1 : 1);
  // A pair keeps a share of its own frequency; the rest of it is divided by the factor.
  const blend = (own, factor, kept) => own.map((each, i) => each * (kept(i) + (1 - kept(i)) / factor));
  const plain = (theta) => ({ theta, attention: 1 });
  const rules = {
    default: (rope, { dim, base }) => plain(frequencies(dim, base)),
    linear: (rope, { dim, base }) => plain(frequencies(dim, base).map((each) => each / rope.factor)),
    dynamic: (rope, { dim, base, longest, length }) => {
      const stretch = (rope.factor * Math.max(length, longest)) / longest - (rope.factor - 1);
      return plain(frequencies(dim, base * stretch ** (dim / (dim - 2))));
    },
    yarn: (rope, { dim, base, longest, trained }) => {
      const factor = rope.factor ?? longest / trained;
      const pair = (turns) => (dim * Math.log(trained / (2 * Math.PI * turns))) / (2 * Math.log(base)); // which turns so often
      let [first, last] = [pair(rope.beta_fast || 32), pair(rope.beta_slow || 1)];
      if (rope.truncate ?? true) [first, last] = [Math.floor(first), Math.ceil(last)];
      [first, last] = [Math.max(first, 0), Math.min(last, dim - 1)]; // not dim / 2 - 1: so in the authors' code
      const width = last - first || 0.001, both = rope.mscale && rope.mscale_all_dim;
      const asked = both ? temperature(factor, rope.mscale) / temperature(factor, rope.mscale_all_dim) : temperature(factor);
      return { theta: blend(frequencies(dim, base), factor, (i) => 1 - clamp((i - first) / width)), attention: rope.attention_factor ?? asked };
    },
    llama3: (rope, { dim, base, trained }) => {
      const own = frequencies(dim, base), { low_freq_factor: low, high_freq_factor: high } = rope;
      const turns = own.map((each) => (trained * each) / (2 * Math.PI));
      return plain(blend(own, rope.factor, (i) => (turns[i] > high ? 1 : turns[i] < low ? 0 : clamp((turns[i] - low) / (high - low)))));
    },
    longrope: (rope, { dim, base, longest, trained, length }) => {
      const factor = rope.factor ?? longest / trained, divisors = length > trained ? rope.long_factor : rope.short_factor;
      return { theta: frequencies(dim, base).map((each, i) => each / divisors[i]),
        attention: rope.attention_factor ?? (factor > 1 ? Math.sqrt(1 + Math.log(factor) / Math.log(trained)) : 1) };
    },
    proportional: (rope, { head, base }) => { // p-RoPE: of all pairs of the head the slow ones stand still
      const turning = Math.floor(((rope.partial_rotary_factor ?? 1) * head) / 2);
      return plain(frequencies(head, base).map((each, i) => (i < turning ? each / (rope.factor ?? 1) : 0)));
    },
  };
  const needs = { linear: ["factor"], dynamic: ["factor"], llama3: ["factor", "low_freq_factor", "high_freq_factor"],
    longrope: ["short_factor", "long_factor"] };
  return { rules, needs, frequencies };
})();
