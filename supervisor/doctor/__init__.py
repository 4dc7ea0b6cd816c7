"""Whether this machine and a batch's state are in order: findings, each with what to do about it, and two mends.

Looking changes nothing, and no secret's value is ever shown, only names.
"""

from __future__ import annotations

from supervisor.doctor.acts import accept, look, mend
from supervisor.doctor.examination import examine
from supervisor.doctor.findings import Finding, Level, as_data, text

__all__ = ["Finding", "Level", "accept", "as_data", "examine", "look", "mend", "text"]
