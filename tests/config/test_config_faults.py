"""Every fault is one line: file, place, what is wrong, the nearest right name; and all come in one pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from supervisor.config import ConfigError, Fault, load
from supervisor.config.order import cycles
from supervisor.core.errors import SupervisorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.core.spec import BatchSpec

    Load = Callable[[str | bytes], BatchSpec]
    FaultsOf = Callable[[str | bytes], list[str]]

OK = '[[ticket]]\nid = "001"\nprompt = "go"\n'
SEND = '[effects.send]\nkind = "once"\ndescription = "d"\ncommand = "send"\n'
INPUT = 'input = { type = "object", properties = { pr = { type = "integer" } } }\n'


def ticket(lines: str, ticket_id: str = "001") -> str:
    return f'[[ticket]]\nid = "{ticket_id}"\nprompt = "go"\n{lines}\n'


FILE = [
    (b"", "the file is empty (a batch needs at least one [[ticket]])"),
    (b"\xef\xbb\xbf\r\n  \r\n", "the file is empty (a batch needs at least one [[ticket]])"),
    (
        b'[batch]\nname = "x\xff"\n',
        "line 2: not UTF-8: byte 0xff at offset 17 (save the file as UTF-8)",
    ),
    (
        b'\xef\xbb\xbfname = "\xe9"\n',
        "line 1: not UTF-8: byte 0xe9 at offset 11 (save the file as UTF-8)",
    ),
    (
        "[batch]".encode("utf-16"),
        "line 1: not UTF-8: byte 0xff at offset 0 (it looks like UTF-16; save it as UTF-8)",
    ),
    ("[batch]\nslots 3\n", "line 2, column 7: not valid TOML: Expected '=' after a key in a key/value pair"),
    (
        '[[ticket]]\nid = "1',
        "line 2, column 8 (the end): not valid TOML: Unterminated string",
    ),
    (
        'a = "x\ny"',
        "line 1, column 7: not valid TOML: Illegal character '\\n' (a text of several lines stands between "
        '""" and """)',
    ),
    (
        "[batch]\nslots = 1\nslots = 2\n",
        "line 3, column 10: not valid TOML: Cannot overwrite a value (a key or table is given twice)",
    ),
    pytest.param("a = " + "[" * 5000, "not valid TOML: lists or tables are nested too deeply", id="nested"),
    ("[batch]\n", 'has no tickets (a batch needs at least one [[ticket]] with id = "…" and prompt = "…")'),
]


@pytest.mark.parametrize(("content", "fault"), FILE)
def test_a_file_that_is_no_batch(faults_of: FaultsOf, content: str | bytes, fault: str) -> None:
    assert faults_of(content) == [f"tickets.toml: {fault}"]


def test_a_file_of_8_megabytes(faults_of: FaultsOf, load_toml: Load) -> None:
    comment = b"#" * (8_000_000 - len(OK) - 1) + b"\n"
    assert load_toml(comment + OK.encode()).tickets
    assert faults_of(b"#" + comment + OK.encode()) == [
        "tickets.toml: is larger than 8,000,000 bytes (move long prompts to files and name them in prompt_file)"
    ]


def test_a_number_of_thousands_of_digits(faults_of: FaultsOf) -> None:
    assert "not valid TOML: Exceeds the limit" in faults_of("a = " + "9" * 5000)[0]
    assert "must be at most 1000, not a number of that size" in faults_of(f"[batch]\nslots = 0x{'f' * 9000}\n{OK}")[0]


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path, fault in [
        ("tickets.toml", "tickets.toml: no such file"),
        (".", ".: is a directory, not a file (name the tickets.toml inside it)"),
        ("x" * 300, "x" * 300 + ": cannot be read: File name too long"),
        ("a\0b", "a␀b: cannot be read: embedded null byte"),
    ]:
        with pytest.raises(ConfigError) as caught:
            load(Path(path))
        assert list(map(str, caught.value.faults)) == [fault]
    assert list(tmp_path.iterdir()) == []


TOP = [
    ("[[tickets]]\n", 'unknown table "tickets" (did you mean "ticket"?)'),
    (OK + "[effect.x]\n", 'unknown table "effect" (did you mean "effects"?)'),
    ("slots = 3\n" + OK, 'unknown key "slots" (it belongs in [batch])'),
    ('[ticket]\nid = "1"\n', "[ticket]: must be a list of tables, not a table (write [[ticket]])"),
    ("batch = 3\n" + OK, "[batch]: must be a table, not 3"),
    ("defaults = []\n" + OK, "[defaults]: must be a table, not a list"),
    ("effects = []\n" + OK, "[effects]: must hold one table for each effect, not a list (write [effects.NAME])"),
    ("ticket = [1]\n", "[[ticket]] 1: must be a table, not 1"),
]
BATCH = [
    ("slots = 0", "[batch] slots: must be at least 1, not 0"),
    ("slots = true", "[batch] slots: must be a whole number, not true"),
    ('slots = "3"', '[batch] slots: must be a whole number, not "3"'),
    ("slots = 1.5", "[batch] slots: must be a whole number, not 1.5"),
    ("slots = 0x" + "f" * 20, "[batch] slots: must be at most 1000, not a number of that size"),
    ("budget_usd = -1", "[batch] budget_usd: must be more than 0, not -1"),
    ("budget_usd = 0.0", "[batch] budget_usd: must be more than 0, not 0.0"),
    ("budget_usd = nan", "[batch] budget_usd: must be more than 0, not nan"),
    ("budget_usd = inf", "[batch] budget_usd: must be at most 1000000000, not inf"),
    ("budget_usd = false", "[batch] budget_usd: must be a number, not false"),
    ("max_retries = -1", "[batch] max_retries: must be at least 0, not -1"),
    ('base = "--all"', '[batch] base: must not begin with a dash: "--all"'),
    ('name = " "', "[batch] name: must not be blank"),
    ('name = "a\\nb"', '[batch] name: must be one line without control characters, not "a\\nb"'),
    ("name = 2026-01-01", "[batch] name: must be a text in quotes, not a date or time"),
    (
        'claude_home = "mine"',
        '[batch] claude_home: must be one of "auto", "own", "user", not "mine"',
    ),
    ("max_turns = 3", '[batch]: unknown key "max_turns" (it belongs in [defaults] or [[ticket]])'),
    ("concurrency = 3", '[batch]: unknown key "concurrency" (did you mean "slots"?)'),
]
TICKET = [
    ("bugdet_usd = 1", '[[ticket]] 1 "001": unknown key "bugdet_usd" (did you mean "budget_usd"?)'),
    ('depends_on = ["1"]', '[[ticket]] 1 "001": unknown key "depends_on" (did you mean "after"?)'),
    ("slots = 1", '[[ticket]] 1 "001": unknown key "slots" (it belongs in [batch])'),
    ('"a\\u001Bb" = 1', '[[ticket]] 1 "001": unknown key "a␛b"'),
    ("title = 3", '[[ticket]] 1 "001" title: must be a text in quotes, not 3'),
    ('rules = "a\\u0000b"', '[[ticket]] 1 "001" rules: has a NUL character at offset 1'),
    ("budget_usd = -0.5", '[[ticket]] 1 "001" budget_usd: must be more than 0, not -0.5'),
    ("reserve_usd = -1", '[[ticket]] 1 "001" reserve_usd: must be at least 0, not -1'),
    (
        "budget_usd = 1\nreserve_usd = 1",
        '[[ticket]] 1 "001" budget_usd: must be more than the reserve of 1, not 1',
    ),
    (
        "budget_usd = 0.05",
        '[[ticket]] 1 "001" budget_usd: must be more than the reserve of 0.05, not 0.05 '
        "(that is kept free unless reserve_usd says less)",
    ),
    ("max_turns = 0", '[[ticket]] 1 "001" max_turns: must be at least 1, not 0'),
    ("verify_rounds = -1", '[[ticket]] 1 "001" verify_rounds: must be at least 0, not -1'),
    ("setup_timeout_s = 0", '[[ticket]] 1 "001" setup_timeout_s: must be more than 0, not 0'),
    ("stall_minutes = nan", '[[ticket]] 1 "001" stall_minutes: must be more than 0, not nan'),
    ("project_instructions = 1", '[[ticket]] 1 "001" project_instructions: must be true or false, not 1'),
    ('model = "-p"', '[[ticket]] 1 "001" model: must not begin with a dash: "-p"'),
    (
        'on_limit = "rise"',
        '[[ticket]] 1 "001" on_limit: must be one of "ask", "raise", not "rise" (did you mean "raise"?)',
    ),
    (
        'permission_mode = "accept_edits"',
        '[[ticket]] 1 "001" permission_mode: must be one of "default", "acceptEdits", "plan", "bypassPermissions", '
        '"dontAsk", not "accept_edits" (did you mean "acceptEdits"?)',
    ),
    ('allowed_tools = "Read"', '[[ticket]] 1 "001" allowed_tools: must be a list, not "Read" (write ["Read"])'),
    ("allowed_tools = [1]", '[[ticket]] 1 "001" allowed_tools: item 1 must be a text in quotes, not 1'),
    ('copy = ["a", "/etc"]', '[[ticket]] 1 "001" copy: item 2 must be relative to the repository, not "/etc"'),
    ('copy = ["C:\\\\x"]', '[[ticket]] 1 "001" copy: item 1 must be relative to the repository, not "C:\\\\x"'),
    ('copy = ["a/../../b"]', '[[ticket]] 1 "001" copy: item 1 must be inside the repository, not "a/../../b"'),
    ('copy = ["."]', '[[ticket]] 1 "001" copy: item 1 must be inside the repository, not "."'),
    ('copy = [".git/config"]', '[[ticket]] 1 "001" copy: item 1 must not be the repository\'s own .git'),
    ("vars = 3", '[[ticket]] 1 "001" vars: must be a table, not 3'),
    ("vars = { a = [] }", '[[ticket]] 1 "001" vars: a must be a text or a number, not a list'),
    ('effects = ["x"]', '[[ticket]] 1 "001" effects: unknown effect "x"'),
    ("rehearsal = 3", '[[ticket]] 1 "001" rehearsal: must be a list of tables'),
    ('after = ["01"]', '[[ticket]] 1 "001" after: unknown ticket "01" (did you mean "001"?)'),
    ('after = ["001"]', '[[ticket]] 1 "001" after: the ticket waits for itself'),
    ('after = "001"', '[[ticket]] 1 "001" after: must be a list, not "001" (write ["001"])'),
]
COMMAND = [
    ('""', "is an empty command"),
    ("[]", "is an empty command"),
    ('["", "x"]', "is an empty command"),
    ("[1]", "must be a command: a text or a list of texts, not a list"),
    ("7", "must be a command: a text or a list of texts, not 7"),
    ('"echo \'x"', "is not a command: no closing quotation"),
    ('["a", "\\u0000"]', "has a NUL character"),
    ('"a && b"', 'needs a shell for "&&", and there is none (write ["sh", "-c", "a && b"])'),
    ('"a | b"', 'needs a shell for "|", and there is none (write ["sh", "-c", "a | b"])'),
    ('"a > b"', 'needs a shell for ">", and there is none (write ["sh", "-c", "a > b"])'),
    ('"a; b"', 'needs a shell for ";", and there is none (write ["sh", "-c", "a; b"])'),
    ('"a $(b)"', 'needs a shell for "$(", and there is none (write ["sh", "-c", "a $(b)"])'),
    ("'a \"$HOME/x\"'", 'needs a shell for "$HOME", and there is none (write ["sh", "-c", "a \\"$HOME/x\\""])'),
    ('"A=1 b"', 'needs a shell for "A=1", and there is none (write ["sh", "-c", "A=1 b"])'),
    ('"""\na\nb\n"""', 'needs a shell for a line break, and there is none (write ["sh", "-c", "a\\nb"])'),
]
IDS = [
    ("", "must not be blank"),
    ("  ", "must not be blank"),
    ("a/b", 'must not contain "/": "a/b" ("a-b" would do)'),
    ("a\\\\b", 'must not contain "\\": "a\\\\b" ("a-b" would do)'),
    ("a:b", 'must not contain ":": "a:b" ("a-b" would do)'),
    ("-a", 'must not begin with "-": "-a"'),
    ("..", 'must not begin with ".": ".."'),
    ("a ", 'must not begin or end with a space: "a "'),
    ("a.2", 'must not end in a dot and a number, as forks do: "a.2" ("a-2" would do)'),
    ("a\\nb", 'must be one line without control characters, not "a\\nb"'),
    ("a\\u202Eb", 'must be one line without control characters, not "a⟦U+202E⟧b"'),
    ("x" * 101, "must be at most 100 characters long"),
]
EFFECT = [
    ("", ["has no kind", "has no description", "has neither command nor handler"]),
    (
        'kind = "once"\ndescription = "d"\ncommand = "c"\nhandler = "m:f"\nprobe = "p"\nprobe_handler = "m:f"',
        ["has both command and handler", "has both probe and probe_handler"],
    ),
    ('kind = "keyed"\ndescription = "d"\ncommand = "c"', ["is keyed and has no window_s"]),
    ('kind = "onec"\ndescription = "d"\ncommand = "c"', ['kind: must be one of "idempotent", "keyed", "once"']),
    ('kind = "once"\ndescription = " "\ncommand = "c"', ["description: must not be blank"]),
    ('kind = "once"\ndescription = "d"\nhandler = "f"', ['handler: must be "module:function", not "f"']),
    ('kind = "once"\ndescription = "d"\ncommand = "c"\nname = "x"', ['unknown key "name"']),
    (
        'kind = "once"\ndescription = "d"\ncommand = "c"\nenv = ["A=b"]',
        ['env: item 1 must be the name of an environment variable, not "A=b"'],
    ),
    ('kind = "once"\ndescription = "d"\ncommand = "c"\nscope = "tickets"', ["scope: must be one of"]),
    ('kind = "once"\ndescription = "d"\ncommand = "c"\napproval = true', ["approval: must be one of"]),
    ('kind = "once"\ndescription = "d"\ncommand = "c"\ntimeout_s = 0', ["timeout_s: must be more than 0"]),
]
SCHEMA = [
    ("input = 3", "input: is no JSON schema of an object"),
    ('input = { pr = "integer" }', "input: is no JSON schema of an object"),
    ('input = { type = "object", properties = [] }', "input: is no JSON schema of an object"),
    ('input = { type = "object", properties = { a = "string" } }', "input a: must be a table such as"),
    (
        'input = { type = "object", properties = { a = { type = "strnig" } } }',
        'input a: unknown type "strnig" (did you mean "string"?)',
    ),
    ('input = { type = "object", required = ["a"] }', 'input required: unknown property "a"'),
    ('input = { type = "object", required = "a" }', "input required: must be a list of names"),
    ('input = { type = "object", default = 2026-01-01 }', "input: holds a date or a number that JSON does not have"),
    (INPUT + 'key = "{prs}"', 'key: unknown property of the input "prs" (did you mean "pr"?)'),
    (INPUT + 'key = "{pr"', "key: is no template: expected '}' before end of string"),
    (INPUT + 'key = "{pr.x}"', 'key: is no template: "pr.x" is not a plain name'),
    (INPUT + 'key = "{pr:>9}"', 'key: is no template: "pr" is not a plain name'),
    (INPUT + 'key = "{}"', 'key: is no template: "" is not a plain name'),
    ('key = "{pr}"', 'key: unknown property of the input "pr"'),
]


@pytest.mark.parametrize(("content", "fault"), TOP)
def test_a_wrong_top(faults_of: FaultsOf, content: str, fault: str) -> None:
    faults = faults_of(content)
    assert faults[0] == f"tickets.toml: {fault}"
    assert len(faults) == 1


@pytest.mark.parametrize(("lines", "fault"), BATCH)
def test_a_wrong_batch(faults_of: FaultsOf, lines: str, fault: str) -> None:
    assert faults_of(f"[batch]\n{lines}\n{OK}") == [f"tickets.toml: {fault}"]


def test_a_repo_that_is_not_there(faults_of: FaultsOf) -> None:
    for repo in ("nowhere", "tickets.toml", "x" * 300):
        (fault,) = faults_of(f'[batch]\nrepo = "{repo}"\n{OK}')
        assert fault.startswith('tickets.toml: [batch] repo: no such directory: "')


@pytest.mark.parametrize(("lines", "fault"), TICKET)
def test_a_wrong_ticket(faults_of: FaultsOf, lines: str, fault: str) -> None:
    assert faults_of(ticket(lines)) == [f"tickets.toml: {fault}"]


@pytest.mark.parametrize(("value", "fault"), COMMAND)
def test_a_wrong_command(faults_of: FaultsOf, value: str, fault: str) -> None:
    for key in ("setup", "verify"):
        assert faults_of(ticket(f"{key} = {value}")) == [f'tickets.toml: [[ticket]] 1 "001" {key}: {fault}']


@pytest.mark.parametrize(("ticket_id", "fault"), IDS)
def test_a_wrong_id(faults_of: FaultsOf, ticket_id: str, fault: str) -> None:
    (only,) = faults_of(ticket("", ticket_id))
    assert only.endswith(f" id: {fault}")


@pytest.mark.parametrize(("lines", "faults"), EFFECT)
def test_a_wrong_effect(faults_of: FaultsOf, lines: str, faults: list[str]) -> None:
    found = faults_of(f"{OK}[effects.send]\n{lines}\n")
    assert len(found) == len(faults)
    for line, fault in zip(found, faults, strict=True):
        assert line.startswith("tickets.toml: [effects.send]")
        assert fault in line


@pytest.mark.parametrize(("lines", "fault"), SCHEMA)
def test_a_wrong_schema_or_key(faults_of: FaultsOf, lines: str, fault: str) -> None:
    (only,) = faults_of(f"{OK}{SEND}{lines}\n")
    assert only.startswith(f"tickets.toml: [effects.send] {fault}")


def test_a_wrong_name_of_an_effect(faults_of: FaultsOf) -> None:
    assert 'is no name for an effect: "a b"' in faults_of(OK + SEND.replace("send]", '"a b"]'))[0]
    assert faults_of(OK + '[effects]\nkind = "once"\n') == [
        'tickets.toml: [effects]: kind must be a table, not "once" (write [effects.NAME])'
    ]


def test_the_nearest_effect_is_named(faults_of: FaultsOf) -> None:
    assert faults_of(SEND + ticket('effects = ["sned"]')) == [
        'tickets.toml: [[ticket]] 1 "001" effects: unknown effect "sned" (did you mean "send"?)'
    ]


def test_an_id_twice(faults_of: FaultsOf) -> None:
    assert faults_of(ticket("", "deploy") + ticket("", "deploy") + ticket("", "Deploy")) == [
        'tickets.toml: [[ticket]] 2 "deploy" id: "deploy" is used already (see [[ticket]] 1 "deploy")',
        'tickets.toml: [[ticket]] 3 "Deploy" id: "Deploy" is the same name as "deploy" on some disks '
        '(see [[ticket]] 1 "deploy")',
    ]


def test_no_id_and_no_prompt(faults_of: FaultsOf) -> None:
    assert faults_of("[[ticket]]\n") == [
        'tickets.toml: [[ticket]] 1: has no id (every ticket needs one, such as id = "001-login")',
        "tickets.toml: [[ticket]] 1: has no prompt (add prompt or prompt_file)",
    ]


def test_a_cycle_is_named_once_and_whole(faults_of: FaultsOf) -> None:
    content = ticket('after = ["c"]', "a") + ticket('after = ["a", "a"]', "b") + ticket('after = ["b"]', "c")
    assert faults_of(content) == ['tickets.toml: [[ticket]] 1 "a" after: tickets wait for each other: a → c → b → a']


def test_a_long_cycle_is_named_at_both_ends(faults_of: FaultsOf) -> None:
    content = "".join(ticket(f'after = ["t{(n + 1) % 3000}"]', f"t{n}") for n in range(3000))
    (fault,) = faults_of(content)
    assert "t0 → t1 → " in fault
    assert "(2981 more) → " in fault
    assert fault.endswith("t2999 → t0")


def test_cycles_of_a_graph_without_any() -> None:
    assert list(cycles({"a": ["b", "c"], "b": ["c"], "c": [], "d": ["nowhere", "a"]})) == []


def test_two_cycles(faults_of: FaultsOf) -> None:
    assert sorted(map(sorted, cycles({"a": ["b"], "b": ["a"], "c": ["d"], "d": ["c", "a"]}))) == [
        ["a", "b"],
        ["c", "d"],
    ]


DEFAULTS = [
    ('prompt = "x"', '[defaults]: unknown key "prompt" (each ticket has its own)'),
    ('after = ["001"]', '[defaults]: unknown key "after" (each ticket has its own)'),
    ("max_turn = 3", '[defaults]: unknown key "max_turn" (did you mean "max_turns"?)'),
    ("max_turns = 0", "[defaults] max_turns: must be at least 1, not 0"),
    ('effects = ["x"]', '[defaults] effects: unknown effect "x"'),
    (
        "budget_usd = 1\nreserve_usd = 2",
        "[defaults] budget_usd: must be more than the reserve of 2, not 1",
    ),
]


@pytest.mark.parametrize(("lines", "fault"), DEFAULTS)
def test_a_fault_of_the_defaults_is_told_once(faults_of: FaultsOf, lines: str, fault: str) -> None:
    content = f"[defaults]\n{lines}\n" + ticket("", "a") + ticket("", "b")
    assert faults_of(content) == [f"tickets.toml: {fault}"]


def test_a_ticket_s_reserve_is_held_against_the_default_budget(faults_of: FaultsOf) -> None:
    (fault,) = faults_of("[defaults]\nbudget_usd = 1\n" + ticket("reserve_usd = 3"))
    assert fault.startswith('tickets.toml: [[ticket]] 1 "001" budget_usd: must be more than the reserve of 3')


def test_all_faults_come_in_one_pass(faults_of: FaultsOf) -> None:
    content = """
[batch]
slots = 0
sluts = 1
[effects.mail]
command = "a | b"
[[ticket]]
id = "a"
prompt = " "
after = ["b", "zz"]
[[ticket]]
id = "b"
prompt = "{{who}}"
after = ["a"]
budget_usd = -1
effects = ["male"]
[[ticket]]
id = "A"
"""
    places = [fault.removeprefix("tickets.toml: ").split(": ")[0] for fault in faults_of(content)]
    assert places == [
        "[batch] slots",
        "[batch]",
        "[effects.mail] command",
        "[effects.mail]",
        "[effects.mail]",
        '[[ticket]] 1 "a" prompt',
        '[[ticket]] 2 "b" budget_usd',
        '[[ticket]] 2 "b" effects',
        '[[ticket]] 2 "b" prompt',
        '[[ticket]] 3 "A"',
        '[[ticket]] 3 "A" id',
        '[[ticket]] 1 "a" after',
        '[[ticket]] 1 "a" after',
    ]


def test_a_file_of_thousands_of_faults_is_read_in_no_time(faults_of: FaultsOf) -> None:
    content = "".join(ticket(f'after = ["x{n}"]\neffects = ["y{n}"]\nbugdet = 1', f"t{n}") for n in range(3000))
    assert len(faults_of(content)) == 9000


def test_long_names_that_are_alike_get_fewer_hints(faults_of: FaultsOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervisor.config.faults._MOST_WORK", 1_000_000)
    name = "ab" * 45
    content = "".join(ticket(f'after = ["{name}x{n}"]', f"{name}{n}") for n in range(40))
    hints = ["did you mean" in fault for fault in faults_of(content)]
    assert hints[0]
    assert sum(hints) == 2


def test_a_fault_says_file_place_and_hint() -> None:
    assert str(Fault("f.toml", "[batch]", "is wrong", "do right")) == "f.toml: [batch]: is wrong (do right)"
    assert str(Fault("f.toml", "", "is wrong")) == "f.toml: is wrong"
    assert issubclass(ConfigError, SupervisorError)


def test_nothing_a_file_says_reaches_the_terminal_raw(faults_of: FaultsOf) -> None:
    content = '[[ticket]]\nid = "\\u001B[2J"\nprompt = "x"\n"\\u202Ekey" = 1\nafter = ["\\u0007"]\n'
    for fault in faults_of(content):
        assert fault.isprintable()
