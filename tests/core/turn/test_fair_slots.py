"""Who may begin turns in a process whose places several tenants want."""

import collections

import pytest

from services.turn.queue.fair_slots import FairSlots


class Process:
    """Tenants that want turns without end, and a process with so many places."""

    def __init__(self, capacity, *names):
        self.places = FairSlots(capacity)
        self.running = dict.fromkeys(names, 0)
        self.begun = collections.Counter()
        self.order = []

    def ask(self, name, wanted=99, is_doubtful=False):
        with self.places.take(name, self.running, is_doubtful) as places:
            begun = min(places, wanted)
        self.running[name] += begun
        self.begun[name] += begun
        self.order += [name] * begun
        return begun

    def end(self, name):
        self.running[name] -= 1


def test_who_is_alone_has_everything():
    assert Process(4, "a").ask("a") == 4


def test_who_asks_first_each_time_does_not_take_what_others_wait_for():
    process = Process(4, "a", "b")
    while process.ask("a"):
        pass
    assert process.running == {"a": 4, "b": 0} and not process.ask("b")
    for _turn in range(6):
        process.end(max(process.running, key=process.running.get))
        process.ask("a")
        process.ask("b")
    assert process.running == {"a": 2, "b": 2}


def test_with_more_tenants_than_places_each_has_its_turn():
    names = "abcdefg"
    process = Process(2, *names)
    for _turn in range(70):
        for name in names:  # always in the same order
            process.ask(name)
        process.end(process.order[-2])  # who runs longest
    assert max(process.begun.values()) - min(process.begun.values()) <= 2, process.begun


def test_what_nobody_wants_is_for_the_others():
    process = Process(2, "a", "b")
    process.ask("a")
    process.ask("a")
    process.ask("b")
    process.end("a")
    assert not process.ask("a"), "b was here first"
    assert not process.ask("b", wanted=0)
    assert process.places.waiting() == ["a"] and process.ask("a") == 1


def test_who_has_left_is_not_waited_for():
    process = Process(1, "a", "b")
    process.ask("a")
    process.ask("b")
    process.end("a")
    assert not process.ask("a")
    process.places.leave("b")
    assert process.ask("a") == 1


def test_databases_that_may_not_answer_leave_the_others_room():
    process = Process(8, "a", "b", "c", "d")
    with (
        process.places.take("a", process.running, True) as first,
        process.places.take("b", process.running, True) as second,
        process.places.take("c", process.running, True) as third,
    ):
        assert (first, second, third) == (1, 1, 0)
        process.places.leave("c")
        assert process.ask("d") == 3
    assert process.ask("c", is_doubtful=True) == 1


def test_what_was_asked_for_is_given_back_whatever_happens():
    places = FairSlots(2)
    with pytest.raises(ConnectionError), places.take("a", {"a": 0}, False):
        raise ConnectionError
    with places.take("a", {"a": 0}, False) as free:
        assert free == 2
