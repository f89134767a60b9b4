"""Providers' forms: messages from and to what a provider takes, and what it would refuse.

Decides: which functions are public. OpenAI's chat completions form is the only one yet.
"""

from __future__ import annotations

from chatmemory.formats.findings import CODES, LIST_CODES, Finding
from chatmemory.formats.listing import check_list
from chatmemory.formats.no_result import is_no_result
from chatmemory.formats.openai_check import check
from chatmemory.formats.openai_reader import from_openai, parse_message
from chatmemory.formats.openai_writer import to_openai, to_openai_message

__all__ = [
    "CODES",
    "LIST_CODES",
    "Finding",
    "check",
    "check_list",
    "from_openai",
    "is_no_result",
    "parse_message",
    "to_openai",
    "to_openai_message",
]
