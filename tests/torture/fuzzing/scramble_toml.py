"""Spoils the text of a tickets.toml: its values, keys and tables, its tokens, its bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

_TOKEN = re.compile(r'"""|\'\'\'|"[^"\n]*"|[\w.-]+|\[\[?|\]\]?|[{}=,#]|\s+|.', re.DOTALL)
_TOML = (
    "[[ticket]]", "[defaults]", "[batch]", "[effects.send]", "[[ticket.rehearsal]]", "[", "]", "{", "}", "=", ",", ".",
    '"', "'", '"""', "'''", "#", "\n", "\\", "\\u0000", "\\ud800", "\\U0001F600", '"\\u001b[2J"', '"\\u202e"', "true",
    "nan", "inf", "-inf", "-1", "0", "1e400", "0x7fffffffffffffffff", "9" * 30, "9" * 5000, "1979-05-27T07:32:00Z",
    "07:32:00", "[]", "{}", '""', '" "', '"../x"', '"/etc/hostname"', '"/dev/zero"', '"{{x}}"', '"{a.b}"', '"{"', "id",
    "after", "prompt", "prompt_file", "effects", "vars", "key", "command", "input", '"001 login"', '"002"', '"a && b"',
    "\u2028", "\ufeff", "\0", "\x7f", "修复", "e\u0301",
)  # fmt: skip
_VALUES = (
    "true", "false", "-1", "0", "1", "2.5", "nan", "inf", "-inf", "1e400", "9" * 25, "1979-05-27T07:32:00Z", "07:32:00",
    "[]", "{}", "[[]]", "[{}]", '[""]', "[1]", '["a", "a"]', "{ a = 1 }", '{ "" = "x" }', "{ type = 1 }", '""', '" "',
    '"\\u0000"', '"\\u001b[2J"', '"\\u202e\\u2066"', '"Fix [/"', '"修复 🏷️"', '"e\u0301\u0301"', '"../x"', '"/etc"',
    '"."', '".."', '".git"', '"/dev/zero"', '"~/x"', '"C:x"', '"-x"', '"--resume"', '"{"', '"}"', '"{}"', '"{a.b}"',
    '"{a!r}"', '"{a:{b}}"', '"{{x}}"', '"{{ team }}"', '"{{"', '"a && b"', '"a $(b)"', '"a \'b"', '"A=1 b"', '"\\n"',
    '"a:b"', '"001 login"', '"002"', '"001 LOGIN"', '"once"', '"keyed"', '"object"', '"send"', '"2.1"', "'- [ ]'",
    '"tickets.toml"', '"' + "a" * 3000 + '"', '"' + "{{x}}" * 800 + '"',
)  # fmt: skip
_BYTES = (b"\xff", b"\x00", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\x1b", b'"', b"\n", b"[")


class TomlScrambler:
    """Spoils texts. All chance comes from one generator, so a seed repeats a run."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def spoil(self, text: str) -> bytes:
        """Return the text of a tickets.toml with tokens, lines or bytes changed."""
        rng = self._rng
        tokens, way = _TOKEN.findall(text), rng.random()
        for _ in range(rng.choice((1, 1, 2, 3, 8))):
            if way < 0.6:
                self._change_value(tokens)
            else:
                self._change_tokens(tokens)
        data = "".join(tokens).encode("utf-8", "surrogatepass")
        if way > 0.9:
            for _ in range(rng.choice((1, 2, 5))):
                at = rng.randrange(len(data) + 1)
                data = data[:at] + rng.choice(_BYTES) * rng.choice((1, 1, 40)) + data[at + rng.choice((0, 1, 30)) :]
        return data

    def _change_value(self, tokens: list[str]) -> None:
        """Change what leaves the file TOML mostly: a value, the name of a key, a table given twice."""
        rng, way = self._rng, self._rng.random()
        equals = [at for at, token in enumerate(tokens) if token == "=" and 2 <= at < len(tokens) - 2]
        heads = [at for at, token in enumerate(tokens) if token in ("[[", "[") and at and "\n" in tokens[at - 1]]
        if not equals or not heads:
            tokens.append("\n")
        elif way < 0.7:
            at = rng.choice(equals) + 2
            tokens[at] = tokens[at] if tokens[at] in ("[", "{", '"""', "[[") else rng.choice(_VALUES)
        elif way < 0.85:
            at = rng.choice(equals) - 2
            tokens[at] = rng.choice((tokens[rng.choice(equals) - 2], tokens[at][:-1] or "x", "depends_on", '""'))
        elif way < 0.95:
            start = rng.choice(heads)
            end = next((at for at in heads if at > start), len(tokens))
            tokens += ["\n", *tokens[start:end]]
        else:
            tokens.append(self._block())

    def _change_tokens(self, tokens: list[str]) -> None:
        rng = self._rng
        at, way = rng.randrange(len(tokens)), rng.random()
        if way < 0.45:
            tokens[at] = rng.choice(_TOML)
        elif way < 0.6:
            tokens.insert(at, rng.choice(_TOML))
        elif way < 0.7:
            del tokens[at : at + rng.choice((1, 1, 5, 60))]
        elif way < 0.78:
            tokens[at:at] = tokens[at : at + rng.choice((1, 20, 200))]
        elif way < 0.86:
            other = rng.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif way < 0.92:
            tokens[at] = rng.choice(("[", "{a=")) * rng.choice((10, 200, 2000))
        elif way < 0.96:
            tokens[at] = '"' + rng.choice(("a", "{{x}}", "\\\\", "e\u0301", "{x}", "'", "&&")) * 5000 + '"'
        else:
            tokens.append(self._block())
        if not tokens:
            tokens.append("\n")

    def _block(self) -> str:
        """Return more of the file: many tickets, many effects, or many keys."""
        rng, count = self._rng, self._rng.choice((2, 30, 400))
        name = rng.choice(("t", "002", "T", ""))
        after = rng.choice(("", 'after = ["002"]\n', f'after = ["{name}1", "{name}2"]\n', 'after = ["nobody"]\n'))
        tickets = (f'\n[[ticket]]\nid = "{name}{number}"\nprompt = "p"\n{after}' for number in range(count))
        effects = (f'\n[effects.{name}e{number}]\nkind = "once"\ndescription = "d"\n' for number in range(count))
        keys = (f"\nk{number} = {rng.choice(_TOML)}" for number in range(count))
        return "".join(rng.choice((tickets, effects, keys)))
