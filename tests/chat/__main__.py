"""``python -m tests.chat``, behind ``make chat``: your layers run a real language model."""

import argparse
import sys
from pathlib import Path

from ..demo.show import parser, show
from ..demo.words import say
from ..harness.messages import Language
from ..harness.terminal import exit_status
from .gguf import model_file
from .parts import Chat


def main() -> int:
    """Run the model, and return 0 only if nothing that the student wrote is wrong in it."""
    options = parser("tests.chat")
    options.add_argument("--prompt", default="", help="a question; without it, a conversation")
    options.add_argument("--ranks", type=int, default=0, help="sum ParallelVocabEmbedding over so many ranks")
    options.add_argument("--model", type=Path, help="a GGUF file of SmolLM2-135M-Instruct, or the folder of one")
    return show(options, _loaded)


def _loaded(arguments: argparse.Namespace, language: Language) -> Chat:
    file = model_file(arguments.model)
    if file is None:
        raise ValueError(say(language, "nowhere" if arguments.model else "not_installed", place=arguments.model))
    return Chat(file, arguments.ranks, arguments.prompt, language)


sys.exit(exit_status(main))
