"""The sample class. An edit replaces a piece of the reference's text; a test makes sure that the piece is there."""

from __future__ import annotations

from grader.specimens.students import SampleStudent

NORM = "src/modeling/norm.py"
VOCAB = "src/modeling/vocab_emb.py"
ROPE = "src/modeling/pos_emb.py"
ROTARY = "src/functional.py"

STUDENTS = (
    SampleStudent("ada", "everything right"),
    SampleStudent("bo", "nothing done yet", stubs=(NORM, VOCAB, ROPE, ROTARY)),
    SampleStudent("chen", "tasks 1 and 2 to 3 done, the bonus not", stubs=(ROPE, ROTARY), packed="zip"),
    SampleStudent(
        "dana",
        "normalises over the whole hidden dimension",
        edits=((NORM, "unflatten(-1, (-1, self.group_size))", "unflatten(-1, (1, -1))"),),
    ),
    SampleStudent(
        "emeka",
        "adds eps after the root",
        edits=((NORM, "torch.sqrt(mean_square + self.eps)", "(torch.sqrt(mean_square) + self.eps)"),),
    ),
    SampleStudent(
        "farid",
        "squares 16-bit numbers",
        edits=((NORM, "input.to(compute_dtype)", "input"),),
        packed="nested",
    ),
    SampleStudent(
        "grace",
        "clamps foreign ids and forgets the zeros; all ranks share a seed",
        edits=(
            (VOCAB, "rows.masked_fill(foreign, 0)", "rows.clamp(0, self.shard.shape[0] - 1)"),
            (VOCAB, "embedded.masked_fill(foreign.unsqueeze(-1), 0)", "embedded"),
            (VOCAB, "init_base_seed + rank", "init_base_seed"),
        ),
    ),
    SampleStudent(
        "hiro",
        "rotates neighbouring features",
        edits=(
            (ROTARY, "first, second = input.chunk(2, dim=-1)", "first, second = input[..., ::2], input[..., 1::2]"),
            (ROTARY, "torch.cat((-second, first), dim=-1)", "torch.stack((-second, first), dim=-1).flatten(-2)"),
            (ROPE, "torch.cat((angles, angles), dim=-1)", "angles.repeat_interleave(2, dim=-1)"),
        ),
    ),
    SampleStudent(
        "ines",
        "interpolates positions, and takes odd ratios",
        edits=(
            (ROPE, "base = _ntk_base(self.base, self.dim, ratio)", "base = self.base"),
            (ROPE, "dtype=torch.float32, device=device)\n        angles", "device=device) / ratio\n        angles"),
            (ROPE, "2 * -(-seq_len // (2 * self.max_seq_len))", "-(-seq_len // self.max_seq_len)"),
        ),
    ),
    SampleStudent(
        "jonas",
        "keeps the grown tables in every mode, as persistent buffers",
        edits=(
            (ROPE, "if self.dynamic:\n                self.cos", "if True:\n                self.cos"),
            (ROPE, '"cos", cos, persistent=False', '"cos", cos'),
        ),
    ),
    SampleStudent(
        "kofi",
        "an exception in forward",
        edits=((NORM, "groups.square()", "groups.sqare()"),),
    ),
    SampleStudent(
        "lena",
        "a loop that never ends",
        edits=((ROPE, "        if seq_len > cos.shape[0]:", "        while seq_len > self.cos.shape[0]:"),),
    ),
    SampleStudent(
        "mina",
        "prints without end",
        edits=(
            (
                VOCAB,
                "        return nn.functional",
                "        print('ids', input_ids.tolist(), 'x' * 100_000)\n        return nn.functional",
            ),
        ),
    ),
    SampleStudent(
        "nils",
        "a syntax error in one file, Latin-1 in another",
        edits=((NORM, "def forward(self, input: Tensor) -> Tensor:", "def forward(self, input: Tensor) -> Tensor"),),
        raw={ROTARY: "# Drehung für Paare\n".encode("latin-1")},
    ),
    SampleStudent("olga", "forgot one file", without=(VOCAB,), packed="zip"),
    SampleStudent("pavel", "submitted an empty file named as a zip", raw={"": b""}, packed="zip"),
)
