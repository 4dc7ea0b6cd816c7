"""A prompt is data: filled in where it asks for it, and otherwise untouched."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.core.spec import BatchSpec

    Load = Callable[[str | bytes], BatchSpec]
    FaultsOf = Callable[[str | bytes], list[str]]


def ticket(lines: str) -> str:
    return f'[[ticket]]\nid = "003-deploy"\n{lines}\n'


@pytest.mark.parametrize(
    "prompt",
    [
        "- [ ] a box", "---", "--help", "/clear", "@/etc/passwd", "!ls", "#memory", "{x} {} {{}} {{a b}} {{ a.b }}",
        "${{ secrets.TOKEN }}", "Fix [/", "[@click=app.quit]hi[/]", "\x1b[2J\x07\u202e", "  spaces \n\n", "修复 🏷️",
        "%s %(x)s $HOME `ls`", "\ufeffmark", "\\{x}",
    ],
)  # fmt: skip
def test_a_prompt_is_taken_as_it_is(load_toml: Load, tmp_path: Path, prompt: str) -> None:
    assert load_toml(ticket(f"prompt = {json.dumps(prompt, ensure_ascii=False)}")).tickets[0].prompt == prompt
    (tmp_path / "p.md").write_bytes(b"\xef\xbb\xbf" + prompt.encode())
    assert load_toml(ticket('prompt_file = "p.md"')).tickets[0].prompt == prompt


def test_variables_are_filled_in_once(load_toml: Load) -> None:
    content = ticket('prompt = "{{a}}{{ b }} \\\\{{a}}"\nvars = { a = "{{b}}", b = 7, unused = true }')
    assert load_toml(content).tickets[0].prompt == "{{b}}7 {{a}}"


def test_variables_fill_a_prompt_file(load_toml: Load, tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("Hi {{who}}")
    content = '[defaults.vars]\nwho = "all"\n' + ticket('prompt_file = "p.md"')
    assert load_toml(content).tickets[0].prompt == "Hi all"


FAULTS = [
    ('prompt = ""', "prompt: is blank (say what the agent should do)"),
    ('prompt = "\\u200B\\uFEFF \\u00A0"', "prompt: is blank (say what the agent should do)"),
    ('prompt = " \\n\\t "', "prompt: is blank (say what the agent should do)"),
    ('prompt = "{{a}}"\nvars = { a = "" }', "prompt: is blank (say what the agent should do)"),
    ("prompt = 3", "prompt: must be a text in quotes, not 3"),
    ('prompt = "a\\u0000b"', "prompt: has a NUL character at offset 1"),
    ('prompt = "a"\nprompt_file = "b"', "has both prompt and prompt_file (keep one of them)"),
    ("", "has no prompt (add prompt or prompt_file)"),
    (
        'prompt = "{{nmae}} {{nmae}}"\nvars = { name = "x" }',
        'prompt: unknown variable "{{nmae}}" (did you mean "name"?)',
    ),
    ('prompt = "{{who}}"', 'prompt: unknown variable "{{who}}" (add it to vars, or write \\{{who}})'),
    ('prompt_file = "."', 'prompt_file: is not a file: "."'),
    ('prompt_file = ""', "prompt_file: must not be blank"),
    ('prompt_file = "latin.md"', 'prompt_file: "latin.md" is not UTF-8 at byte 1 (save it as UTF-8)'),
    ('prompt_file = "blank.md"', "prompt_file: is blank (say what the agent should do)"),
    ('prompt_file = "nul.md"', "prompt_file: has a NUL character at offset 0"),
    ('prompt_file = "huge.md"', 'prompt_file: "huge.md" is longer than 1,000,000 bytes'),
    ('prompt_file = "/dev/zero"', 'prompt_file: is not a file: "/dev/zero"'),
]


@pytest.mark.parametrize(("lines", "fault"), FAULTS)
def test_a_wrong_prompt_names_its_ticket(faults_of: FaultsOf, tmp_path: Path, lines: str, fault: str) -> None:
    (tmp_path / "latin.md").write_bytes(b"a\xe9")
    (tmp_path / "blank.md").write_bytes(b"\xef\xbb\xbf \n")
    (tmp_path / "nul.md").write_bytes(b"\0")
    (tmp_path / "huge.md").write_text("é" * 500_001)
    (only,) = faults_of(ticket(lines))
    separator = " " if fault.startswith("prompt") else ": "
    assert only == f'tickets.toml: [[ticket]] 1 "003-deploy"{separator}{fault}'


def test_a_prompt_file_that_is_not_there(faults_of: FaultsOf, tmp_path: Path) -> None:
    (fault,) = faults_of(ticket('prompt_file = "no/p.md"'))
    assert 'prompt_file: no such file: "no/p.md" (looked in ' in fault
    (fault,) = faults_of(ticket(f'prompt_file = "{"x" * 300}"'))
    assert "File name too long" in fault


def test_the_size_of_a_prompt(load_toml: Load, faults_of: FaultsOf) -> None:
    assert len(load_toml(ticket(f'prompt = "{"x" * 1_000_000}"')).tickets[0].prompt) == 1_000_000
    assert faults_of(ticket(f'prompt = "{"x" * 1_000_001}"'))[0].endswith("prompt: is longer than 1,000,000 bytes")
    grown = ticket('prompt = "' + "{{a}}" * 20 + f'"\nvars = {{ a = "{"x" * 60_000}" }}')
    assert faults_of(grown)[0].endswith("prompt: is longer than 1,000,000 bytes")
