"""What a batch lays open: which tickets may do what without asking, and what effects are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.errors import PreflightError
from supervisor.doctor.findings import Finding, fault, listed, ok, warn
from supervisor.preflight import check_root

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from supervisor.core.spec import BatchSpec, EffectSpec


def exposure(spec: BatchSpec, env: Mapping[str, str]) -> Iterator[Finding]:
    """Look at what the file allows."""
    try:
        check_root(spec, env)
    except PreflightError as error:
        yield fault("permissions", error.message, error.remedy)
    else:
        yield _permissions(spec)
    yield _settings(spec)
    for effect in spec.effects.values():
        yield from _effect(effect, env)


def _permissions(spec: BatchSpec) -> Finding:
    bold = [t.id for t in spec.tickets if t.permission_mode == "bypassPermissions"]
    if bold:
        words = f"bypassPermissions: these do whatever they like without asking: {listed(bold)}"
        return warn("permissions", words, 'use "acceptEdits" and allowed_tools, or a sandbox')
    return ok("permissions", "no ticket bypasses them")


def _settings(spec: BatchSpec) -> Finding:
    loading = [t.id for t in spec.tickets if t.project_instructions]
    if loading:
        words = f"the repository's settings, hooks and MCP servers are loaded by {listed(loading)}"
        return warn("settings", words, "trust the repository, or set project_instructions = false")
    return ok("settings", "the repository's settings and hooks are not loaded")


def _effect(effect: EffectSpec, env: Mapping[str, str]) -> Iterator[Finding]:
    name = f'"{effect.name}"'
    if effect.handler is not None:
        yield ok("effects", f"{name} is Python ({effect.handler}): it runs in the supervisor and sees all it sees")
    elif effect.env:
        yield ok("effects", f"{name} is given {listed(effect.env, 20)}")
    else:
        yield ok("effects", f"{name} is given no variable of yours")
    if missing := [variable for variable in effect.env if variable not in env]:
        yield warn("effects", f"{name} needs {listed(missing)}", "set them before you start")
