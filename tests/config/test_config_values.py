"""What a good file becomes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from supervisor.config import ConfigError, load, notes, summary, tables
from supervisor.config.order import starting_order
from supervisor.core.spec import BatchSpec, EffectSpec, TicketSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    Load = Callable[[str | bytes], BatchSpec]

FULL = (Path(__file__).parent / "full.toml").read_text(encoding="utf-8")


def test_every_key_arrives(load_toml: Load) -> None:
    spec = load_toml(FULL)
    here = Path.cwd()
    assert (spec.name, spec.slots, spec.budget_usd, spec.base) == ("shop", 8, 20.0, "origin/main")
    assert (spec.claude_home, spec.max_retries, spec.repo, spec.path) == ("own", 0, here, here / "tickets.toml")
    assert spec.ticket("001 login") == TicketSpec(
        id="001 login", title="Fix [/ 修复", prompt="core 2.5 {x}", priority=-3, model="opus",
        fallback_model="sonnet", permission_mode="bypassPermissions", allowed_tools=("Read", "Bash(git:*)"),
        disallowed_tools=("WebFetch",), rules="be kind", project_instructions=True, max_turns=5, budget_usd=1.5,
        reserve_usd=0.0, max_attempts=1, on_limit="raise", base="v1", copy=(".env", "config/local.toml"),
        setup=("npm", "ci", "--silent"), setup_timeout_s=10.0, verify=("sh", "-c", "a && b"), verify_timeout_s=20.0,
        verify_rounds=0, stall_minutes=0.5, effects=(), rehearsal=({"text": "hello"},),
    )  # fmt: skip
    assert spec.ticket("002") == TicketSpec(
        id="002", title="002", prompt="p", after=("001 login",), budget_usd=2.0, max_turns=30,
        allowed_tools=("Read", "Bash(git:*)"), effects=("send",),
    )  # fmt: skip
    assert spec.effects["send"].command == ("curl", "-d", "@-", "https://x.invalid/a?b=1&c=2")
    assert spec.effects["send"].window_s == 86400.0
    assert spec.effects["plain"].input == {"type": "object", "properties": {}}


def test_the_least_file_takes_the_defaults(load_toml: Load) -> None:
    spec = load_toml('[[ticket]]\nid = "1"\nprompt = "p"\ntitle = "  "\n')
    ticket = TicketSpec(id="1", title="1", prompt="p")
    assert spec == BatchSpec(Path.cwd().name, Path.cwd() / "tickets.toml", Path.cwd(), (ticket,))


@pytest.mark.parametrize("change", [lambda s: s.replace("\n", "\r\n"), lambda s: "\ufeff" + s])
def test_line_ends_and_marks_of_other_systems(load_toml: Load, change: object) -> None:
    assert callable(change)
    assert load_toml(change(FULL)) == load_toml(FULL)


def test_ids_may_be_what_people_write(load_toml: Load) -> None:
    ids = ["001-login", "fix login", "ÄÖ", "修复", "v1.2-rc", "a..b", "🏷️", "#12", "x" * 100, "a.b"]
    spec = load_toml("".join(f'[[ticket]]\nid = "{ticket_id}"\nprompt = "p"\n' for ticket_id in ids))
    assert [ticket.id for ticket in spec.tickets] == ids


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("pytest -q", ("pytest", "-q")),
        ("pytest -k 'a and b'", ("pytest", "-k", "a and b")),
        ("awk '{print $1; x > y}'", ("awk", "{print $1; x > y}")),
        (r"find . -exec rm {} \\;", ("find", ".", "-exec", "rm", "{}", ";")),
        ("grep foo$", ("grep", "foo$")),
        (r"echo \"a; b\" *", ("echo", "a; b", "*")),
        ("make \\\n  test", ("make", "test")),
    ],
)
def test_a_command_is_split_without_a_shell(load_toml: Load, command: str, argv: tuple[str, ...]) -> None:
    spec = load_toml(f'[[ticket]]\nid = "1"\nprompt = "p"\nverify = """{command}"""\n')
    assert spec.tickets[0].verify == argv


def test_a_repo_elsewhere(load_toml: Load, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    ticket = '[[ticket]]\nid = "1"\nprompt = "p"\n'
    assert load_toml(f'[batch]\nrepo = "shop"\n{ticket}').repo == tmp_path / "shop"
    assert load_toml(f"[batch]\nrepo = '{tmp_path}'\n{ticket}").repo == tmp_path


def test_tables_have_a_check_for_every_field_of_the_spec() -> None:
    names = {spec: {field.name for field in dataclasses.fields(spec)} for spec in (BatchSpec, TicketSpec, EffectSpec)}
    assert set(tables.BATCH) == names[BatchSpec] - {"path", "tickets", "effects"}
    assert set(tables.TICKET) == names[TicketSpec] | {"vars", "prompt_file"}
    assert set(tables.EFFECT) == names[EffectSpec] - {"name"}


def test_the_order_of_starting(load_toml: Load) -> None:
    rows = [("late", 0, ["mid"]), ("low", -1, []), ("mid", 9, ["first"]), ("first", 1, []), ("zero", 0, [])]
    spec = load_toml(
        "".join(f'[[ticket]]\nid = "{i}"\nprompt = "p"\npriority = {p}\nafter = {after}\n' for i, p, after in rows)
    )
    assert [ticket.id for ticket in starting_order(spec.tickets)] == ["first", "mid", "late", "zero", "low"]


def test_the_summary_says_what_will_run(load_toml: Load) -> None:
    lines = summary(load_toml(FULL)).splitlines()
    assert lines[0] == "batch    shop"
    assert f"repo     {Path.cwd()}, from origin/main" in lines
    assert "  1. 001 login  Fix [/ 修复" in lines
    assert "     after 001 login; 2.00 USD; 30 turns; effects send" in lines
    assert "     plain: once; calls tools:run" in lines
    assert "note: 001 login uses every tool without asking" in lines
    assert "note: effect plain is used by no ticket" in lines


def test_the_summary_is_safe_to_print(load_toml: Load) -> None:
    spec = load_toml('[[ticket]]\nid = "1"\ntitle = "a\\u001B[2J\\nb"\nprompt = "p"\nsetup = ["\\u0007"]\n')
    assert all(line.isprintable() for line in summary(spec).split("\n"))
    assert "  1. 1  a␛[2J⏎b" in summary(spec).split("\n")


def test_notes(load_toml: Load) -> None:
    ticket = '[[ticket]]\nid = "1"\nprompt = "p"\n'
    assert notes(load_toml(ticket)) == ("1 may spend without limit: neither it nor the batch has a budget_usd",)
    assert notes(load_toml(f"[batch]\nbudget_usd = 1\n{ticket}budget_usd = 2\n")) == (
        "1 may spend more than the whole batch; the batch's budget_usd holds",
    )


@dataclass(frozen=True)
class Wrong:
    index: int
    key: str
    message: str


def test_rehearsal_steps_are_checked_by_who_knows_them(tmp_path: Path) -> None:
    path = tmp_path / "tickets.toml"
    path.write_text('[[ticket]]\nid = "1"\nprompt = "p"\n[[ticket.rehearsal]]\ntxt = "a"\n')
    assert load(path).tickets[0].rehearsal == ({"txt": "a"},)
    with pytest.raises(ConfigError) as caught:
        load(path, lambda steps: [Wrong(0, "txt", "unknown key"), Wrong(len(steps), "", "ends badly")])
    assert [(fault.place, fault.message) for fault in caught.value.faults] == [
        ('[[ticket]] 1 "1" rehearsal 1 txt', "unknown key"),
        ('[[ticket]] 1 "1" rehearsal 2', "ends badly"),
    ]


def test_the_sample_batch_loads() -> None:
    sample = Path(__file__).parents[2] / "tickets.toml"
    if not sample.exists():
        pytest.skip("no sample batch here")
    assert load(sample).tickets
