"""Faults to plant in the core, each with the test that must notice it.

A fault replaces named functions, methods or entries of a table. The tests are ordinary ones of this suite; a fault
that its test does not notice makes `test_planted` fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from attrs import frozen

from chatmemory.core import guards
from tests.core import (
    test_admission,
    test_draft,
    test_eviction,
    test_extent,
    test_flow,
    test_flow_conflicts,
    test_flow_limits,
    test_guards,
    test_overflow,
    test_plan,
    test_units,
    test_window,
    wrong,
)

CORE: Final = "chatmemory.core"
EVICT_OLDEST: Final = (
    f"{CORE}.admission.evict_oldest",
    "chatmemory.strategies.token_budget.evict_oldest",
    "chatmemory.strategies.sliding_window.evict_oldest",
)


@frozen
class Fault:
    """One fault.

    Attributes:
        name: What is wrong with the core while it is planted.
        places: What it replaces, by whole name; a guard by its own.
        planted: What stands there instead.
        noticed_by: The test that must fail then.
    """

    name: str
    places: tuple[str, ...]
    planted: Any
    noticed_by: Callable[..., None]

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        """Put it into the core, for as long as `patch` lasts."""
        for place in self.places:
            if place in guards._TABLE:  # noqa: SLF001 - the table is what it is planted in
                patch.setitem(guards._TABLE, place, self.planted)  # noqa: SLF001
            else:
                patch.setattr(place, self.planted)


def runs_of(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """The arguments of each run of a test: one run without any, or a run for each line of its table."""
    marks: list[pytest.Mark] = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    if not marks:
        yield {}
        return
    (mark,) = marks
    names = [name.strip() for name in mark.args[0].split(",")] if isinstance(mark.args[0], str) else list(mark.args[0])
    for line in mark.args[1]:
        values = getattr(line, "values", None) or ((line,) if len(names) == 1 else line)
        yield dict(zip(names, values, strict=True))


FAULTS: Final = (
    Fault(
        "the request is not guarded",
        ("current_request",),
        wrong.nothing_held,
        test_admission.test_guards_hold_what_they_name,
    ),
    Fault(
        "waiting calls are not guarded",
        ("pending_tool_call",),
        wrong.nothing_held,
        test_admission.test_guards_hold_what_they_name,
    ),
    Fault(
        "unseen results are not guarded",
        ("unseen_tool_result",),
        wrong.nothing_held,
        test_admission.test_guards_hold_what_they_name,
    ),
    Fault(
        "abandoned calls stay",
        (f"{CORE}.guards.Landmarks.after",),
        wrong.abandon_nothing,
        test_guards.test_landmarks_follow_each_message,
    ),
    Fault(
        "one less fits",
        (f"{CORE}.window.Window.fits",),
        wrong.fits_off_by(-1),
        test_admission.test_the_window_fits_every_limit,
    ),
    Fault(
        "one more fits",
        (f"{CORE}.window.Window.fits",),
        wrong.fits_off_by(1),
        test_admission.test_the_window_fits_every_limit,
    ),
    Fault(
        "the overhead is forgotten",
        (f"{CORE}.window.Window.fits",),
        wrong.fits_without_overhead,
        test_admission.test_the_window_fits_every_limit,
    ),
    Fault(
        "only one of two limits holds",
        (f"{CORE}.window.Window.fits",),
        wrong.fits_by_tokens_only,
        test_admission.test_the_window_fits_every_limit,
    ),
    Fault(
        "the system message always counts",
        (f"{CORE}.window.Window.count",),
        wrong.count_with_system,
        test_admission.test_the_window_fits_every_limit,
    ),
    Fault(
        "results are linked by adjacency",
        (f"{CORE}.admission._result_comes_in",),
        wrong.adjacent_result_comes_in,
        test_admission.test_a_result_stands_behind_its_call,
    ),
    Fault(
        "the oldest call gets the result",
        (f"{CORE}.units.Calls.nearest",),
        wrong.oldest_call,
        test_admission.test_a_result_stands_behind_its_call,
    ),
    Fault(
        "a missing id is no empty one",
        (f"{CORE}.units.id_key",),
        wrong.exact_ids_only,
        test_units.test_a_missing_id_and_an_empty_one_are_the_same,
    ),
    Fault(
        "duplicates are let in",
        (f"{CORE}.units.Calls.answer",),
        wrong.answer_and_wait_on,
        test_admission.test_a_result_without_a_waiting_call_does_not_enter,
    ),
    Fault(
        "duplicates are called orphans",
        (f"{CORE}.units.Calls.answer",),
        wrong.answer_and_forget,
        test_admission.test_a_result_without_a_waiting_call_does_not_enter,
    ),
    Fault(
        "a late result stands at the end",
        (f"{CORE}.window.Window._with_result",),
        wrong.result_at_the_end,
        test_window.test_each_message_has_its_place,
    ),
    Fault(
        "the low-water mark is ignored",
        (f"{CORE}.eviction._mark",),
        wrong.limit_as_mark,
        test_admission.test_eviction_starts_above_the_limit_and_goes_down_to_the_mark,
    ),
    Fault(
        "the aim is a must",
        (f"{CORE}.eviction._mark",),
        wrong.aim_as_mark,
        test_eviction.test_where_what_must_stay_is_above_the_aim_the_limit_is_the_mark,
    ),
    Fault(
        "0.7 of 90 is 62",
        (f"{CORE}.eviction._share",),
        wrong.binary_share,
        test_eviction.test_eviction_goes_down_to_the_mark,
    ),
    Fault(
        "a share is of the whole limit",
        (f"{CORE}.eviction._share",),
        wrong.share_of_the_limit,
        test_eviction.test_eviction_goes_down_to_the_mark,
    ),
    Fault(
        "a number is of any limit",
        (f"{CORE}.eviction._wanted",),
        wrong.number_of_any_limit,
        test_eviction.test_eviction_goes_down_to_the_mark,
    ),
    Fault(
        "one more leaves than is needed",
        EVICT_OLDEST,
        wrong.evict_one_more,
        test_admission.test_the_window_fits_every_limit,
    ),
    Fault("the newest leave", EVICT_OLDEST, wrong.evict_newest, test_admission.test_equal_messages_are_distinct),
    Fault(
        "the turn rule is ignored",
        (f"{CORE}.eviction._turn_groups",),
        wrong.units_as_turns,
        test_admission.test_whole_turns_leave_first,
    ),
    Fault(
        "the request leaves before its rest",
        (f"{CORE}.eviction._turn_groups",),
        wrong.opener_first,
        test_admission.test_whole_turns_leave_first,
    ),
    Fault(
        "oversize loses other messages",
        (f"{CORE}.admission._does_not_fit",),
        wrong.everything_leaves,
        test_overflow.test_what_does_not_fit_leaves_alone,
    ),
    Fault(
        "the request gives way to a call",
        (f"{CORE}.admission._giving_way",),
        wrong.gives_way_to_anything,
        test_admission.test_only_the_answer_takes_the_place_of_its_request,
    ),
    Fault(
        "the request gives way to nothing",
        (f"{CORE}.admission._giving_way",),
        wrong.gives_way_to_nothing,
        test_admission.test_only_the_answer_takes_the_place_of_its_request,
    ),
    Fault(
        "the request goes before the exchanges",
        (f"{CORE}.admission._first_to_go",),
        wrong.oldest_goes_first,
        test_overflow.test_a_system_message_makes_guarded_units_leave,
    ),
    Fault(
        "the limit is the strategy's to keep",
        (f"{CORE}.admission.settle",),
        wrong.settle_for_the_plan,
        test_plan.test_the_planner_enforces_the_limit_for_a_strategy_that_says_nothing,
    ),
    Fault(
        "a strategy is told that all may leave",
        (f"{CORE}.window.Window.plan_removal",),
        wrong.everything_is_allowed,
        test_window.test_a_strategy_is_told_by_name_what_may_not_leave,
    ),
    Fault(
        "a refused unit is removed",
        (f"{CORE}.admission.check",),
        wrong.nothing_is_checked,
        test_plan.test_an_illegal_plan_changes_nothing,
    ),
    Fault(
        "the system message may leave",
        (f"{CORE}.window.Window.units",),
        wrong.system_as_unit,
        test_eviction.test_the_system_message_is_never_planned_to_leave,
    ),
    Fault(
        "the same system message is another",
        (f"{CORE}.flow.repeats_system",),
        wrong.never,
        test_flow.test_what_changes_nothing_is_not_committed,
    ),
    Fault(
        "guards look again in mid-step",
        (f"{CORE}.window.Window.without",),
        wrong.without_and_look_again,
        test_guards.test_guards_look_once_at_a_step,
    ),
    Fault(
        "eviction stops below the limit",
        (f"{CORE}.window.Window.without",),
        wrong.without_and_be_content,
        test_admission.test_eviction_starts_above_the_limit_and_goes_down_to_the_mark,
    ),
    Fault(
        "what left is still looked at",
        (f"{CORE}.window.Window.without",),
        wrong.without_but_remember,
        test_guards.test_what_left_is_measured_by_no_more,
    ),
    Fault(
        "a seq is given twice",
        (f"{CORE}.window.Window.passing",),
        wrong.pass_and_keep_the_seq,
        test_draft.test_each_message_has_a_place_in_the_history,
    ),
    Fault(
        "the history does not tell who never got in",
        (f"{CORE}.draft.Draft.leave",),
        wrong.leave_in_silence,
        test_draft.test_each_message_has_a_place_in_the_history,
    ),
    Fault(
        "the extent misses an entry",
        (f"{CORE}.extent._cut",),
        wrong.cut_one_too_far,
        test_extent.test_the_bound_moves_when_too_much_has_left,
    ),
    Fault(
        "the extent never moves",
        (f"{CORE}.extent._allowed",),
        wrong.any_number,
        test_extent.test_a_long_conversation_is_found_by_few_rows,
    ),
    Fault(
        "a window is opened over its limit",
        (f"{CORE}.flow._fit",),
        wrong.nothing_is_checked,
        test_flow_limits.test_a_stored_window_above_the_limit_is_cut_in_a_change_of_its_own,
    ),
    Fault(
        "each try counts again",
        (f"{CORE}.flow._Admitted.onto",),
        wrong.onto_with_new_counts,
        test_flow_conflicts.test_nothing_is_counted_twice_for_a_conflict,
    ),
    Fault(
        "a repeated add is a new one",
        (f"{CORE}.flow.find_out",),
        wrong.find_out_nothing,
        test_flow_conflicts.test_the_same_add_later_is_not_doubled,
    ),
)
