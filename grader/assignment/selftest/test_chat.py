"""``make demo`` and ``make chat`` run whatever a student has written in a language model: mistakes are seen and named.

For the chat, a tiny GGUF file with drawn weights takes the model's place, so nothing has to be downloaded; one test
runs the real one where it is installed.
"""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.assignment import ASSIGNMENT, demo
from grader.assignment.corpus.variants import all_variants
from grader.selftest import some
from grader.selftest.submissions import edited, write_folder
from grader.selftest.warm import WarmPython
from tests import chat as command
from tests.chat import MODEL, Chat, model_file, tokenizer_of
from tests.demo import FILE, Demo, load, read
from tests.harness import rubric
from tests.models.llama import Llama, facts_of, published, weights

PROMPT = "What is the capital of France?"
GGUF = pytest.importorskip("gguf", reason="make setup installs it")
INSTALLED = pytest.mark.skipif(find_spec(MODEL) is None, reason="the model is not installed: 93 MB")

BLOCKS, HIDDEN, INNER, HEADS, KV_HEADS, HEAD_DIM = 2, 128, 96, 2, 1, 64
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = ("t h", "th e", "Ġ the")
_SHOWN = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
_LETTERS = map(chr, (*_SHOWN, *range(256, 512 - len(_SHOWN))))  # of the 256 bytes, as in GPT-2
TOKENS = (*SPECIAL, *_LETTERS, *(merge.replace(" ", "") for merge in MERGES), "<|a|>", "<|b|>")  # 264, for four ranks


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model: its embedding in Q8_0, its matrices in Q4_1 and F16, its norms in F32, as the real one mixes."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    file = GGUF.GGUFWriter(path, "llama")
    file.add_block_count(BLOCKS)
    file.add_embedding_length(HIDDEN)
    file.add_feed_forward_length(INNER)
    file.add_head_count(HEADS)
    file.add_head_count_kv(KV_HEADS)
    file.add_context_length(8192)
    file.add_rope_freq_base(100000.0)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_token_list(TOKENS)
    file.add_token_merges(MERGES)
    kv = KV_HEADS * HEAD_DIM
    add(file, "token_embd.weight", torch.randn(len(TOKENS), HIDDEN) / 4, "Q8_0")
    rows = {"attn_q": HIDDEN, "attn_k": kv, "attn_v": kv, "attn_output": HIDDEN, "ffn_gate": INNER, "ffn_up": INNER}
    for block in range(BLOCKS):
        drawn = {name: torch.randn(count, HIDDEN) / HIDDEN**0.5 for name, count in rows.items()}
        drawn["ffn_down"] = torch.randn(HIDDEN, INNER) / INNER**0.5
        for name, matrix in drawn.items():
            add(file, f"blk.{block}.{name}.weight", matrix, "F16" if name == "attn_v" else "Q4_1")
        for name in ("attn_norm", "ffn_norm"):
            add(file, f"blk.{block}.{name}.weight", 0.5 + torch.rand(HIDDEN), "F32")
    add(file, "output_norm.weight", 0.5 + torch.rand(HIDDEN), "F32")
    write(file)
    return path


def add(file: Any, name: str, values: Tensor, kind: str) -> None:
    chosen = GGUF.GGMLQuantizationType[kind]
    file.add_tensor(name, GGUF.quantize(values.numpy(), chosen), raw_dtype=chosen)


def write(file: Any) -> None:
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def opened(path: Path) -> Any:
    return GGUF.GGUFReader(path)


# ── The file ──


def test_a_file_that_cannot_be_read_is_named(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    for data in (b"PK\3\4" + bytes(40), whole[:200], whole[:-1000]):
        (tmp_path / "a.gguf").write_bytes(data)
        with pytest.raises(ValueError, match=r"a\.gguf is not a complete GGUF file"):
            Chat(tmp_path / "a.gguf", 0, "", "en")


def test_another_kind_of_model_is_refused(tmp_path: Path) -> None:
    write(GGUF.GGUFWriter(tmp_path / "a.gguf", "gemma"))
    with pytest.raises(ValueError, match="another kind of model"):
        Llama(opened(tmp_path / "a.gguf"))


def test_the_model_is_found_in_a_folder_a_file_or_the_package(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert model_file(file) == model_file(file.parent) == file
    assert model_file(tmp_path) is None
    assert model_file(tmp_path / "none.gguf") is None
    monkeypatch.setattr(command, "MODEL", "no_such_package")
    assert model_file(None) is None
    (tmp_path / "no_such_package").mkdir()
    shutil.copy(file, tmp_path / "no_such_package")
    monkeypatch.syspath_prepend(tmp_path)
    assert model_file(None) == tmp_path / "no_such_package" / file.name


# ── Tokens ──


def test_of_all_pairs_the_earliest_merge_is_made_first(file: Path) -> None:
    """By hand: "the" is t+h, then th+e; the blank before a word belongs to it, and each digit is a token."""
    tokenizer = tokenizer_of(facts_of(opened(file)))
    assert [TOKENS[one] for one in tokenizer.encode("the then").ids] == ["the", "Ġthe", "n"]
    assert [TOKENS[one] for one in tokenizer.encode("42é").ids] == ["4", "2", "Ã", "©"]
    assert tokenizer.encode("<|im_end|>").ids != [TOKENS.index("<|im_end|>")]  # nobody ends a turn by typing
    assert tokenizer.decode(tokenizer.encode("注意  x_y\n\n").ids) == "注意  x_y\n\n"


# ── The model ──


def test_the_cache_changes_no_answer(file: Path) -> None:
    """A law: each id is the likeliest one after all ids before it."""
    model = Llama(opened(file))
    slots = published(model)
    start = [3, 70, 80]
    answer = [*model.next_ids(slots, start, 12, end=-1)]
    *_, x = model.states(slots, torch.tensor([start + answer]))
    assert model.scores(x[0]).argmax(-1).tolist()[len(start) - 1 : -1] == answer
    assert [*model.next_ids(slots, start, 12, end=answer[4])] == answer[: answer.index(answer[4])]


@pytest.mark.slow
def test_the_model_is_that_of_transformers(file: Path, transformers) -> None:  # type: ignore[no-untyped-def]
    """The same weights, with the rows of queries and keys in the order of transformers, give the same states."""
    read = opened(file)
    model, facts = Llama(read), facts_of(read)
    llama = transformers("models.llama.modeling_llama")
    config = transformers("models.llama.configuration_llama").LlamaConfig(
        vocab_size=len(TOKENS),
        hidden_size=facts["llama.embedding_length"],
        intermediate_size=facts["llama.feed_forward_length"],
        num_hidden_layers=facts["llama.block_count"],
        num_attention_heads=facts["llama.attention.head_count"],
        num_key_value_heads=facts["llama.attention.head_count_kv"],
        rms_norm_eps=facts["llama.attention.layer_norm_rms_epsilon"],
        rope_theta=facts["llama.rope.freq_base"],
    )
    theirs = llama.LlamaModel(config)
    names = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_output": "self_attn.o_proj"}
    names |= {f"attn_{one}": f"self_attn.{one}_proj" for one in "qkv"}
    names |= {f"ffn_{one}": f"mlp.{one}_proj" for one in ("gate", "up", "down")}
    state = {
        "embed_tokens.weight": weights(read, "token_embd.weight"),
        "norm.weight": weights(read, "output_norm.weight"),
    }
    for block in range(config.num_hidden_layers):
        for ours, name in names.items():
            weight = weights(read, f"blk.{block}.{ours}.weight")
            if ours in ("attn_q", "attn_k"):
                weight = (
                    weight.view(-1, model.sizes.head_dim // 2, 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape)
                )
            state[f"layers.{block}.{name}.weight"] = weight
    theirs.load_state_dict(state)
    ids = torch.tensor([[5, 100, 7, 7, 30]])
    *_, x = model.states(published(model), ids)
    with torch.no_grad():
        torch.testing.assert_close(x, theirs(ids).last_hidden_state, rtol=1e-4, atol=1e-4)


# ── What students see ──


def chat(run: WarmPython, folder: Path, file: Path, *options: str) -> tuple[int, str]:
    """The exit status, and what is printed in one line; nothing on stderr."""
    told = run(folder, "tests.chat", "--model", str(file), *options)
    assert told.stderr == ""
    return told.returncode, " ".join(told.stdout.split())


def test_stubs_answer_through_stand_ins(untouched: Path, file: Path, run: WarmPython) -> None:
    status, told = chat(run, untouched, file, "--prompt", "Hi", "--part", "1", "--lang", "zh")
    assert status == 0
    assert told.count("替身；尚待完成") == 4


def test_the_reference_is_the_published_model_in_every_part(solved: Path, file: Path, run: WarmPython) -> None:
    status, told = chat(run, solved, file, "--prompt", "<b>Hi & you</b>", "--ranks", "4", "--out", "page.html")
    assert status == 0, told
    assert told.count(": as in the published model, in every block") == 4
    assert told.count("all 264 ids get their rows") == 2
    assert "NTK-aware scaling: in the band from the first position to the last." in told
    page = (solved / "page.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;Hi &amp; you&lt;/b&gt;" in page
    assert "处处闻啼鸟" in page  # the small model's poem
    assert "http" not in page
    assert page.count("<svg") == page.count("</svg>") > 2


MISTAKES = {  # name of a variant: the part that shows it, further options, and what is read there
    "norm_groups.forgets_the_root": ("2", (), r"GroupRMSNorm: after block 1 the vectors"),
    "vocab.next_row": ("2", (), r"VocabEmbedding: after the embedding the vectors .* 264 of 264 ids get a wrong row"),
    "shard_rows.last_owned_id_lost": ("2", ("--ranks", "4"), r"4 of 264 ids get a wrong row: 65, 131, 197, 263, "),
    "rope_growth.growth_keeps_the_old_base": ("3", (), r"NTK-aware scaling: outside the band at \d+ of 16 places"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_seen_in_its_part(own: Path, file: Path, run: WarmPython, name: str) -> None:
    part, options, said = MISTAKES[name]
    files = next(variant.files for variant in all_variants() if variant.name == f"wrong.{name}")
    status, told = chat(run, write_folder(own, files), file, "--prompt", "Hi", "--part", part, *options)
    assert status == 1
    assert re.search(said, told), told
    assert 'class="wrong"' in (own / "demo.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--ranks", "5"), "RANKS=5 does not divide the vocabulary of 264 tokens"),
        (("--part", "9"), "There is no part 9; the last is 2"),
        (("--model", "nowhere"), "nowhere: there is no GGUF file"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    untouched: Path, file: Path, run: WarmPython, options: tuple[str, ...], said: str
) -> None:
    told = run(untouched, "tests.chat", "--model", str(file), *options)
    assert told.returncode == 2
    assert said in told.stderr
    assert len(told.stderr.splitlines()) == 1


def test_a_conversation_remembers_what_was_said(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer follows from all turns before it, of which the oldest are forgotten when there are too many."""
    lines = iter(["Hello", "And you?", ""])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    monkeypatch.setattr(command, "MOST", 8)
    seen: list[list[int]] = []
    answered = Llama.next_ids

    def watched(self, slots, ids, most, end):  # type: ignore[no-untyped-def]
        seen.append(ids)
        return answered(self, slots, ids, most, end)

    monkeypatch.setattr(Llama, "next_ids", watched)
    with torch.no_grad():
        talk = Chat(file, 0, "", "en").parts()[0]
        list(talk.run(talk))
    tokenizer = tokenizer_of(facts_of(opened(file)))
    first, second = (tokenizer.decode(ids) for ids in seen)
    assert first.endswith("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    said = talk.speeches[0].text
    assert second == f"{first}{said}<|im_end|>\n<|im_start|>user\nAnd you?<|im_end|>\n<|im_start|>assistant\n"


def test_an_answer_that_repeats_itself_ends(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a wrong layer the model may say one word for ever; nobody has to watch that."""
    monkeypatch.setattr(Llama, "next_ids", lambda *_: iter([TOKENS.index("the")] * command.MOST))
    answer = Chat(file, 0, "Hi", "en").parts()[0]
    list(answer.run(answer))
    assert answer.speeches[0].text == "the" * command.STUCK


BLANK = TOKENS.index("Ċ")  # a newline
OFTEN = [*map(TOKENS.index, "aĊĊĊĊĊbĊĊĊ")]


@pytest.mark.parametrize(("said", "shown"), [([BLANK] * 100, "(nothing but blank space)"), (OFTEN, "a\n\nb")])
def test_a_run_of_blank_lines_is_not_printed(
    file: Path, monkeypatch: pytest.MonkeyPatch, said: list[int], shown: str
) -> None:
    monkeypatch.setattr(Llama, "next_ids", lambda *_: iter(said))
    answer = Chat(file, 0, "Hi", "en").parts()[0]
    printed = "".join(answer.run(answer))
    assert answer.speeches[0].text == shown
    assert printed.strip().startswith(f"{shown}\n[")


# ── The real model ──


@INSTALLED
def test_the_reference_in_the_real_model_names_the_capital(solved: Path, run: WarmPython) -> None:
    told = run(solved, "tests.chat", "--prompt", PROMPT, "--part", "1", "--ranks", "4")
    assert (told.returncode, told.stderr) == (0, "")
    assert "The capital of France is Paris." in told.stdout


MOST_BYTES = 2 << 20
VERSE = "处处闻啼鸟"  # how the poem goes on; the model knows it by heart


def squeezed(text: str) -> str:
    """The text without line breaks and indentation, which depend on the terminal."""
    return re.sub(r"\n *", "", text)


def test_stubs_speak_through_stand_ins(untouched: Path, run: WarmPython) -> None:
    told = run(untouched, "tests.demo")
    assert (told.returncode, told.stderr) == (0, "")
    assert " ".join(told.stdout.split()).count("a stand-in; to implement: src/") == 3
    assert "As expected." in told.stdout
    assert squeezed(told.stdout).count(" the ") > 3


def test_a_task_that_was_deleted_leaves_its_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [task for task in rubric.load().tasks if "NTKAwareRoPE" not in task.names]
    monkeypatch.setattr(rubric, "load", lambda: rubric.Rubric({}, tuple(kept)))
    assert [report.name for report in Demo(load(), "en").reports] == ["GroupRMSNorm", "VocabEmbedding"]


def test_the_first_task_alone_is_switched_on(own: Path, run: WarmPython) -> None:
    file = "src/modeling/norm.py"
    told = run(write_folder(own, {file: ASSIGNMENT.solution()[file]}), "tests.demo", "--lang", "zh")
    assert (told.returncode, told.stderr) == (0, "")
    assert re.search(r"● GroupRMSNorm +你写的", told.stdout)
    assert told.stdout.count("替身；尚待完成") == 2
    assert "这正是应有的结果。" in told.stdout
    assert VERSE in squeezed(told.stdout)  # which the stand-in of the norm does not recite


def test_the_reference_is_right_and_says_the_same_twice(solved: Path, run: WarmPython) -> None:
    first, again = run(solved, "tests.demo", "--out", "page.html"), run(solved, "tests.demo")
    assert (first.returncode, first.stderr) == (0, "")
    assert again.stdout.partition("\nThe demo does not cover")[0] in first.stdout
    assert "✗" not in first.stdout
    assert VERSE in squeezed(first.stdout)
    page = (solved / "page.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("<svg") == page.count("</svg>")


SEEN = {  # name of a variant: the layer that is named, and how many nats it costs at least
    "wrong.norm_groups.rms_over_the_whole_hidden_dimension": ("GroupRMSNorm", 1.20),
    "wrong.rotary.rotates_the_other_way": ("NTKAwareRoPE", 3),
}


@pytest.mark.parametrize("name", some(SEEN, 2))
def test_a_mistake_is_seen(own: Path, run: WarmPython, name: str) -> None:
    layer, least = SEEN[name]
    files = next(variant.files for variant in all_variants() if variant.name == name)
    told = run(write_folder(own, files), "tests.demo")
    assert (told.returncode, told.stderr) == (1, "")
    found = re.search(rf"unseen text: ([\d.]+) nats .* {layer} is the cause", " ".join(told.stdout.split()))
    assert found is not None, told.stdout
    assert float(found[1]) >= least


ERRORS = {  # an edit of the norm: what is said of it
    "an error": ("mean_square + self.eps", "mean_square + self.epsilon", "has no attribute 'epsilon'"),
    "no return": ("        return (normalised", "        (normalised", "received None"),
    "numbers that are none": ("mean_square + self.eps", "-mean_square", "not finite"),
    "an exit": ("        mean_square = ", "        exit(3)\n        mean_square = ", "exits the program"),
}


@pytest.mark.parametrize("error", some(ERRORS, 2))
def test_an_error_is_one_message_that_names_the_layer(own: Path, run: WarmPython, error: str) -> None:
    old, new, said = ERRORS[error]
    mistaken = edited(("src/modeling/norm.py", old, new), of=ASSIGNMENT)
    told = run(write_folder(own, mistaken), "tests.demo")
    assert (told.returncode, told.stderr) == (1, "")
    (line,) = re.findall(r"✗ GroupRMSNorm.*?(?=\n  \S)", told.stdout, re.DOTALL)
    assert said in " ".join(line.split())


def test_the_checkpoint_is_small_and_holds_no_tables_of_angles() -> None:
    """A table of cosines begins with ones and one of sines with zeros, at position 0."""
    assert FILE.stat().st_size <= MOST_BYTES
    for name, tensor in load().tensors.items():
        rows = tensor.flatten(0, -2)
        assert not torch.isin(rows[0], torch.tensor([0.0, 1.0])).all(), name


@pytest.mark.parametrize("data", [FILE.read_bytes()[:-1], b"PK"], ids=["cut off", "too short"])
def test_a_checkpoint_that_is_not_whole_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a complete safetensors file"):
        read(data)


@pytest.mark.slow
def test_training_writes_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps on a few sentences: far from a model, but what the demo reads."""
    prose = "\n\n".join(
        f"{'The rays of light bend. ' * 9}It is so, as {['one', 'two', 'three'][n % 3]} saw." for n in range(36)
    )
    poems = "\n%\n".join(["\x1b[32m《题》\x1b[m\n床前明月光，\n举头望低头。"] * 9)
    for name, text in (("prose", prose), ("poems", poems)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    options = ["--prose", str(tmp_path / "prose"), "--poems", str(tmp_path / "poems"), "--steps", "2"]
    monkeypatch.setattr("sys.argv", ["train", *options, "--out", str(tmp_path / "out.safetensors")])
    monkeypatch.setattr(demo, "WINDOWS", 2)
    demo.main()
    made = load(tmp_path / "out.safetensors")
    assert made.expected["loss"][0] < 6
    assert made.tensors["table"].shape == (len(made.characters), made.sizes.hidden)
