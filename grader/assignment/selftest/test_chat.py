"""``make chat`` runs a published model on whatever a student has written, and shows what is wrong in it.

A tiny GGUF file with drawn weights takes the model's place, so nothing has to be downloaded; the last tests run the
real one where it is installed.
"""

from __future__ import annotations

import re
import shutil
import struct
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from grader import REPOSITORY
from grader.assignment.corpus.variants import all_variants
from grader.assignment.selftest.tiny_gguf import MERGES, TOKENS, f16, f32, gguf, q4_1, q8_0, tiny_gguf
from grader.lab.release.leaks import leaks
from grader.selftest.submissions import write_folder
from grader.selftest.warm import WarmPython
from tests import chat as command
from tests.chat import Chat
from tests.models import gguf as files
from tests.models.gguf import Gguf, Tokenizer, model_file
from tests.models.llama import Llama, published

CODE = REPOSITORY / "tests" / "models"
PROMPT = "What is the capital of France?"
INSTALLED = pytest.mark.skipif(find_spec(files.PACKAGE) is None, reason="the model is not installed: 93 MB")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    path.write_bytes(tiny_gguf())
    return path


# ── The file ──


def test_quantised_blocks_are_read_as_their_definition_says(tmp_path: Path) -> None:
    """By hand: 32 numbers of each type from a scale, a least value, and the integers written here."""
    signed = [*range(-16, 16)]
    low, high = [*range(16)], [*reversed(range(16))]
    nibbles = bytes(a | b << 4 for a, b in zip(low, high, strict=True))
    stored = {
        "q8": ((1, 32), 8, struct.pack("<e32b", 0.5, *signed)),
        "q4": ((2, 16), 3, struct.pack("<ee", 0.25, -1.0) + nibbles),
    }
    (tmp_path / "a.gguf").write_bytes(gguf({}, stored))
    read = Gguf(tmp_path / "a.gguf")
    assert read.tensor("q8").tolist() == [[0.5 * value for value in signed]]
    assert read.tensor("q4").tolist() == [[0.25 * value - 1 for value in half] for half in (low, high)]


@pytest.mark.parametrize(("write", "off"), [(f32, 0), (f16, 2**-11), (q8_0, 1 / 127), (q4_1, 1 / 14)])
def test_a_tensor_comes_back_as_far_as_its_type_allows(tmp_path: Path, write, off: float) -> None:  # type: ignore[no-untyped-def]
    values = 2 * torch.rand(3, 64, generator=torch.Generator().manual_seed(1)) - 1
    (tmp_path / "a.gguf").write_bytes(
        gguf({"general.alignment": 32}, {"first": f32(torch.ones(5)), "x": write(values)})
    )
    torch.testing.assert_close(Gguf(tmp_path / "a.gguf").tensor("x"), values, rtol=0, atol=off)


DAMAGE = {
    "another file": (b"PK\3\4" + bytes(40), "is not a GGUF file of version 3"),
    "cut off in the header": (tiny_gguf()[:200], r"The header of .* is damaged"),
    "cut off in the weights": (tiny_gguf()[:-1000], "is cut off before the end of"),
    "a type that is not read": (gguf({}, {"x": ((32,), 12, bytes(32))}), "x has type 12; F32, F16, Q4_1 and Q8_0"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, damage: str) -> None:
    data, said = DAMAGE[damage]
    (tmp_path / "a.gguf").write_bytes(data)
    with pytest.raises(ValueError, match=said):
        Gguf(tmp_path / "a.gguf")


def test_another_kind_of_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(gguf({"general.architecture": "gemma"}, {}))
    with pytest.raises(ValueError, match="another kind of model"):
        Llama(Gguf(tmp_path / "a.gguf"))


def test_the_model_is_found_in_a_folder_a_file_or_the_package(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert model_file(file) == model_file(file.parent) == file
    assert model_file(tmp_path) is None
    assert model_file(tmp_path / "none.gguf") is None
    monkeypatch.setattr(files, "PACKAGE", "no_such_package")
    assert model_file(None) is None
    (tmp_path / "no_such_package").mkdir()
    shutil.copy(file, tmp_path / "no_such_package")
    monkeypatch.syspath_prepend(tmp_path)
    assert model_file(None) == tmp_path / "no_such_package" / file.name


# ── Tokens ──

TEXTS = (
    "The theory isn't 3.14, it's 42!\n\n  indented  twice \n1. one",
    "注意力  [b, s, h] -> _x_ 12 \t tab ",
    "def f(x):\n    return x ** 2  # ok\n",
)


def test_of_all_pairs_the_earliest_merge_is_made_first() -> None:
    """By hand: "the" is t+h, then th+e; the blank before a word belongs to it."""
    tokenizer = Tokenizer(TOKENS, MERGES)
    assert [TOKENS[one] for one in tokenizer.encode("the then")] == ["the", "Ġthe", "n"]
    assert tokenizer.encode("<|im_end|>") != [TOKENS.index("<|im_end|>")]  # nobody ends a turn by typing


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_those_of_the_tokenizers_library(text: str) -> None:
    library = pytest.importorskip("tokenizers", reason="comes with transformers")
    vocabulary = {token: place for place, token in enumerate(TOKENS)}
    theirs = library.Tokenizer(library.models.BPE(vocabulary, [tuple(merge.split()) for merge in MERGES]))
    theirs.pre_tokenizer = library.pre_tokenizers.Sequence(
        [
            library.pre_tokenizers.Digits(individual_digits=True),
            library.pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    ours = Tokenizer(TOKENS, MERGES)
    assert ours.encode(text) == theirs.encode(text).ids
    assert "".join(ours.spoken(ours.encode(text))) == text


# ── The model ──


def test_the_cache_changes_no_answer(file: Path) -> None:
    """A law: each id is the likeliest one after all ids before it."""
    model = Llama(Gguf(file))
    slots = published(model)
    start = [3, 70, 80]
    answer = [*model.next_ids(slots, start, 12, end=-1)]
    *_, x = model.states(slots, torch.tensor([start + answer]))
    assert model.scores(x[0]).argmax(-1).tolist()[len(start) - 1 : -1] == answer
    assert [*model.next_ids(slots, start, 12, end=answer[4])] == answer[: answer.index(answer[4])]


def test_the_model_is_that_of_transformers(file: Path, transformers) -> None:  # type: ignore[no-untyped-def]
    """The same weights, with the rows of queries and keys in the order of transformers, give the same states."""
    read = Gguf(file)
    model, facts = Llama(read), read.facts
    llama = transformers("models.llama.modeling_llama")
    config = transformers("models.llama.configuration_llama").LlamaConfig(
        vocab_size=len(TOKENS),
        hidden_size=facts["llama.embedding_length"],
        intermediate_size=read.stored["blk.0.ffn_up.weight"].shape[0],
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
    state = {"embed_tokens.weight": read.tensor("token_embd.weight"), "norm.weight": read.tensor("output_norm.weight")}
    for block in range(config.num_hidden_layers):
        for ours, name in names.items():
            weight = read.tensor(f"blk.{block}.{ours}.weight")
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


@pytest.mark.process
@pytest.mark.slow
def test_stubs_answer_through_stand_ins(untouched: Path, file: Path, run: WarmPython) -> None:
    status, told = chat(run, untouched, file, "--prompt", "Hi", "--part", "1", "--lang", "zh")
    assert status == 0
    assert told.count("替身；尚待完成") == 4


@pytest.mark.process
@pytest.mark.slow
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
    "vocab.scaled_by_the_root_of_the_size": ("2", (), r"VocabEmbedding: .* perplexity .* 264 of 264 ids"),
    "shard_rows.last_owned_id_lost": ("2", ("--ranks", "4"), r"4 of 264 ids get a wrong row: 65, 131, 197, 263, "),
    "rotary.rotates_neighbours": ("2", (), r"NTKAwareRoPE: after block 1 the vectors"),
    "rope_growth.growth_keeps_the_old_base": ("3", (), r"NTK-aware scaling: outside the band at \d+ of 16 places"),
}


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_seen_in_its_part(untouched: Path, tmp_path: Path, file: Path, run: WarmPython, name: str) -> None:
    part, options, said = MISTAKES[name]
    files = next(variant.files for variant in all_variants() if variant.name == f"wrong.{name}")
    folder = write_folder(shutil.copytree(untouched, tmp_path / "a"), files)
    status, told = chat(run, folder, file, "--prompt", "Hi", "--part", part, *options)
    assert status == 1
    assert re.search(said, told), told
    assert 'class="wrong"' in (folder / "demo.html").read_text(encoding="utf-8")


@pytest.mark.process
@pytest.mark.slow
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
    first, second = (Tokenizer(TOKENS, MERGES).decode(ids) for ids in seen)
    assert first.endswith("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    said = talk.speeches[0].text
    assert second == f"{first}{said}<|im_end|>\n<|im_start|>user\nAnd you?<|im_end|>\n<|im_start|>assistant\n"


def test_an_answer_that_repeats_itself_ends(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a wrong layer the model may say one word for ever; nobody has to watch that."""
    monkeypatch.setattr(Llama, "next_ids", lambda *_: iter([TOKENS.index("the")] * command.MOST))
    answer = Chat(file, 0, "Hi", "en").parts()[0]
    list(answer.run(answer))
    assert answer.speeches[0].text == "the" * command.STUCK


def test_stand_ins_solve_nothing() -> None:
    """What a release would refuse."""
    ours = {
        path.relative_to(REPOSITORY).as_posix(): path.read_bytes()
        for path in (*CODE.glob("*.py"), *CODE.parent.glob("*.py"))
    }
    assert len(ours) > 3
    assert [*leaks(ours)] == []


def test_a_prompt_reaches_python_as_it_is_typed() -> None:
    """Quotes, dollars and commands in a prompt are letters for make and for the shell."""
    for makefile in (REPOSITORY / "Makefile", REPOSITORY / "grader/lab/release/student/Makefile"):
        text = makefile.read_text(encoding="utf-8")
        assert "export CHAT_PROMPT := $(if $(filter command%,$(origin PROMPT)),$(value PROMPT))" in text
        assert '--prompt "$$CHAT_PROMPT"' in text


# ── The real model ──


@INSTALLED
@pytest.mark.process
@pytest.mark.slow
def test_the_reference_in_the_real_model_names_the_capital(solved: Path, run: WarmPython) -> None:
    told = run(solved, "tests.chat", "--prompt", PROMPT, "--part", "1", "--ranks", "4")
    assert (told.returncode, told.stderr) == (0, "")
    assert "The capital of France is Paris." in told.stdout


@INSTALLED
@pytest.mark.slow
def test_the_reader_agrees_with_the_package_gguf_on_the_real_file() -> None:
    package = pytest.importorskip("gguf", reason="only needed to compare with")
    path = model_file(None)
    assert path is not None
    read = Gguf(path)
    for theirs in package.GGUFReader(path).tensors[:12]:  # of each type
        expected = torch.tensor(package.quants.dequantize(theirs.data, theirs.tensor_type))
        assert torch.equal(read.tensor(theirs.name), expected.view(read.stored[theirs.name].shape)), theirs.name
