"""Messages as events, and the witness log. Pure but for the log's file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from supervisor.rehearsal.script import parse_steps
from supervisor.rehearsal.steps import Usage
from supervisor.rehearsal.wire import MAX_DELTAS, content, frames, message
from supervisor.rehearsal.witness import Served, Witness, fingerprint, read_log

if TYPE_CHECKING:
    from pathlib import Path


def events(whole: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(frame.data.split(b"\ndata: ", 1)[1]) for frame in frames(whole)]


def rebuilt(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """Put the blocks of a stream together again, as a client does."""
    blocks: list[dict[str, Any]] = []
    written = ""
    for event in events(whole):
        if event["type"] == "content_block_start":
            blocks.append(event["content_block"])
            written = ""
        elif event["type"] == "content_block_delta":
            part = event["delta"]
            key = part["type"].removesuffix("_delta")
            if key == "input_json":
                written += part["partial_json"]
            else:
                blocks[-1][key] += part[key]
        elif event["type"] == "content_block_stop" and blocks[-1]["type"] == "tool_use":
            blocks[-1]["input"] = json.loads(written)
    return blocks


# Lone surrogates too: JSON carries them as escapes.
words = st.text(st.characters(), min_size=1).filter(str.strip)


@given(text=words, thinking=words, value=words)
def test_a_stream_says_what_the_message_says(text: str, thinking: str, value: str) -> None:
    step = parse_steps([{"text": text, "thinking": thinking, "tool": "Bash", "input": {"command": value}}])[0]
    whole = message("sonnet", content(step, "t", 0), Usage(1, 2, 3, 4))
    assert rebuilt(whole) == whole["content"]
    assert [block["type"] for block in whole["content"]] == ["thinking", "text", "tool_use"]


def test_a_stream_opens_and_closes_like_the_api() -> None:
    whole = message("sonnet", content(parse_steps([{"text": "two words"}])[0], "t", 0), Usage(input=7, output=9))
    told = events(whole)
    kinds = [event["type"] for event in told]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert told[0]["message"]["content"] == []
    assert told[-2]["usage"]["output_tokens"] == 9
    assert told[-2]["delta"]["stop_reason"] == "end_turn"


def test_a_huge_text_comes_in_few_pieces() -> None:
    step = parse_steps([{"size": 2_000_000}])[0]
    deltas = [frame for frame in frames(message("m", content(step, "t", 0), Usage())) if frame.is_delta]
    assert len(deltas) <= MAX_DELTAS + 1


def line(step: int | None, event: Any = "served") -> Served:
    return Served(1.0, "t", None, step, event, 200, None, None, None)


def test_counts_are_those_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "served.jsonl"
    first = Witness(log)
    for step in (0, 1, 1, None):
        first.serve(line(step))
    first.end(line(1), "error")
    again = Witness(log)
    assert [again.count("t", step) for step in (0, 1, 2)] == [1, 2, 0]
    assert again.count("other", 1) == 0


def test_a_torn_line_is_passed_over(tmp_path: Path) -> None:
    log = tmp_path / "served.jsonl"
    Witness(log).serve(line(0))
    with log.open("ab") as out:
        out.write(b'{"at": 1.0, "tick')
    again = Witness(log)
    again.serve(line(0))
    assert again.count("t", 0) == 2
    assert len(list(read_log(log))) == 2


def test_a_key_is_only_fingerprinted() -> None:
    assert fingerprint("sk-secret") == fingerprint("sk-secret") != fingerprint("sk-other")
    assert fingerprint(None) is None
    assert len(fingerprint("sk-secret") or "") == 12
